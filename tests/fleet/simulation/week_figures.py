"""A week of a fleet that Google takes a fifth of each hour: `python -m tests.fleet.simulation.week_figures VMS DAYS`.

The controller is the real one, as in `fleet_life`; guests only boot and serve. Beside the flapping come waves, a zone
that is out for a day, limits of requests, deletes that hang, lists that lie, sweeps that die at any call, clocks that
are off. After the week the faults end, and all must be as declared. Judges nothing.
"""

from __future__ import annotations

import gc
import heapq
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Final

from infra.model.catalogue import AcceleratorType, CapacityKind, price
from tests.fleet.simulation.fleet_life import BOUND, EVERY, SIDE_BY_SIDE, Life, in_process
from tests.fleet.simulation.google_faults import LOSS_AN_HOUR
from tests.fleet.simulation.google_in_process import Process
from tests.fleet.simulation.promises import SKEW
from tests.fleet.simulation.simulated_tpus import Lie, Node, SimulatedTpus
from tests.fleet.simulation.simulated_world import World
from tests.fleet.simulation.sweep_figures import declared

HOUR, DAY = 3600.0, 86400.0
CALL: Final = 0.2
"""Seconds that one call takes."""
REQUESTS: Final = 60
"""Creates within a minute that Google takes; each further one is answered by 429."""
BOOTS: Final = (120.0, 240.0)
"""Seconds from READY until a runner is online, from and to."""


class MarketTpus(SimulatedTpus):
    """TPU VMs whose creates are counted, and whose deletes hang now and then."""

    def __init__(self, world: Market) -> None:
        super().__init__(world)
        self.market = world
        self.a_minute = REQUESTS

    def create(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        operation = super().create(name, body)
        self.market.creates += 1
        self.market.asked(name.rpartition("/")[2])
        return operation

    def delete(self, name: str) -> dict[str, Any]:
        node = self.nodes[name]
        if node.name in self.market.away:
            self.market.away[node.name].delete = self.delete_takes(node)
        hangs = self.market.draw("hangs", name, node.body["createTime"])
        if self.market.troubled and self.market.flaps and hangs < 0.01:
            self.hangs[node.name] = self.market.now + HOUR * (1 + 200 * hangs)
            self.market.outs.append((node.name, self.market.now, self.hangs[node.name]))
        return super().delete(name)


@dataclass(slots=True)
class Away:
    """A declared VM that does not serve: since when, when the VM that serves again was asked for, and READY.

    delete: seconds that the delete of the one before took.
    """

    since: float
    asked: float | None = None
    ready: float | None = None
    delete: float = 0.0


class Market(World):
    """A world whose VMs Google takes back.

    outs: zones and VMs of which Google gives none, from and to. away: by VM, while it is so.

    troubled: whether VMs are taken.
    held_up, making: seconds of all VMs from a loss to the create that made it again, without those in which Google gave
    none, and from there until it served. idle: seconds in which they were READY and did not serve.
    flaps: whether VMs are lost one by one, and deletes hang now and then. boots: seconds of a boot, from and to.
    """

    flaps, boots = True, BOOTS

    def __init__(self, seed: int, manifest: Mapping[str, Any]) -> None:
        super().__init__(seed, manifest)
        self.tpus = MarketTpus(self)
        self.homes = {slot.name: slot.home.zone for slot in self.desired.slots}
        self.dice = Random(f"market {seed}")
        self.troubled = False
        self.outs: list[tuple[str, float, float]] = []
        self.away: dict[str, Away] = {}
        self.creates = self.losses = 0
        self.unserved = self.held_up = self.making = self.not_given = self.idle = 0.0

    def pass_until(self, end: float) -> None:
        """Nothing here happens but what was planned."""
        while self._events and self._events[0][0] <= end:
            at, _, do = heapq.heappop(self._events)
            self.now = max(self.now, at)
            do()
        self.now = max(self.now, end)

    def live(self, node: Node) -> None:
        vm = node.name
        if vm not in self.homes:
            return
        if node.state == "READY":
            if vm in self.away:
                self.away[vm].ready = self.now
            self.plan(self.dice.uniform(*self.boots), lambda: self._serves(node))
            if self.flaps:
                self.plan(self.dice.expovariate(LOSS_AN_HOUR) * HOUR, lambda: self._taken(node, "PREEMPTED"))
            self.plan(DAY, lambda: self._taken(node, "TERMINATED"))
            return
        for each in self.github.registrations.values():
            if each.connected and each.offline_from is None and each.name.startswith(f"{vm}-"):
                each.offline_from = self.now + 60

    def loses(self, vm: str) -> None:
        if vm in self.homes and vm not in self.away:
            self.losses += 1
            self.away[vm] = Away(self.now)

    def asked(self, vm: str) -> None:
        if vm in self.away:
            self.away[vm].asked = self.now

    def _taken(self, node: Node, state: str) -> None:
        alive = self.tpus.nodes.get(node.body["name"]) is node and node.state == "READY"
        if alive and (self.troubled or state == "TERMINATED"):
            self.tpus.becomes(node, state)

    def _serves(self, node: Node) -> None:
        vm = node.name
        if self.tpus.nodes.get(node.body["name"]) is not node or node.state != "READY":
            return
        old = [number for number, each in self.github.registrations.items() if each.name.startswith(f"{vm}-")]
        for number in old:
            del self.github.registrations[number]
        self.github.add(f"{vm}-{self.number() % 0xFFFFFF:06x}").connected = True
        away = self.away.pop(vm, None)
        if away is not None:
            self._told(vm, away)

    def _told(self, vm: str, away: Away) -> None:
        asked = self.now if away.asked is None else away.asked
        out = sum(
            max(0.0, min(asked, end) - max(away.since, began))
            for what, began, end in self.outs
            if what in (self.homes[vm], vm)
        )
        self.unserved += self.now - away.since
        self.not_given += min(out, asked - away.since)  # a hang and an outage may be at once
        self.held_up += max(0.0, asked - away.since - out)
        self.making += self.now - asked
        self.idle += self.now - (self.now if away.ready is None else away.ready)

    # What goes wrong

    def trouble(self, days: float) -> None:
        """Plan the week's faults."""
        self.troubled, self.tpus.limited = True, self.now + (days + 1) * DAY
        zones = sorted(self.desired.zones)
        for day in range(int(days)):
            at, zone = day * DAY, zones[day % len(zones)]
            self.plan(at + 3 * HOUR, partial(self._wave, (zone,)))
            self.plan(at + 8 * HOUR, partial(self._short, zone, 3 * HOUR))
            for turn in range(6):
                self.plan(at + 3.7 * HOUR * (turn + 1), partial(self._lies, zones[turn % len(zones)], turn))
        self.plan(min(1.5, days / 3) * DAY, lambda: self._wave(zones))
        self.plan(min(2.0, days / 2) * DAY, lambda: self._out(zones[-1], min(1.0, days / 4) * DAY))
        self.plan(min(4.2, days / 2.5) * DAY, lambda: self.down.update(github=self.now + 45 * 60))

    def _wave(self, zones: Any) -> None:
        for node in list(self.tpus.nodes.values()):
            if node.zone in zones and node.name in self.homes:
                self._taken(node, "PREEMPTED")

    def _short(self, zone: str, seconds: float) -> None:
        self.outs.append((zone, self.now, self.now + seconds))
        self.tpus.stockouts[zone] = self.now + seconds

    def _out(self, zone: str, seconds: float) -> None:
        self.outs.append((zone, self.now, self.now + seconds))
        self.down[zone] = self.now + seconds

    def _lies(self, zone: str, turn: int) -> None:
        kind = ("late", "empty", "partial")[turn % 3]
        then = [dict(node.body) for node in self.tpus.nodes.values() if node.zone == zone]
        self.tpus.lies[zone] = Lie(kind, self.now + 600, then)


@dataclass(slots=True)
class Week:
    """calls: of each sweep that ended. died: sweeps that did not. looks: calls between sweeps."""

    market: Market
    life: Life
    calls: list[int] = field(default_factory=list)
    died: int = 0
    looks: int = 0

    def lives(self, days: float) -> None:
        end = self.market.now + days * DAY
        while self.market.now < end:
            self._sweeps(self.market.dice.random())

    def heals(self) -> float:
        """Minutes until all serves that is declared, once nothing goes wrong any more."""
        self.market.troubled = False
        began = self.market.now
        while self.market.away and self.market.now < began + BOUND:
            self._sweeps(1.0)
        return (self.market.now - began) / 60

    def _sweeps(self, roll: float) -> None:
        """What is due every two minutes: a sweep, and looks after it, which may begin others."""
        due = self.market.now + EVERY
        self._sweep(roll)
        self.rests_until(due)

    def rests_until(self, end: float) -> None:
        market = self.market
        process = Process(before_each=self._answers)
        while self.life.lookout(process).waits(
            end - market.now, lambda seconds: market.pass_until(market.now + seconds)
        ):
            self._sweep(1.0)
        self.looks += process.calls
        market.pass_until(max(end, market.now))

    def _answers(self, _: int) -> None:
        self.market.pass_until(self.market.now + CALL / SIDE_BY_SIDE.get())

    def _sweep(self, roll: float) -> None:
        market = self.market
        dies = int(roll * 4000) if roll < 0.03 else 0
        skew = (2 * market.dice.random() - 1) * SKEW if 0.98 < roll < 1.0 and market.troubled else 0.0
        market.clocks_agree = not skew
        process = Process(dies_before=dies, before_each=self._answers)
        swept = self.life.swept = self.life.sweep(process, skew)
        market.log.clear()
        market.promises.stand()
        if swept is None:
            self.died += 1
        else:
            self.calls.append(process.calls)


def told(vms: int, days: float) -> None:
    gc.set_threshold(100_000)
    began = time.process_time()
    market = Market(0, declared(vms))
    week = Week(market, Life(market, hurry=1.0))
    with in_process():
        market.populate()
        market.pass_until(market.now + 1800)
        week.lives(1 / 48)
        market.trouble(days)
        for name in ("losses", "creates", "unserved", "held_up", "making", "not_given", "idle"):
            setattr(market, name, 0)
        week.calls.clear()
        week.died = week.looks = 0
        week.lives(days)
        for vm, away in market.away.items():
            market._told(vm, away)
        whole = vms * days * DAY
        losses, creates, calls, died = market.losses, market.creates, sorted(week.calls), week.died
        looks = week.looks / days / 24
        given = whole - market.not_given
        figures = {
            "declared": (whole - market.unserved) / whole,
            "given": (whole - market.unserved) / given,
            "without making": (given - market.held_up) / given,
        }
        idle = market.idle / HOUR
        back = week.heals()
    slot = market.desired.slots[0]
    listed = price(AcceleratorType.parse(slot.accelerator.name).generation, slot.home.zone, CapacityKind.PREEMPTIBLE)
    dollars = idle * slot.chips * float(listed.usd_per_chip_hour) if listed else 0.0
    print(  # noqa: T201
        f"{vms} VMs, {days:g} days, a sweep every {EVERY:.0f} s: {losses} losses, {creates} recreates; "
        f"serving: {figures['declared']:.2%} of what is declared, {figures['given']:.2%} of what the market gave, "
        f"{figures['without making']:.2%} without the time that making and boot take; "
        f"calls a sweep: median {calls[len(calls) // 2]}, p99 {calls[int(len(calls) * 0.99)]}, most {calls[-1]}; "
        f"looks: {looks:.0f} calls an hour; {died} of {died + len(calls)} sweeps died or could not begin; "
        f"${dollars:.0f} for VMs that stood and did not serve; "
        f"as declared {back:.0f} min after the last fault, {len(market.away)} VMs left; "
        f"{time.process_time() - began:.0f} s of processor time"
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case [fleet_size, length]:
            told(int(fleet_size), float(length))
        case _:
            sys.exit(__doc__)
