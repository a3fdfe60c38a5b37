"""Figures of simulated fleets, as docs/operations.md has them: `python -m tests.fleet.simulation.simulation_figures`.

losses LIVES DAYS   time from the loss of a serving VM until its slot serves again, preemptions alone and all faults
sweeps              calls, decision and memory of a sweep of healthy fleets of 6, 100 and 1,000 VMs
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from statistics import median, quantiles
from typing import Any
from unittest.mock import patch

from infra.fleet.controller import sweep as sweeping
from infra.model import names
from infra.model.manifest import manifest
from tests.fleet.simulation.fleet_faults import drawn
from tests.fleet.simulation.fleet_life import EVERY, SLOTS, Life, in_process, live
from tests.fleet.simulation.google_in_process import Process
from tests.fleet.simulation.simulated_world import World
from tests.model.given import parse, pool, stack_text

NAME = "tests.fleet.simulation.simulation_figures"
ZONES = ("us-west4-a", "us-central1-a", "europe-west4-b", "us-west1-c", "us-south1-a", "us-east1-b")
SIZES = {6: 3, 100: 3, 1000: 6}
"""Zones by VMs."""


def losses(lives: int, days: float) -> None:
    print(f"{lives} lives of {days:g} days, {SLOTS} VMs, a sweep every {EVERY:.0f} s")  # noqa: T201
    for title, others in (("preemptions alone", 0.0), ("all faults", 10.0)):
        began, outages, sweeps = time.process_time(), [], 0
        for seed in range(lives):
            life = live(seed, drawn(seed, days, SLOTS, others))
            outages += life.world.outages
            sweeps += life.sweeps
        spent = time.process_time() - began
        p90, p99 = (quantiles(outages, n=100)[part] / 60 for part in (89, 98))
        print(  # noqa: T201
            f"{title}: {len(outages)} losses; median {median(outages) / 60:.1f} min, p90 {p90:.1f} min, "
            f"p99 {p99:.1f} min; {sweeps} sweeps, {spent:.0f} s of processor time"
        )


def sweep_of(vms: int) -> None:
    """A sweep of a healthy fleet that was swept before; VMs and runners are put there, without guests."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    world = World(seed=1, manifest=_manifest(vms))
    for slot in world.desired.slots:
        body: dict[str, Any] = {key: value for key, value in slot.home.node.items() if key != "metadata"}
        world.tpus.add(slot.home.zone, slot.name, body["labels"], body)
        world.github.add(f"{slot.name}-{world.number():06x}").connected = True
    life, spent = Life(world), []

    def decide(*given: Any) -> Any:
        began = time.process_time()
        decision = decided(*given)
        spent.append(time.process_time() - began)
        return decision

    decided = sweeping.decide
    with in_process(), patch.object(sweeping, "decide", decide):
        for _ in range(8):
            world.pass_until(world.now + EVERY)
            process = Process()
            swept = life.sweep(process, 0)
    assert swept is not None
    assert swept.settled
    memory = len(world.objects[names.memory_object("ci")][1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(  # noqa: T201
        f"{vms} VMs in {SIZES[vms]} zones: {process.lists} lists of nodes, {process.calls} calls of Google's in all, "
        f"{process.changes} of them writes; deciding {1000 * min(spent):.1f} ms; memory.json {memory / 1000:.0f} kB; "
        f"peak memory {peak / 1000:.0f} MB with the world in it, {before / 1000:.0f} MB before"
    )


def _manifest(vms: int) -> dict[str, Any]:
    zones = ZONES[: SIZES[vms]]
    counts = {zone: vms // len(zones) + (index < vms % len(zones)) for index, zone in enumerate(zones)}
    given = pool(
        name="tpu-ci",
        zones="{" + ", ".join(f"{zone}: {count}" for zone, count in counts.items()) + "}",
        capacity="preemptible",
        serves="[a-lab/code]",
        unlisted_zone="{us-east1-b: a sixth zone}" if vms == 1000 else None,
    )
    return manifest(parse(stack_text(pools=given)), bundle="sha256:ab", startup_script="#!/bin/sh")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["losses", lives, days]:
            losses(int(lives), float(days))
        case ["sweep", vms]:
            sweep_of(int(vms))
        case ["sweeps"]:
            # One process each: the peak of a process is that of its largest fleet.
            for size in SIZES:
                subprocess.run([sys.executable, "-m", NAME, "sweep", str(size)], check=True)
        case _:
            sys.exit(__doc__)
