"""How fast a pool comes back after a wave or a single loss: `python -m tests.fleet.simulation.wave_figures`.

With CAPACITY VMS... as arguments, after waves of these alone. For preemptible VMs also what the two days after a wave
cost, in which all of them reach the end of their 24 hours. Uses the world of `week_figures`. Judges nothing.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any, Final

from infra.model.catalogue import CapacityKind
from tests.fleet.simulation.fleet_life import BOUND, EVERY, Life, in_process
from tests.fleet.simulation.simulated_tpus import SLOW_DELETE
from tests.fleet.simulation.sweep_figures import declared
from tests.fleet.simulation.week_figures import BOOTS, DAY, HOUR, Away, Market, Week

WAVES: Final = 5
"""Waves that are averaged, each at another time between two sweeps."""
SIZES: Final = (9, 40, 400, 1000)
SINGLE: Final = 200
"""Single losses, each at another time between two sweeps."""
CREATES: Final = (90.0, 180.0)
SHORTER: Final = (70.0, 140.0)
"""Of a boot whose steps run side by side and that installs no package: 129 of 220 seconds by the model of
`bench.guests.machine`."""
AFTERWARDS: Final = 2 * DAY
FOLLOWED: Final = 100
"""VMs of the largest pool that is followed afterwards."""


class Sea(Market):
    """A market without losses but waves. took: minutes of each VM from its loss until it serves again."""

    flaps = False

    def __init__(self, seed: int, manifest: Mapping[str, Any]) -> None:
        super().__init__(seed, manifest)
        self.took: list[float] = []
        self.ended: list[Away] = []
        self._dark_since: float | None = None
        self.dark = 0.0

    def _told(self, vm: str, away: Away) -> None:
        super()._told(vm, away)
        self.ended.append(away)
        self.took.append((self.now - away.since) / 60)
        if self._dark_since is not None and 2 * len(self.away) <= len(self.homes):
            self.dark, self._dark_since = self.dark + self.now - self._dark_since, None

    def loses(self, vm: str) -> None:
        super().loses(vm)
        if self._dark_since is None and 2 * len(self.away) > len(self.homes):
            self._dark_since = self.now


@dataclass(slots=True)
class Waves:
    """Of each wave, in minutes until: the last VM, and half of them, serve again; the last one is READY, and the last
    one whose delete took no longer than usual. own: the most seconds that the controller took beside a delete."""

    last: list[float] = field(default_factory=list)
    each: list[float] = field(default_factory=list)
    ready: list[float] = field(default_factory=list)
    usual: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)


def grown(sea: Sea) -> Week:
    """Once every VM serves, and nothing else goes wrong."""
    week = Week(sea, Life(sea, hurry=1.0))
    sea.populate()
    sea.pass_until(sea.now + 1800)
    week.lives(1 / 24)
    sea.troubled, sea.took, sea.ended = True, [], []
    return week


def waves_of(week: Week, sea: Sea, count: int = WAVES) -> Waves:
    """Google takes the whole pool, again and again."""
    waves = Waves()
    for turn in range(count):
        due = sea.now + EVERY
        sea.pass_until(due - EVERY * (turn + 0.5) / count)
        sea.took, sea.ended = [], []
        sea._wave(sea.desired.zones)
        week.rests_until(due)
        while sea.away and sea.now < due + BOUND:
            week._sweeps(1.0)
        waves.last.append(max(sea.took))
        waves.each.append(median(sea.took))
        ready = {away.ready - away.since: away for away in sea.ended if away.ready and away.asked}
        usual = {took: away for took, away in ready.items() if away.delete < SLOW_DELETE}
        waves.ready.append(max(ready) / 60)
        waves.usual.append(max(usual) / 60)
        waves.own.append(max((away.asked or 0) - away.since - away.delete for away in ready.values()))
        week.lives(1 / 48)
    return waves


def single_losses(week: Week, sea: Sea, count: int = SINGLE) -> list[float]:
    """Minutes from each loss of one VM until it serves again."""
    while len(sea.took) < count:
        due = sea.now + EVERY
        sea.pass_until(due - EVERY * sea.dice.random())
        node = sea.tpus.of_slot(len(sea.took))
        if node is not None:
            sea._taken(node, "PREEMPTED")
        week.rests_until(due)
        while sea.away:
            week._sweeps(1.0)
    return sea.took


def told(vms: int, capacity: CapacityKind) -> None:
    gc.set_threshold(100_000)
    began, sea = time.process_time(), Sea(0, declared(vms, capacity))
    with in_process():
        week = grown(sea)
        waves = waves_of(week, sea)
        text = (
            f"half serve after {median(waves.each):.1f} min, the last after {median(waves.last):.1f}; the last is "
            f"READY after {median(waves.ready):.1f}, without slow deletes after {median(waves.usual):.1f}; the "
            f"controller's own part is {median(waves.own):.0f} s at most"
        )
        if capacity is CapacityKind.PREEMPTIBLE and vms <= FOLLOWED:
            sea.unserved = sea.dark = 0.0
            sea.losses = 0
            week.lives(AFTERWARDS / DAY)
            text += (
                f"; in the two days after the last wave {sea.losses} VMs went, {sea.unserved / HOUR:.1f} VM-hours were "
                f"lost, and less than half of the pool served for {sea.dark / 60:.0f} min"
            )
    print(f"{vms} {capacity.value} VMs: {text}; {time.process_time() - began:.0f} s of processor time")  # noqa: T201


def told_single(boots: tuple[float, float]) -> None:
    sea = Sea(0, declared(9, CapacityKind.SPOT))
    sea.boots, sea.tpus.creates = boots, CREATES
    with in_process():
        took = single_losses(grown(sea), sea)
    print(  # noqa: T201
        f"one of 9 VMs, create {CREATES[0]:.0f} to {CREATES[1]:.0f} s, boot {boots[0]:.0f} to {boots[1]:.0f} s: serves "
        f"after {median(took):.2f} min, p90 {quantiles(took, n=10)[-1]:.2f}"
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            told_single(BOOTS)
            told_single(SHORTER)
            for each in (CapacityKind.PREEMPTIBLE, CapacityKind.SPOT):
                for size in SIZES:
                    told(size, each)
        case [kind, *sizes] if sizes:
            for size in sizes:
                told(int(size), CapacityKind(kind))
        case _:
            sys.exit(__doc__)
