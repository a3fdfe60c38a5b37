"""What memory learns of each action, before it is done and of what it came to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.fleet.controller.actions import Action, Assign, Create, Drain, Recreate, Restart
from infra.fleet.controller.events import EventKind, Result
from infra.fleet.controller.keys import NodeKey, OrphanKey, RunnerKey
from infra.fleet.controller.memory import EMPTY, Creating, Memory, NodeMemory, Suspect, VmMemory
from infra.fleet.controller.observed import Trouble
from infra.fleet.controller.outcomes import ActionOutcome, intended, learned
from infra.fleet.versions import AssignedVersion
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import AWAY, HOME, START, V5E, fleet, minutes, node, place

FLEET = fleet(2)
VM, OTHER = (each.name for each in FLEET.slots)
POOL = FLEET.slots[0].pool
WHY: dict[str, Any] = {"rule": "r", "reason": "why"}
NOW, EARLIER, BEFORE = START + minutes(10), START + minutes(5), START
LISTED = NodeMemory(
    state="READY", accelerator=V5E.name, capacity=CapacityKind.PREEMPTIBLE, ours=True, first_seen=START, since=START,
    seen=START,
)  # fmt: skip


def of(**given: Any) -> Memory:
    """A memory of one VM."""
    return replace(EMPTY, vms={VM: VmMemory(seen=START, **given)})


def assign(vm: str = VM, **given: Any) -> Assign:
    return Assign(vm=vm, region="us-west4", image="i", bundle="b", **WHY, **given)


def recreate(state: str = "READY", rule: str = "slot-unhealthy") -> Recreate:
    return Recreate(slot=VM, node=node(VM, state), place=place(), rule=rule, reason="why")


def create(zone: str = HOME) -> Create:
    return Create(slot=VM, place=place(zone), **WHY)


def came(memory: Memory, action: Action, result: Result, **given: Any) -> Memory:
    return learned(memory, FLEET, [ActionOutcome(action=action, result=result, **given)], NOW)


@pytest.mark.parametrize(
    ("actions", "unsure"),
    [
        ((), 2),
        ((assign(),), 3),
        ((assign(), Drain(vm=VM, on=True, **WHY)), 4),
        ((assign(first=True),), 1),
        ((Restart(vm=VM, number=1, **WHY), assign(OTHER)), 2),
    ],
)
def test_orders_that_are_about_to_be_written_are_doubted_and_first_ones_end_older_doubts(
    actions: tuple[Action, ...], unsure: int
) -> None:
    assert intended(of(unsure=2), actions, NOW).vms[VM].unsure == unsure


ASKED = Creating(zone=HOME, capacity=CapacityKind.PREEMPTIBLE, at=NOW, before=EARLIER)
MAKING = replace(of(tried={HOME: NOW, AWAY: BEFORE}), creating={VM: ASKED, OTHER: ASKED})


@pytest.mark.parametrize(
    ("result", "making", "tried"),
    [
        (Result.DONE, True, NOW),
        (Result.DEFERRED, False, EARLIER),
        (Result.CHANGED, False, EARLIER),
        (Result.LEFT, False, EARLIER),
        (Result.FAILED, False, EARLIER),
    ],
)
def test_a_create_that_was_not_taken_is_taken_back(result: Result, making: bool, tried: Any) -> None:
    memory = came(MAKING, create(), result, operation="op" if making else "")
    wanted = {OTHER: ASKED} | ({VM: replace(ASKED, operation="op")} if making else {})
    assert memory.creating == wanted
    assert memory.vms[VM].tried == {HOME: tried, AWAY: BEFORE}
    assert came(replace(MAKING, creating={}), create(), Result.DONE).creating == {}


HOUR = (BEFORE, EARLIER)
REMADE: dict[str, Any] = {"remade": 2, "remade_at": EARLIER, "remade_before": BEFORE}


@pytest.mark.parametrize(
    ("action", "result", "remade", "left"),
    [
        (recreate(), Result.CHANGED, 1, HOUR[:1]),
        (recreate(), Result.DEFERRED, 2, HOUR),
        (recreate(), Result.DONE, 2, HOUR),
        (recreate("PREEMPTED"), Result.CHANGED, 2, HOUR),
        (create(), Result.CHANGED, 2, HOUR),
    ],
)
def test_a_replacement_that_was_not_begun_is_given_back_to_its_pools_hour(
    action: Action, result: Result, remade: int, left: tuple[Any, ...]
) -> None:
    memory = came(replace(of(**REMADE), replacements={POOL: HOUR, "more": HOUR}), action, result)
    assert memory.vms[VM].remade == remade
    assert memory.vms[VM].remade_at == (BEFORE if remade == 1 else EARLIER)
    assert memory.replacements == {POOL: left, "more": HOUR}


def test_a_replacement_of_what_google_had_not_taken_is_counted_with_the_time_before() -> None:
    memory = intended(of(**REMADE), (recreate(),), NOW)
    known = memory.vms[VM]
    assert (known.remade, known.remade_at, known.remade_before) == (3, NOW, EARLIER)
    assert intended(of(**REMADE), (recreate("PREEMPTED"),), NOW).vms[VM].remade == 2


def test_orders_that_were_written_are_remembered_and_less_doubted() -> None:
    known = came(of(unsure=2), assign(), Result.DONE).vms[VM]
    assert (known.assigned, known.region, known.assigned_at, known.unsure) == (
        AssignedVersion("i", "b"),
        "us-west4",
        NOW,
        1,
    )
    assert came(of(unsure=0), assign(), Result.DONE).vms[VM].unsure == 0
    failed = came(of(unsure=2), assign(), Result.FAILED).vms[VM]
    assert (failed.assigned, failed.unsure) == (None, 2)


@pytest.mark.parametrize("on", [True, False])
def test_a_drain_is_remembered_of_the_vm_and_of_every_node_of_its_name_without_owner(*, on: bool) -> None:
    mine, others = OrphanKey(NodeKey(AWAY, VM), "c"), (OrphanKey(NodeKey(AWAY, OTHER), "c"), RunnerKey("orgs/a", 1))
    suspects = dict.fromkeys((mine, *others), Suspect(since=START, drained=EARLIER))
    memory = came(replace(of(unsure=2, drained=EARLIER), suspects=suspects), Drain(vm=VM, on=on, **WHY), Result.DONE)
    since = NOW if on else None
    assert (memory.vms[VM].drained, memory.vms[VM].unsure) == (since, 1)
    assert {key: each.drained for key, each in memory.suspects.items()} == {
        mine: since,
        **dict.fromkeys(others, EARLIER),
    }
    failed = came(replace(of(), suspects=suspects), Drain(vm=VM, on=on, **WHY), Result.FAILED)
    assert failed.suspects == suspects


def test_a_restart_is_remembered_by_its_number_and_of_the_nodes_of_that_name() -> None:
    memory = replace(of(), nodes={NodeKey(HOME, VM): LISTED, NodeKey(HOME, OTHER): LISTED})
    after = came(memory, Restart(vm=VM, number=4, **WHY), Result.DONE)
    assert after.vms[VM].restart == 4
    assert {key.name: each.restarted for key, each in after.nodes.items()} == {VM: NOW, OTHER: None}
    assert came(memory, Restart(vm=VM, number=4, **WHY), Result.FAILED).nodes == memory.nodes


def test_a_create_is_remembered_before_it_is_asked_for_with_the_one_before_it() -> None:
    memory = intended(
        of(attempts=1, tried={HOME: EARLIER, AWAY: BEFORE}, lacked={HOME: BEFORE, AWAY: BEFORE}), (create(),), NOW
    )
    known = memory.vms[VM]
    assert memory.creating == {VM: Creating(zone=HOME, capacity=CapacityKind.PREEMPTIBLE, at=NOW, before=EARLIER)}
    assert (known.attempts, known.tried, known.lacked) == (2, {HOME: NOW, AWAY: BEFORE}, {AWAY: BEFORE})


@pytest.mark.parametrize(
    ("result", "trouble", "attempts", "event"),
    [
        (Result.LEFT, None, 1, False),
        (Result.CHANGED, None, 2, True),
        (Result.FAILED, None, 2, True),
        (Result.DONE, None, 2, False),
        (Result.DEFERRED, None, 2, True),
    ],
)
def test_what_was_left_has_its_turn_first_and_what_did_not_come_about_is_told(
    result: Result, trouble: Trouble | None, attempts: int, event: bool
) -> None:
    memory = came(of(attempts=2), create(), result, trouble=trouble, text="so it was")
    assert memory.vms[VM].attempts == attempts
    told = [(each.subject, each.what, each.kind, each.result) for each in memory.events]
    assert told == ([(VM, "so it was", EventKind.CAME_TO, result)] if event else [])
