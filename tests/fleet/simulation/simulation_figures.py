"""How long simulated fleets take to be well again: `python -m tests.fleet.simulation.simulation_figures LIVES DAYS`.

From the loss of a serving VM until its slot serves again, and from the end of the last fault until the fleet is as
declared; under preemptions alone, and under all faults. Judges nothing.
"""

from __future__ import annotations

import sys
import time
from statistics import median, quantiles

from tests.fleet.simulation.fleet_faults import drawn
from tests.fleet.simulation.fleet_life import EVERY, SLOTS, live
from tests.fleet.simulation.simulated_world import BEGAN

WEEK = 7 * 86400.0


def losses(lives: int, days: float) -> None:
    print(f"{lives} lives of {days:g} days, {SLOTS} VMs, a sweep every {EVERY:.0f} s")  # noqa: T201
    for title, others in (("preemptions alone", 0.0), ("all faults", 10.0)):
        began, outages, back, sweeps, lived = time.process_time(), [], [], 0, 0.0
        for seed in range(lives):
            life = live(seed, drawn(seed, days, SLOTS, others))
            outages += life.world.outages
            back.append(life.back_after / 60)
            sweeps += life.sweeps
            lived += life.world.now - BEGAN
        spent = time.process_time() - began
        p90, p99 = (quantiles(outages, n=100)[part] / 60 for part in (89, 98))
        print(  # noqa: T201
            f"{title}: {len(outages)} losses; median {median(outages) / 60:.1f} min, p90 {p90:.1f} min, "
            f"p99 {p99:.1f} min; as declared after the last fault: median {median(back):.0f} min, longest "
            f"{max(back):.0f} min; {sweeps} sweeps; {lived / WEEK:.1f} weeks in {spent:.0f} s of processor time, "
            f"{60 * lived / WEEK / spent:.1f} weeks a minute"
        )


if __name__ == "__main__":
    match sys.argv[1:]:
        case [lives, days]:
            losses(int(lives), float(days))
        case _:
            sys.exit(__doc__)
