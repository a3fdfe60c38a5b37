"""What early recreation of idle preemptible VMs is worth: `python -m tests.fleet.simulation.renewal_figures VMS DAYS`.

A model of its own, without the controller: VMs that were made at once, jobs that come by day more than by night, ends
after 24 hours, and losses between. Judges nothing.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from statistics import mean, quantiles
from typing import Any, Final

HOUR, DAY = 3600.0, 86400.0
SWEEP: Final = 120.0
JOB: Final = 20 * 60.0
"""Mean seconds of a job."""
EARLY: Final = 8 * HOUR
"""A VM may be recreated so long before its end."""
LOADS: Final = {"by day": (0.7, 0.1), "all day": (0.6, 0.6)}
"""Share of the pool that jobs need from 8 to 20 o'clock, and at night."""


def recreated(dice: Random) -> float:
    """Seconds from a loss, or a delete, until the VM serves: look, delete, create and boot, as in `week_figures`."""
    return dice.uniform(0, 15) + dice.uniform(5, 65) + dice.uniform(40, 200) + dice.uniform(120, 240)


@dataclass(slots=True)
class Vm:
    """ends: when its 24 hours are over. job: the one that runs, with what it still needs and since when. life: a number
    that changes with each VM of the slot."""

    ends: float = 0.0
    serves: bool = False
    job: tuple[float, float, float] | None = None
    life: int = 0


@dataclass(slots=True)
class Pool:
    """ends: whether 24 hours end a VM. renews: how many VMs an hour are recreated early at most.

    losses: of a VM and hour, beside the ends. away, short: seconds of VMs without service, and with less than half of
    the pool. killed, undone: jobs that were cut off, and the seconds that they had run.
    """

    vms: int
    load: tuple[float, float]
    ends: bool
    renews: int
    losses: float
    dice: Random
    now: float = 0.0
    fleet: list[Vm] = field(default_factory=list)
    queue: list[tuple[float, float]] = field(default_factory=list)
    events: list[tuple[float, int, str, Any]] = field(default_factory=list)
    renewed: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    killed: int = 0
    undone: float = 0.0
    away: float = 0.0
    short: float = 0.0
    early: int = 0
    _number: int = 0

    def lives(self, days: float) -> None:
        self.fleet = [Vm() for _ in range(self.vms)]
        for vm in self.fleet:
            self._begins(vm)
        self._plan(0, "arrives")
        self._plan(0, "sweeps")
        before = 0.0
        while self.events and self.events[0][0] <= days * DAY:
            self.now, _, what, given = heapq.heappop(self.events)
            serving = sum(vm.serves for vm in self.fleet)
            self.away += (self.vms - serving) * (self.now - before)
            self.short += (2 * serving < self.vms) * (self.now - before)
            before = self.now
            getattr(self, f"_{what}")(*(given or ()))
            self._assign()

    def _plan(self, after: float, what: str, *given: Any) -> None:
        self._number += 1
        heapq.heappush(self.events, (self.now + after, self._number, what, given))

    def _begins(self, vm: Vm) -> None:
        vm.serves, vm.ends, vm.life = True, self.now + DAY - recreated(self.dice) / 3, vm.life + 1
        if self.ends:
            self._plan(vm.ends - self.now, "goes", vm, vm.life)
        if self.losses:
            self._plan(self.dice.expovariate(self.losses) * HOUR, "goes", vm, vm.life)

    def _returns(self, vm: Vm) -> None:
        self._begins(vm)

    def _goes(self, vm: Vm, life: int) -> None:
        if vm.life != life or not vm.serves:
            return
        if vm.job:
            # It starts again from its beginning, and counts as waiting for what was lost.
            _, needs, began = vm.job
            self.killed += 1
            self.undone += self.now - began
            self.queue.append((self.now, needs))
        vm.job, vm.serves = None, False
        self._plan(recreated(self.dice), "returns", vm)

    def _arrives(self) -> None:
        hour = self.now % DAY / HOUR
        load = self.load[0] if 8 <= hour < 20 else self.load[1]
        self.queue.append((self.now, self.dice.expovariate(1 / JOB)))
        self._plan(self.dice.expovariate(load * self.vms / JOB), "arrives")

    def _ends(self, vm: Vm, began: float) -> None:
        if vm.job and vm.job[2] == began:
            vm.job = None

    def _assign(self) -> None:
        idle = [vm for vm in self.fleet if vm.serves and not vm.job]
        while self.queue and idle:
            came, needs = self.queue.pop(0)
            vm = idle.pop(self.dice.randrange(len(idle)))
            vm.job = (came, needs, self.now)
            self.waits.append(self.now - came)
            self._plan(needs, "ends", vm, self.now)

    def _sweeps(self) -> None:
        self._plan(SWEEP, "sweeps")
        self.renewed = [at for at in self.renewed if self.now - at < HOUR]
        idle = [vm for vm in self.fleet if vm.serves and not vm.job]
        quiet = 2 * len(idle) > self.vms and not self.queue
        old = [vm for vm in idle if vm.ends - self.now < EARLY]
        if quiet and old and len(self.renewed) < self.renews:
            vm = min(old, key=lambda vm: vm.ends)
            self.renewed.append(self.now)
            self.early += 1
            self._goes(vm, vm.life)


def rows(vms: int, days: float) -> Iterator[str]:
    """A row of a table for each."""
    for name, load in LOADS.items():
        for losses in (0.0, 0.05):
            early = max(6, vms // 4)
            for kind, ends, renews in (("as it is", True, 0), ("early", True, early), ("spot", False, 0)):
                pools = [Pool(vms, load, ends, renews, losses, Random(seed)) for seed in range(5)]
                for pool in pools:
                    pool.lives(days)
                waits = sorted(wait / 60 for pool in pools for wait in pool.waits)
                means = [
                    mean(pool.away for pool in pools) / HOUR / days,
                    mean(pool.killed for pool in pools) / days,
                    mean(pool.undone for pool in pools) / HOUR / days,
                    mean(pool.short for pool in pools) / 60 / days,
                    mean(pool.early for pool in pools) / days,
                    mean(waits),
                    quantiles(waits, n=100)[98],
                ]
                yield f"| {vms} | {name} | {losses:.0%} | {kind} | {' | '.join(f'{each:.1f}' for each in means)} |"


if __name__ == "__main__":
    match sys.argv[1:]:
        case [size, length]:
            print(*rows(int(size), float(length)), sep="\n")  # noqa: T201
        case _:
            sys.exit(__doc__)
