"""How fast a pool comes back after a wave: `python -m tests.fleet.simulation.wave_figures CAPACITY VMS...`.

From the loss until the last VM serves again, beside that VM's own making and boot; and for preemptible VMs the two days
after, in which all of them reach the end of their 24 hours. Uses the world of `week_figures`. Judges nothing.
"""

from __future__ import annotations

import gc
import sys
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from infra.model.catalogue import CapacityKind
from tests.fleet.simulation.fleet_life import BOUND, EVERY, Life, in_process
from tests.fleet.simulation.sweep_figures import declared
from tests.fleet.simulation.week_figures import DAY, HOUR, Away, Market, Week

WAVES: Final = 5
"""Waves that are averaged, each at another time between two sweeps."""
AFTERWARDS: Final = 2 * DAY
FOLLOWED: Final = 100
"""VMs of the largest pool that is followed afterwards."""


class Sea(Market):
    """A market without losses but waves. took: minutes of each VM from its loss until it serves again."""

    flaps = False
    took: list[float]
    _dark_since: float | None = None
    dark = 0.0

    def _told(self, vm: str, away: Away) -> None:
        super()._told(vm, away)
        self.took.append((self.now - away.since) / 60)
        if self._dark_since is not None and 2 * len(self.away) <= len(self.homes):
            self.dark, self._dark_since = self.dark + self.now - self._dark_since, None

    def loses(self, vm: str) -> None:
        super().loses(vm)
        if self._dark_since is None and 2 * len(self.away) > len(self.homes):
            self._dark_since = self.now


@dataclass(slots=True)
class Waves:
    last: list[float] = field(default_factory=list)
    each: list[float] = field(default_factory=list)


def told(vms: int, capacity: CapacityKind) -> None:
    gc.set_threshold(100_000)
    began, waves = time.process_time(), Waves()
    sea = Sea(0, declared(vms, capacity))
    sea.took = []
    week = Week(sea, Life(sea, hurry=1.0))
    with in_process():
        sea.populate()
        sea.pass_until(sea.now + 1800)
        week.lives(1 / 24)
        sea.troubled = True
        for turn in range(WAVES):
            due = sea.now + EVERY
            sea.pass_until(due - EVERY * (turn + 0.5) / WAVES)
            sea.took = []
            sea._wave(sea.desired.zones)
            week.rests_until(due)
            while sea.away and sea.now < due + BOUND:
                week._sweeps(1.0)
            waves.last.append(max(sea.took))
            waves.each.append(median(sea.took))
            week.lives(1 / 48)
        text = f"last VM after {median(waves.last):.1f} min, half of them after {median(waves.each):.1f} min"
        if capacity is CapacityKind.PREEMPTIBLE and vms <= FOLLOWED:
            sea.unserved = sea.dark = 0.0
            sea.losses = 0
            week.lives(AFTERWARDS / DAY)
            text += (
                f"; in the two days after the last wave {sea.losses} VMs went, {sea.unserved / HOUR:.1f} VM-hours were "
                f"lost, and less than half of the pool served for {sea.dark / 60:.0f} min"
            )
    print(f"{vms} {capacity.value} VMs: {text}; {time.process_time() - began:.0f} s of processor time")  # noqa: T201


if __name__ == "__main__":
    match sys.argv[1:]:
        case [kind, *sizes] if sizes:
            for size in sizes:
                told(int(size), CapacityKind(kind))
        case _:
            sys.exit(__doc__)
