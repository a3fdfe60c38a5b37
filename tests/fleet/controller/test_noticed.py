"""The clocks and counts of memory: what starts each, what stops it, and what is told of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from infra.fleet.controller.desired import Desired
from infra.fleet.controller.events import EventKind
from infra.fleet.controller.keys import NodeKey, OrphanKey, RunnerKey
from infra.fleet.controller.memory import (
    EMPTY,
    LAG,
    Memory,
    NodeMemory,
    ScopeMemory,
    Suspect,
    VmMemory,
)
from infra.fleet.controller.notice import STARTS, noticed
from infra.fleet.controller.observed import KNOWN, Observed, unknown
from infra.fleet.controller.sorting import sort
from infra.fleet.reports import Phase, ReportSeen
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import (
    AWAY,
    HOME,
    START,
    V5E,
    fleet,
    minutes,
    nodes,
    place,
    runner,
    seen,
    served,
)

FLEET = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
ZERO, ONE = FLEET.slots
VM, POOL = ZERO.name, ZERO.pool
HERE = NodeKey(HOME, VM)
NOW, SECOND = START + minutes(120), timedelta(seconds=1)
DARK = unknown("503")
BOTH = {HOME: KNOWN, AWAY: KNOWN}
LOST = served(FLEET, but=(VM,))


def sight(s0: str = "READY", **given: Any) -> Observed:
    return seen(FLEET, **{"nodes": nodes(FLEET, s0=s0), "zones": BOTH, **given})


def after(memory: Memory, observed: Observed, now: datetime = NOW, desired: Desired = FLEET) -> Memory:
    return noticed(memory, desired, observed, sort(desired, observed), now)


def of(**given: Any) -> Memory:
    """A memory of one VM, of a fleet that was watched before."""
    return replace(EMPTY, sweeps=1, vms={VM: VmMemory(seen=START, **given)})


def ready(memory: Memory, **given: Any) -> Memory:
    """With the node as it was listed."""
    usual: dict[str, Any] = {
        "state": "READY", "health": "HEALTHY", "created": "2026-11-21T10:00:00Z", "accelerator": V5E.name,
        "capacity": CapacityKind.PREEMPTIBLE, "ours": True, "first_seen": START, "since": START,
        "seen": NOW - minutes(2),
    }  # fmt: skip
    return replace(memory, nodes={HERE: NodeMemory(**usual | given)})


def test_a_sweep_counts_itself_and_says_when_it_was() -> None:
    found = after(replace(EMPTY, sweeps=4), sight())
    assert (found.sweeps, found.last) == (5, NOW)
    assert {vm: known.seen for vm, known in found.vms.items()} == {VM: NOW, ONE.name: NOW}
    assert (found.zones, found.pools) == ({HOME: NOW, AWAY: NOW}, {POOL: NOW})


@pytest.mark.parametrize(("state", "left"), [("READY", {AWAY}), ("CREATING", {AWAY}), ("PREEMPTED", {HOME, AWAY})])
def test_a_stockout_is_forgotten_where_its_vm_stands(state: str, left: set[str]) -> None:
    memory = of(refused={HOME: START, AWAY: START})
    assert after(memory, sight(state)).vms[VM].refused.keys() == left


@pytest.mark.parametrize(
    ("memory", "observed", "starts"),
    [
        (of(attempts=1, tried={HOME: NOW - minutes(7.5)}), sight(), (3, 8)),
        (of(attempts=0, tried={HOME: NOW - minutes(7.5)}), sight(), (3,)),
        (of(attempts=1), sight(), (3,)),
        (of(attempts=1, tried={AWAY: START}), sight(), (3,)),
        (of(attempts=1, tried={HOME: START}), sight(runners=LOST), (3,)),
        (of(attempts=1, tried={HOME: START}), sight("CREATING"), (3,)),
        (EMPTY, sight(), (3,)),
    ],
)
def test_a_start_takes_from_the_create_to_a_runner_online(memory: Memory, observed: Observed, starts: Any) -> None:
    assert after(replace(memory, starts={POOL: (3,)}), observed).starts == {POOL: starts}


@pytest.mark.parametrize(("zone", "before", "proved"), [(HOME, False, True), (AWAY, False, False), (AWAY, True, True)])
def test_a_vm_that_proved_a_report_of_its_own_zone_once_is_able_to(zone: str, *, before: bool, proved: bool) -> None:
    word = ReportSeen(vm=VM, pool=POOL, phase=Phase.IDLE, at=NOW, proved=zone)
    assert after(ready(of(), proved=before), sight(reports={VM: word})).nodes[HERE].proved is proved


def test_the_first_start_of_a_pool_is_remembered() -> None:
    assert after(of(attempts=1, tried={HOME: NOW - minutes(2)}), sight()).starts == {POOL: (2,)}


def test_only_the_last_starts_are_remembered() -> None:
    memory = replace(of(attempts=1, tried={HOME: NOW - minutes(1)}), starts={POOL: tuple(range(STARTS))})
    assert after(memory, sight()).starts[POOL] == (*range(1, STARTS), 1)


@pytest.mark.parametrize(
    ("age", "missing", "zones", "possible"),
    [
        (LAG, None, BOTH, False),
        (LAG - SECOND, None, BOTH, True),
        (LAG, 0, BOTH, True),
        (LAG, 1, BOTH, False),
        (LAG, None, {HOME: KNOWN, AWAY: DARK}, True),
    ],
    ids=["lacked", "lists lag", "missed once", "missed twice", "silent"],
)
def test_a_zone_that_was_asked_may_have_the_vm_until_its_lists_lack_it_twice(
    age: timedelta, missing: int | None, zones: Any, possible: bool
) -> None:
    memory = of(tried={AWAY: NOW - age})
    if missing is not None:
        memory = ready(memory, missing=missing)
        memory = replace(memory, nodes={NodeKey(AWAY, VM): memory.nodes[HERE]})
    assert after(memory, sight(zones=zones)).vms[VM].tried == ({AWAY: NOW - age} if possible else {})


def test_a_scope_is_remembered_until_its_last_runner_was_seen() -> None:
    (declared,) = FLEET.scopes
    before = {
        "old": ScopeMemory(until=START),
        "left": ScopeMemory(until=START, declared=True),
        "live": ScopeMemory(until=START),
    }
    alive = replace(runner(VM, number=9), scope="live")
    found = after(replace(EMPTY, scopes={POOL: before, "gone": before}), sight(runners=(alive, *served(FLEET))))
    kept = {"old": ScopeMemory(until=START), "left": ScopeMemory(until=NOW), "live": ScopeMemory(until=NOW)}
    assert found.scopes == {POOL: {**kept, declared: ScopeMemory(until=NOW, declared=True)}, "gone": kept}


def test_what_could_not_be_asked_for_keeps_its_count() -> None:
    (scope,) = FLEET.scopes
    keys = (OrphanKey(NodeKey(AWAY, "x"), "c"), RunnerKey(scope, 9))
    memory = replace(EMPTY, suspects=dict.fromkeys(keys, Suspect(since=START, sweeps=3)))
    assert after(memory, sight()).suspects == {}
    assert after(memory, sight(zones={HOME: KNOWN, AWAY: DARK})).suspects.keys() == {keys[0]}
    assert after(memory, sight(runners=(), scopes={scope: DARK})).suspects.keys() == {keys[1]}
    again = after(memory, sight(runners=(*served(FLEET), replace(runner("x", number=9, online=False), scope=scope))))
    assert again.suspects == {keys[1]: Suspect(since=START, sweeps=4)}


def events(memory: Memory, observed: Observed) -> list[tuple[Any, ...]]:
    """What is told of the first VM."""
    told = (each for each in after(memory, observed).events if each.subject == VM)
    return [(each.kind, each.at, each.before, each.state, each.what) for each in told]


def test_a_vm_that_is_listed_anew_or_changes_its_state_is_told() -> None:
    assert events(EMPTY, sight()) == [(EventKind.LISTED, NOW, "", "READY", "")]
    assert {each.zone for each in after(EMPTY, sight()).events} == {HOME}
    assert events(ready(of(), created="before"), sight()) == [(EventKind.LISTED, NOW, "", "READY", "")]
    assert events(ready(of(), state="CREATING"), sight()) == [(EventKind.STATE, NOW, "CREATING", "READY", "")]
    assert events(ready(of()), sight()) == []


def test_a_silence_is_told_by_its_second_sweep_and_its_end_once() -> None:
    silent = NOW - minutes(2)
    second = ready(of(), unserved=silent, seen=silent)
    later = ready(of(), unserved=silent, seen=silent + SECOND)
    assert events(second, sight(runners=LOST)) == [(EventKind.SILENT, silent, "", "", "")]
    assert events(second, sight()) == [], "between two jobs"
    assert events(later, sight(runners=LOST)) == []
    assert events(later, sight()) == [(EventKind.HEARD, NOW, "", "", "")]
    assert events(ready(of(), unserved=START, since=START), sight()) == [], "it never served"
    assert [kind for kind, *_ in events(later, sight("REPAIRING"))] == [EventKind.STATE]
    runnerless = replace(FLEET, slots=(replace(ZERO, serves=()), ONE))
    assert [each for each in after(later, sight(), desired=runnerless).events if each.subject == VM] == []
