"""Fleets, nodes and runners for tests of the controller's decisions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from infra.fleet.controller.actions import Decision, subject
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Cap, ControllerSettings, Desired, DesiredSlot, SlotPlace
from infra.fleet.controller.events import Result
from infra.fleet.controller.judge import Judge
from infra.fleet.controller.memory import EMPTY, Memory
from infra.fleet.controller.notice import noticed
from infra.fleet.controller.observed import KNOWN, NodeSeen, Observed, RunnerSeen, Source, unknown
from infra.fleet.controller.outcomes import ActionOutcome, learned
from infra.fleet.controller.sorting import sort
from infra.fleet.google import GoogleError
from infra.model.catalogue import AcceleratorType, CapacityKind

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SWEEP = timedelta(minutes=2)
HOME, AWAY = "us-west4-a", "us-central1-a"
V5E = AcceleratorType.parse("v5litepod-4")


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def place(zone: str = HOME, capacity: CapacityKind = CapacityKind.PREEMPTIBLE) -> SlotPlace:
    return SlotPlace(zone=zone, capacity=capacity, node={"acceleratorType": V5E.name})


def slot(
    index: int, *, pool: str = "tpu-ci", fallbacks: tuple[SlotPlace, ...] = (), home: SlotPlace | None = None
) -> DesiredSlot:
    at = home or place()
    name = f"{pool}-{at.zone}-{index}"
    return DesiredSlot(name=name, pool=pool, accelerator=V5E, places=(at, *fallbacks), serves=("a-lab/code",))


def fleet(count: int = 6, **given: Any) -> Desired:
    """A pool of `count` preemptible VMs in one zone."""
    slots = given.pop("slots", tuple(slot(index, fallbacks=given.get("fallbacks", ())) for index in range(count)))
    given.pop("fallbacks", None)
    usual: dict[str, Any] = {"settings": ControllerSettings()}
    return Desired(stack="ci", project="a-lab", slots=slots, **{**usual, **given})


def of_kind(kind: CapacityKind, count: int, **given: Any) -> Desired:
    """A pool in one zone of that kind of capacity."""
    return fleet(slots=tuple(slot(index, home=place(HOME, kind)) for index in range(count)), **given)


def quota(chips: int, zone: str = HOME, **given: Any) -> Cap:
    usual: dict[str, Any] = {
        "name": f"{zone} v5e preemptible quota",
        "generation": "v5e",
        "covers": frozenset({CapacityKind.PREEMPTIBLE, CapacityKind.SPOT}),
    }
    return Cap(zone=zone, chips=chips, **{**usual, **given})


def labels(pool: str = "tpu-ci", stack: str = "ci") -> dict[str, str]:
    return {"tidepool-managed": "true", "tidepool-stack": stack, "tidepool-pool": pool}


def node(name: str, state: str = "READY", **given: Any) -> NodeSeen:
    usual: dict[str, Any] = {
        "zone": HOME,
        "accelerator": V5E.name,
        "capacity": CapacityKind.PREEMPTIBLE,
        "health": "HEALTHY",
        "created": "2026-11-21T10:00:00Z",
        "labels": labels(),
    }
    return NodeSeen(name=name, state=state, **{**usual, **given})


def runner(vm: str, *, number: int = 1, online: bool = True, busy: bool = False) -> RunnerSeen:
    return RunnerSeen(id=number, name=f"{vm}-{number:06x}", scope="orgs/a-lab", online=online, busy=busy)


def served(desired: Desired, but: tuple[str, ...] = ()) -> tuple[RunnerSeen, ...]:
    """A runner online for each slot, except for some."""
    names = [each.name for each in desired.slots]
    return tuple(runner(name, number=index + 1) for index, name in enumerate(names) if name not in but)


def nodes(desired: Desired, **states: str) -> tuple[NodeSeen, ...]:
    """A READY node for each slot; states by `sN` for the slot at that place in the list, `""` for no node."""
    seen = []
    for index, each in enumerate(desired.slots):
        state = states.get(f"s{index}", "READY")
        if state:
            seen.append(node(each.name, state, zone=each.home.zone, capacity=each.home.capacity))
    return tuple(seen)


def seen(desired: Desired, **given: Any) -> Observed:
    zones: Mapping[str, Source] = given.pop("zones", dict.fromkeys(sorted(desired.zones), KNOWN))
    usual: dict[str, Any] = {"zones": zones, "nodes": nodes(desired), "runners": served(desired)}
    return Observed(**{**usual, **given})


DARK = unknown("503")
PAIR = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
BOTH = dict.fromkeys((HOME, AWAY), KNOWN)
LOST = served(PAIR, but=(PAIR.slots[0].name,))
"""Runners of two VMs of which the first has none."""


def sight(*more: NodeSeen, s0: str = "READY", **given: Any) -> Observed:
    """Two VMs at home and whatever stands beside, in zones that both answer."""
    return seen(PAIR, **{"nodes": (*nodes(PAIR, s0=s0), *more), "zones": BOTH, **given})


def judge(observed: Observed, desired: Desired = PAIR, memory: Memory = EMPTY, now: datetime = START) -> Judge:
    """What judges in a sweep, once memory has noticed what is seen."""
    found = sort(desired, observed)
    memory = noticed(memory, desired, observed, found, now)
    return Judge(desired=desired, observed=observed, fleet=found, memory=memory, now=now)


def sweeps(
    desired: Desired, observed: Observed, count: int, *, memory: Memory = EMPTY, start: datetime = START
) -> list[Decision]:
    """The decisions of sweeps that all see the same."""
    decisions = []
    for index in range(count):
        now = start + index * SWEEP
        decisions.append(decide(desired, observed, memory, now))
        memory = remembered(decisions[-1], desired, now)
    return decisions


def remembered(decision: Decision, desired: Desired, now: datetime) -> Memory:
    """The memory after all of a decision was done."""
    outcomes = [ActionOutcome(action=action, result=Result.DONE) for action in decision.actions]
    return learned(decision.memory, desired, outcomes, now)


def first(desired: Desired, observed: Observed, memory: Memory = EMPTY, now: datetime = START) -> Decision:
    return decide(desired, observed, memory, now)


class Shelf:
    """Records in memory, as JSON. broken: whether generations cannot be read; mends: whether the last write does so."""

    def __init__(self, bodies: Mapping[str, Any] | None = None, generations: Mapping[str, int] | None = None) -> None:
        self.bodies, self.generations = dict(bodies or {}), generations or {}
        self.broken = self.mends = False

    def body(self, name: str) -> Any:
        return self.bodies.get(name)

    def update(self, name: str, change: Callable[[Any], Any], *, mends: bool = False) -> None:
        self.bodies[name], self.mends = json.loads(json.dumps(change(self.body(name)))), mends

    def generation(self, name: str) -> int:
        if self.broken:
            raise GoogleError("reading", "503")
        return self.generations.get(name, 0)


def doing(decision: Decision) -> list[tuple[str, str]]:
    """What is done, as pairs such as `("Create", "tpu-ci-us-west4-a-0")`; reports and first orders left out."""
    return [
        (type(action).__name__, subject(action))
        for action in decision.actions
        if type(action).__name__ not in ("Report", "Assign")
    ]
