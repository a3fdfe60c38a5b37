"""The simulation can fail: each promise is broken by a controller that lacks what keeps it, and told as what it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest.mock import patch

import pytest

from infra.fleet.controller import decide, judge, limits, notice, sorting
from infra.fleet.controller.act import Actor
from infra.fleet.controller.actions import Create, Recreate
from infra.fleet.controller.desired import SlotPlace
from infra.fleet.controller.events import Result
from infra.fleet.controller.lease import Lease
from infra.fleet.controller.observed import RunnerSeen
from infra.fleet.controller.outcomes import ActionOutcome
from infra.fleet.controller.placing import Room
from infra.fleet.controller.rules import rule
from infra.model.run_labels import RunVm
from tests.fleet.simulation import fleet_life
from tests.fleet.simulation.fleet_faults import Fault
from tests.fleet.simulation.fleet_life import live
from tests.fleet.simulation.github_in_process import ByKeeper
from tests.fleet.simulation.promises import BrokenPromiseError

HEARD: Final = ByKeeper._runners
MADE: Final = Actor._create
JUDGED: Final = judge.find
Sabotage = AbstractContextManager[Any]


def hears(**said: bool) -> Sabotage:
    """A controller that is told this of every runner."""

    def runners(github: ByKeeper, **asked: str) -> tuple[RunnerSeen, ...]:
        return tuple(replace(runner, **said) for runner in HEARD(github, **asked))

    return patch.object(ByKeeper, "_runners", runners)


def looks_nowhere_else() -> Sabotage:
    """A controller that believes its lists, and asks no other place for a slot's VM before it makes one."""

    def create(actor: Actor, action: Create | Recreate, place: SlotPlace) -> ActionOutcome:
        return MADE(replace(actor, desired=replace(actor.desired, slots=())), action, place)

    return patch.object(Actor, "_create", create)


def replaces_what_serves() -> Sabotage:
    def find(*given: Any) -> Any:
        found = JUDGED(*given)
        return rule("slot-unfit") if found.id == "slot-serving" else found

    return patch.object(judge, "find", find)


def makes_nothing() -> Sabotage:
    return patch.object(Actor, "_create", lambda _, action, *__: ActionOutcome(action=action, result=Result.DONE))


def takes_everything_for_ours() -> Sabotage:
    stack = ExitStack()
    for module in (sorting, notice):
        stack.enter_context(patch.object(module, "owns", lambda *_: True))
    return stack


def takes_any_lease() -> Sabotage:
    def taken(lease: Lease, _: object) -> Any:
        lease.last = lease.clock()
        return lease._body(lease.last + lease.time)

    return patch.object(Lease, "_taken", taken)


def at(hours: float, kind: str, slot: int, *, minutes: float = 0, roll: float = 0.5) -> Fault:
    return Fault(hours * 3600, kind, slot, minutes, roll)


FAR: Final = at(4, "good-version", 0)
"""A fault so late that everything before it has its time."""
AWAY: Final = next(roll / 1000 for roll in range(700, 1000) if roll % 3 == 1)
"""Of three zones in their order the one of the fallback."""


@dataclass(frozen=True, slots=True)
class Breach:
    """What is broken where a controller lacks something: by which lacks, under which faults, and how it is told."""

    lacks: Sequence[Callable[[], Sabotage]]
    told: str
    faults: Sequence[Fault] = ()


BREACHES: Final = {
    "two VMs of a slot": Breach(
        [looks_nowhere_else],
        "tpu-ci-us-west4-a-0 has VMs in us-central1-a, us-west4-a",
        [at(1, "stockout", 2, minutes=90), at(3, "empty-list", 2, minutes=20, roll=AWAY)],
    ),
    "chips of a quota": Breach(
        [lambda: patch.object(Room, "refusal", lambda *_: "")], "20 chips of .* which has 16", [at(1, "displaced", 2)]
    ),
    "jobs": Breach(
        [lambda: hears(busy=False)], "was deleted while its runner had a job", [at(1, "shrinks", 2, minutes=120)]
    ),
    "jobs of VMs that stay": Breach(
        [lambda: hears(online=False), lambda: patch.object(judge.Judge, "_says_it_works", lambda *_: False)],
        "was stopped in the middle of a job",
        [FAR],
    ),
    "the last that serves": Breach(
        [
            replaces_what_serves,
            lambda: patch.object(limits, "fuse", lambda *_: None),
        ],
        "was the last serving VM of tpu-ci, and was deleted",
    ),
    "replacements within an hour": Breach(
        [lambda: patch.object(limits, "_within_hour", lambda *_: 0)],
        "7 VMs of tpu-ci were replaced",
        [at(1 + turn / 15, "ends-otherwise", turn % 6) for turn in range(12)],
    ),
    "VMs that are not ours": Breach([takes_everything_for_ours], "is not ours, and was given orders", [FAR]),
    "VMs of runs": Breach(
        [lambda: patch.object(RunVm, "has_expired", lambda *_: True)], "is not ours, and was deleted", [at(1, "run", 0)]
    ),
    "one at a time": Breach(
        [takes_any_lease],
        "two controllers act at the same time",
        [at(1 + turn / 2, "two-controllers", 2, roll=roll) for turn, roll in enumerate((0.29, 0.35, 0.2, 0.2375))],
    ),
    "what may have been asked for": Breach(
        [lambda: patch.object(decide, "intended", lambda memory, *_: memory)],
        "tpu-ci-us-west4-a-0 is made, and nobody would remember",
        [at(1, "preempt", 2)],
    ),
    "the region of an image": Breach(
        [lambda: patch.object(judge.Judge, "zone", lambda _, slot: slot.home.zone)],
        "tpu-ci-us-west4-a-0 runs an image of another region",
        [at(1, "stockout", 2, minutes=180), at(1.1, "preempt", 2)],
    ),
    "the end": Breach(
        [makes_nothing, lambda: patch.object(fleet_life, "BOUND", 3600.0)],
        "1 h after the last fault: tpu-ci-us-west4-a-0 does not serve",
        [at(1, "preempt", 2)],
    ),
}


@pytest.mark.parametrize("what", BREACHES)
def test_a_controller_that_lacks_what_keeps_a_promise_breaks_it(what: str) -> None:
    breach = BREACHES[what]
    with ExitStack() as lacking:
        for lack in breach.lacks:
            lacking.enter_context(lack())
        with pytest.raises(BrokenPromiseError, match=breach.told):
            live(0, breach.faults)
