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
    ZoneListing,
)
from infra.fleet.controller.notice import BRIEF, HEARD, PROVED, STARTS, waits_for_an_image
from infra.fleet.controller.observed import KNOWN, Observed
from infra.fleet.reports import Phase, ReportSeen
from infra.fleet.versions import AssignedVersion
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import (
    AWAY,
    BOTH,
    DARK,
    HOME,
    LOST,
    PAIR,
    START,
    V5E,
    judge,
    minutes,
    node,
    nodes,
    runner,
    served,
    sight,
)

ZERO, ONE = PAIR.slots
VM, POOL = ZERO.name, ZERO.pool
HERE = NodeKey(HOME, VM)
NOW, SECOND = START + minutes(120), timedelta(seconds=1)


def after(memory: Memory, observed: Observed, now: datetime = NOW, desired: Desired = PAIR) -> Memory:
    return judge(observed, desired, memory, now).memory


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
    assert after(memory, sight(s0=state)).vms[VM].refused.keys() == left


@pytest.mark.parametrize(
    ("memory", "observed", "starts"),
    [
        (of(attempts=1, tried={HOME: NOW - minutes(7.5)}), sight(), (3, 8)),
        (of(attempts=0, tried={HOME: NOW - minutes(7.5)}), sight(), (3,)),
        (of(attempts=1), sight(), (3,)),
        (of(attempts=1, tried={AWAY: START}), sight(), (3,)),
        (of(attempts=1, tried={HOME: START}), sight(runners=LOST), (3,)),
        (of(attempts=1, tried={HOME: START}), sight(s0="CREATING"), (3,)),
        (EMPTY, sight(), (3,)),
    ],
)
def test_a_start_takes_from_the_create_to_a_runner_online(memory: Memory, observed: Observed, starts: Any) -> None:
    assert after(replace(memory, starts={POOL: (3,)}), observed).starts == {POOL: starts}
    many = replace(memory, starts={POOL: tuple(range(STARTS))})
    assert after(many, observed).starts[POOL] == (*range(STARTS), *starts[1:])[-STARTS:]
    assert after(memory, observed).starts.get(POOL, ()) == starts[1:]


@pytest.mark.parametrize(("zone", "before", "proved"), [(HOME, False, True), (AWAY, False, False), (AWAY, True, True)])
def test_a_vm_that_proved_a_report_of_its_own_zone_once_is_able_to(zone: str, *, before: bool, proved: bool) -> None:
    word = ReportSeen(vm=VM, pool=POOL, phase=Phase.IDLE, at=NOW, proved=zone)
    assert after(ready(of(), proved=before), sight(reports={VM: word})).nodes[HERE].proved is proved


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
    (declared,) = PAIR.scopes
    before = {
        "old": ScopeMemory(until=START),
        "left": ScopeMemory(until=START, declared=True),
        "live": ScopeMemory(until=START),
    }
    alive = replace(runner(VM, number=9), scope="live")
    found = after(replace(EMPTY, scopes={POOL: before, "gone": before}), sight(runners=(alive, *served(PAIR))))
    kept = {"old": ScopeMemory(until=START), "left": ScopeMemory(until=NOW), "live": ScopeMemory(until=NOW)}
    assert found.scopes == {POOL: {**kept, declared: ScopeMemory(until=NOW, declared=True)}, "gone": kept}


def test_what_could_not_be_asked_for_keeps_its_count() -> None:
    (scope,) = PAIR.scopes
    keys = (OrphanKey(NodeKey(AWAY, "x"), "c"), RunnerKey(scope, 9))
    memory = replace(EMPTY, suspects=dict.fromkeys(keys, Suspect(since=START, sweeps=3)))
    assert after(memory, sight()).suspects == {}
    assert after(memory, sight(zones={HOME: KNOWN, AWAY: DARK})).suspects.keys() == {keys[0]}
    assert after(memory, sight(runners=(), scopes={scope: DARK})).suspects.keys() == {keys[1]}
    again = after(memory, sight(runners=(*served(PAIR), replace(runner("x", number=9, online=False), scope=scope))))
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
    assert [kind for kind, *_ in events(later, sight(s0="REPAIRING"))] == [EventKind.STATE]
    runnerless = replace(PAIR, slots=(replace(ZERO, serves=()), ONE))
    assert [each for each in after(later, sight(), desired=runnerless).events if each.subject == VM] == []


@pytest.mark.parametrize(
    ("phase", "age", "image", "waits"),
    [
        (Phase.PULLING, HEARD - SECOND, "", True),
        (Phase.PULLING, HEARD, "", False),
        (Phase.PULLING, SECOND - HEARD, "", True),
        (Phase.IDLE, SECOND, "", False),
        (Phase.PULLING, SECOND, "i", False),
        (Phase.PULLING, SECOND, None, False),
    ],
)
def test_a_vm_waits_for_an_image_where_its_orders_and_its_own_fresh_word_say_so(
    phase: Phase, age: timedelta, image: str | None, waits: bool
) -> None:
    memory = of(assigned=None if image is None else AssignedVersion(image, "b"))
    word = ReportSeen(vm=VM, pool=POOL, phase=phase, at=NOW - age, proved=HOME)
    observed = sight(runners=LOST, reports={VM: word})
    assert waits_for_an_image(node(VM), memory, observed, NOW) is waits
    assert not waits_for_an_image(node(VM), EMPTY, observed, NOW)
    assert not waits_for_an_image(node(VM), memory, sight(), NOW)
    found = after(ready(memory, unserved=START, restarted=START), observed).nodes[HERE]
    assert (found.unserved, found.restarted) == ((None, None) if waits else (START, START))


@pytest.mark.parametrize(("deaf", "kept"), [(BRIEF - SECOND, True), (BRIEF, False)])
def test_an_outage_of_github_gives_a_vm_its_whole_allowance_and_a_lapse_does_not(deaf: timedelta, kept: bool) -> None:
    observed = sight(runners=(), scopes=dict.fromkeys(PAIR.scopes, DARK))
    memory = replace(ready(of(), unserved=START), unheard=dict.fromkeys(PAIR.scopes, NOW - deaf))
    assert after(memory, observed).nodes[HERE].unserved == (START if kept else None)
    assert after(replace(memory, unheard={}), observed).unheard == dict.fromkeys(PAIR.scopes, NOW)
    assert after(memory, sight()).unheard == {}


@pytest.mark.parametrize(
    ("age", "given", "remade"),
    [(PROVED, {}, 0), (PROVED - SECOND, {}, 3), (PROVED, {"runners": LOST}, 3)],
    ids=["an hour", "less", "does not serve"],
)
def test_a_replacement_is_forgotten_once_its_vm_served_for_an_hour_after_it(
    age: timedelta, given: Any, remade: int
) -> None:
    found = after(of(remade=3, remade_at=NOW - age, attempts=2), sight(**given)).vms[VM]
    assert (found.remade, found.remade_at is None) == (remade, not remade)
    assert found.attempts == (2 if given else 0)


def test_each_zone_remembers_when_it_was_listed_whole_and_how_often_it_was_silent_since() -> None:
    once = after(EMPTY, sight(epoch="e"))
    assert once.listed == dict.fromkeys((HOME, AWAY), ZoneListing(at=NOW, epoch="e"))
    silent = sight(zones={HOME: KNOWN, AWAY: DARK}, epoch="f")
    later, last = NOW + minutes(2), NOW + minutes(4)
    twice = after(after(once, silent, later), silent, last)
    assert twice.listed[AWAY] == ZoneListing(at=NOW, epoch="e", failed=2, silent=later)
    assert twice.listed[HOME] == ZoneListing(at=last, epoch="f")
    assert AWAY not in after(EMPTY, silent).listed, "of one that was never listed nothing is known"


def test_a_node_is_remembered_as_it_was_listed_first_and_since_it_is_as_it_is() -> None:
    before = ready(of(tried={HOME: START}), asked=START)
    steady = after(before, sight()).nodes[HERE]
    assert (steady.first_seen, steady.since, steady.seen, steady.asked) == (START, START, NOW, START)
    sick = after(ready(of(), health="TIMEOUT"), sight()).nodes[HERE]
    assert (sick.first_seen, sick.since) == (START, NOW)
    anew = after(ready(of(tried={HOME: NOW}), created="before"), sight()).nodes[HERE]
    assert (anew.first_seen, anew.since, anew.asked) == (NOW, NOW, NOW)
    assert after(EMPTY, sight()).nodes[HERE].asked is None


def test_a_zone_that_answers_lacks_the_vm_since_the_first_list_without_it() -> None:
    gone = sight(nodes=nodes(PAIR)[1:])
    assert after(of(tried={AWAY: NOW}), gone).vms[VM].lacked == {HOME: NOW, AWAY: NOW}
    assert after(of(lacked={HOME: START}), gone).vms[VM].lacked == {HOME: START}
    assert after(of(lacked={HOME: START}), sight()).vms[VM].lacked == {}
    silent = sight(nodes=nodes(PAIR)[1:], zones={HOME: DARK, AWAY: KNOWN})
    assert after(of(), silent).vms[VM].lacked == {}


def test_a_new_memory_takes_a_silent_zone_for_one_where_a_vm_may_be_and_an_older_one_does_not() -> None:
    silent = sight(zones={HOME: KNOWN, AWAY: DARK})
    assert after(EMPTY, silent).vms[VM].tried == {AWAY: NOW}
    assert after(replace(EMPTY, sweeps=1), silent).vms[VM].tried == {}
