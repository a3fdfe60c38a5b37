"""What a decision tells and remembers, on both sides of each bound: until then, and from then on."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from infra.fleet.controller.actions import PoolFigures, Report
from infra.fleet.controller.creates import (
    FIRST,
    FLOOR,
    LONGEST,
    backoff_left,
    exhausted,
    failed,
    is_there,
    wait,
    with_ended,
)
from infra.fleet.controller.decide import MAX_ENTRIES, MAX_EVENTS, decide
from infra.fleet.controller.events import LENGTH, EventKind, FleetEvent
from infra.fleet.controller.keys import (
    BackoffKey,
    FindingKey,
    NodeKey,
    OrphanKey,
    OwnRule,
    RunnerKey,
    SourceKind,
    SourceName,
)
from infra.fleet.controller.memory import EMPTY, LAG, SILENT, Backoff, Creating, Memory, NodeMemory, Suspect, VmMemory
from infra.fleet.controller.observed import CreateEnded, Trouble, unknown
from infra.fleet.controller.rules import fallbacks
from infra.fleet.controller.sorting import sort
from infra.fleet.operator_requests import OperatorRequests
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import (
    AWAY,
    HOME,
    START,
    V5E,
    fleet,
    minutes,
    node,
    nodes,
    place,
    runner,
    seen,
    served,
)

MADE = "2026-11-21T10:00:00Z"
SECOND = timedelta(seconds=1)
WEEK, DAY = timedelta(days=7), timedelta(days=1)
HERE = BackoffKey(HOME, V5E.name, CapacityKind.PREEMPTIBLE)
GONE = "gone-us-west4-a-0"
DARK = unknown("503")


def known(at: datetime = START, *, created: str = MADE, state: str = "READY") -> NodeMemory:
    """A node of the fleet as it was listed since then."""
    return NodeMemory(
        state=state,
        accelerator=V5E.name,
        capacity=CapacityKind.PREEMPTIBLE,
        ours=True,
        first_seen=at,
        since=at,
        seen=at,
        health="HEALTHY",
        created=created,
    )


def test_a_finding_is_told_once_and_stands_since_it_was_first_seen() -> None:
    desired = fleet(1)
    strange = seen(desired, nodes=(*nodes(desired), node("a", labels={})))
    memory, told = EMPTY, []
    for index, observed in enumerate((strange, strange, seen(desired), strange)):
        decision = decide(desired, observed, memory, START + minutes(index))
        memory = decision.memory
        found = [(each.subject, each.since) for each in decision.findings]
        told.append((found, [each.subject for each in decision.actions if isinstance(each, Report)]))
        assert memory.reported == {FindingKey(each.rule, each.subject): each.since for each in decision.findings}
    again = START + minutes(3)
    assert told == [([("a", START)], ["a"]), ([("a", START)], []), ([], []), ([("a", again)], ["a"])]


def test_a_fuse_that_holds_deletions_says_how_much_looks_lost() -> None:
    desired = fleet(6)
    decision = decide(desired, seen(desired, nodes=nodes(desired, s0="FAILED", s1="FAILED", s2="FAILED")), EMPTY, START)
    assert decision.fuse_blown
    (found,) = (each for each in decision.findings if each.rule == OwnRule.FUSE)
    assert (found.subject, found.since, found.costs) == ("ci", START, True)
    assert found.reason == "deletions are held: 3 of 6 declared VMs look lost, 0 of 6 would go as orphans"


def test_a_pool_is_told_in_numbers() -> None:
    desired = fleet(4)
    names = [each.name for each in desired.slots]
    running = (*served(desired, but=(names[0], names[1])), runner(names[1], number=9, busy=True))
    observed = seen(desired, nodes=nodes(desired, s0="CREATING", s3=""), runners=running)
    figures = decide(desired, observed, EMPTY, START).pools
    assert figures.keys() == {"tpu-ci"}
    told = figures["tpu-ci"]
    counted = replace(told, unhealthy={}, booting={})
    assert counted == PoolFigures(desired=4, ready=2, online=3, busy=1, away=0)
    assert (names[2] in told.unhealthy, list(told.booting)) == (False, [names[0]])


def vms(at: dict[str, timedelta]) -> Memory:
    """A memory of VMs that were last seen so long ago."""
    return Memory(vms={name: VmMemory(seen=START - ago) for name, ago in at.items()})


def after(memory: Memory) -> Memory:
    """The memory after a sweep over a fleet of one VM."""
    desired = fleet(1)
    return decide(desired, seen(desired), memory, START).memory


def test_a_vm_that_is_not_declared_is_remembered_for_less_than_a_week() -> None:
    declared = fleet(1).slots[0].name
    kept = after(vms({GONE: WEEK, "late-us-west4-a-0": WEEK - SECOND, declared: 2 * WEEK})).vms
    assert kept.keys() == {"late-us-west4-a-0", declared}


def test_a_wait_is_remembered_for_less_than_a_day_after_its_end() -> None:
    def waits(*ended: timedelta) -> Memory:
        entries = {
            BackoffKey(zone, V5E.name, CapacityKind.SPOT): Backoff(
                failures=1, trouble=Trouble.STOCKOUT, last=START - WEEK, until=START - ago
            )
            for zone, ago in zip((HOME, AWAY), ended, strict=True)
        }
        return Memory(backoff=entries)

    assert {key.zone for key in after(waits(DAY, DAY - SECOND)).backoff} == {AWAY}


def test_replacements_count_for_less_than_an_hour() -> None:
    hour = timedelta(hours=1)
    times = {"tpu-ci": (START - hour, START - hour + SECOND), "other": (START - hour,)}
    assert after(Memory(replacements=times)).replacements == {"tpu-ci": (START - hour + SECOND,)}


def test_pools_and_zones_that_left_are_remembered_for_less_than_a_week() -> None:
    times = {"old": START - WEEK, "late": START - WEEK + SECOND}
    kept = after(Memory(sweeps=1, pools=times, zones=times, forgot=START - WEEK))
    assert kept.forgot is None
    assert after(Memory(sweeps=1, forgot=times["late"])).forgot == times["late"]
    assert kept.pools.keys() - {"tpu-ci"} == {"late"}
    assert kept.zones.keys() - {HOME} == {"late"}


def test_of_more_vms_than_are_remembered_those_last_seen_stay() -> None:
    flood = {f"flood-{index}": timedelta(seconds=index) for index in range(MAX_ENTRIES)}
    assert len(after(vms({name: ago for name, ago in flood.items() if ago})).vms) == MAX_ENTRIES, (
        "with the declared one"
    )
    kept = after(vms(flood)).vms
    assert len(kept) == MAX_ENTRIES
    assert f"flood-{MAX_ENTRIES - 1}" not in kept
    assert f"flood-{MAX_ENTRIES - 2}" in kept


def test_of_more_suspects_than_are_remembered_the_youngest_stay() -> None:
    ages = {RunnerKey("orgs/a-lab", number): minutes(number) for number in range(MAX_ENTRIES + 1)}
    suspects: dict[OrphanKey | RunnerKey, Suspect] = {key: Suspect(since=START - ago) for key, ago in ages.items()}
    desired = fleet(1)
    deaf = seen(desired, runners=(), github=unknown("502"))
    kept = decide(desired, deaf, Memory(suspects=suspects), START).memory.suspects
    assert suspects.keys() - kept.keys() == {RunnerKey("orgs/a-lab", MAX_ENTRIES)}


def given_up(silent: timedelta, *, lost: str = AWAY) -> set[str]:
    """The zones of which anything is remembered, where a zone without slots has been silent for so long."""
    desired = fleet(1)
    keys = [NodeKey(zone, GONE) for zone in (HOME, AWAY)]
    memory = Memory(
        reported={FindingKey.unknown(SourceName(SourceKind.ZONE, AWAY)): START - silent},
        nodes={key: known() for key in keys},
        suspects={OrphanKey(key, MADE): Suspect(since=START) for key in keys},
        vms={GONE: VmMemory(seen=START, tried={HOME: START, AWAY: START})},
        zones={HOME: START, AWAY: START},
    )
    observed = seen(desired, zones={HOME: DARK, AWAY: DARK}, requests=OperatorRequests(lost={lost: "ada"}))
    kept = decide(desired, observed, memory, START).memory
    found = {key.zone for key in kept.nodes if key.name == GONE}
    assert {each.node.zone for each in kept.suspects if isinstance(each, OrphanKey)} == found
    assert kept.vms[GONE].tried.keys() == found
    return found


def test_what_was_in_a_zone_that_people_gave_up_is_forgotten_once_it_has_been_silent() -> None:
    assert given_up(SILENT) == {HOME}
    assert given_up(SILENT - SECOND) == {HOME, AWAY}
    assert given_up(SILENT, lost="us-east1-a") == {HOME, AWAY}, "its word is of another"


def test_of_more_events_than_are_remembered_the_last_stay() -> None:
    told = tuple(
        FleetEvent(at=START, subject=str(index), what="", kind=EventKind.NOT_MADE) for index in range(MAX_EVENTS + 1)
    )
    kept = after(Memory(events=told)).events
    assert len(kept) == MAX_EVENTS
    assert (kept[-1].subject, "0" in {each.subject for each in kept}) == (fleet(1).slots[0].name, False)


def test_a_clock_that_went_back_by_a_minute_changes_nothing_and_by_more_brings_all_to_now() -> None:
    def clocked(ahead: timedelta) -> NodeMemory:
        at = START + ahead
        name = fleet(1).slots[0].name
        return after(Memory(last=at, nodes={NodeKey(HOME, name): known(at)})).nodes[NodeKey(HOME, name)]

    times = (START + minutes(1), START + minutes(2))
    assert after(Memory(last=times[1], replacements={"tpu-ci": times})).replacements == {"tpu-ci": (START, START)}
    assert clocked(minutes(1)).since == START + minutes(1)
    assert clocked(minutes(1) + SECOND).since == START


@pytest.mark.parametrize("trouble", list(LONGEST))
def test_a_wait_grows_to_its_bound_is_never_shorter_than_a_sweep_and_differs_between_zones(trouble: Trouble) -> None:
    other = HERE._replace(zone=AWAY)
    for failures in range(1, 40):
        drawn, longest = wait(HERE, failures, trouble), LONGEST[trouble]
        if trouble in (Trouble.QUOTA, Trouble.REFUSED) or (trouble is Trouble.UNSERVED and failures >= 3):
            assert longest / 2 <= drawn < longest
        else:
            assert FLOOR <= drawn <= min(longest, FIRST * 2**failures)
        assert drawn == wait(HERE, failures, trouble) != wait(other, failures, trouble)
    assert max(wait(HERE, failures, trouble) for failures in range(9, 40)) > LONGEST[trouble] * 0.9


ASKED = Creating(zone=HOME, capacity=CapacityKind.PREEMPTIBLE, at=START - minutes(3))


def ended(zone: str = HOME, trouble: Trouble | None = Trouble.QUOTA) -> Memory:
    """The memory of a create that is under way at home, after one of that VM ended so."""
    desired = fleet(1)
    name = desired.slots[0].name
    over = CreateEnded(slot=name, zone=zone, trouble=trouble, text="quota " + LENGTH * "x")
    return with_ended(Memory(creating={name: ASKED}), desired, seen(desired, ended=(over,)), START)


def test_a_create_that_failed_is_an_event_and_a_wait_and_no_other_end_is() -> None:
    memory, name = ended(), fleet(1).slots[0].name
    text = "quota " + (LENGTH - 6) * "x"
    told = FleetEvent(at=START, subject=name, what=text, kind=EventKind.NOT_MADE, zone=HOME, trouble=Trouble.QUOTA)
    assert memory.events == (told,)
    assert (memory.creating, memory.backoff.keys()) == ({}, {HERE})
    for other in (ended(zone=AWAY), ended(trouble=None), ended(zone=AWAY, trouble=None)):
        assert (other.events, other.creating, other.backoff) == ((), {name: ASKED}, {})


def test_of_two_nodes_of_one_slot_the_living_the_ready_the_one_at_home_and_the_elder_stays() -> None:
    desired = fleet(1, fallbacks=(place(AWAY),))
    name = desired.slots[0].name

    def stays(home: str, away: str) -> str | None:
        found = sort(desired, seen(desired, nodes=(node(name, home), node(name, away, zone=AWAY))))
        chosen = found.slots[name]
        assert len(found.orphans) == 1
        return chosen.zone if chosen else None

    assert stays("READY", "READY") == stays("CREATING", "CREATING") == stays("READY", "CREATING") == HOME
    assert stays("CREATING", "READY") == stays("PREEMPTED", "CREATING") == AWAY


def entry(**given: Any) -> Backoff:
    at: dict[str, Any] = {"last": START, "until": START, "since": START - DAY}
    said: dict[str, Any] = {"failures": 3, "trouble": Trouble.STOCKOUT, **at, **given}
    return Backoff(**said)


def test_failures_in_a_row_stand_since_the_first_and_another_trouble_begins_anew() -> None:
    asked, now = START + minutes(1), START + minutes(5)
    more = failed(entry(), HERE, Trouble.STOCKOUT, "text", asked, now)
    assert (more.failures, more.since, more.last, more.text) == (4, START - DAY, now, "text")
    assert more.until == now + wait(HERE, 4, Trouble.STOCKOUT)
    assert failed(entry(), HERE, Trouble.OUTAGE, "", asked, now).failures == 4, "both are answered by a fallback"
    anew = failed(entry(), HERE, Trouble.REFUSED, "", asked, now)
    assert (anew.failures, anew.since) == (1, now)
    assert failed(None, HERE, Trouble.STOCKOUT, "", asked, now).failures == 1


@pytest.mark.parametrize("trouble", list(fallbacks()))
def test_a_fallback_is_taken_from_its_failure_and_its_minute_on(trouble: Trouble) -> None:
    row = fallbacks()[trouble]
    since = START - timedelta(minutes=row.minutes)
    assert exhausted(entry(trouble=trouble, failures=row.failures, since=since), START)
    assert not exhausted(entry(trouble=trouble, failures=row.failures - 1, since=since), START)
    assert not exhausted(entry(trouble=trouble, failures=row.failures, since=since + SECOND), START)
    assert exhausted(entry(trouble=trouble, failures=row.failures, since=None, last=since), START)
    assert not exhausted(None, START)


def test_a_fleet_larger_than_the_bound_is_remembered_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infra.fleet.controller.decide.MAX_ENTRIES", 3)
    desired = fleet(6)
    memory = decide(desired, seen(desired), vms({f"flood-{index}": SECOND for index in range(20)}), START).memory
    assert memory.vms.keys() >= {each.name for each in desired.slots}
    assert (len(memory.vms), len(memory.nodes)) == (18, 6)


@pytest.mark.parametrize(
    ("state", "made", "before", "zone", "there"),
    [
        ("CREATING", "2", None, HOME, True),
        ("READY", "1", "1", HOME, True),
        ("PREEMPTED", "1", None, HOME, False),
        ("DELETING", "1", None, HOME, False),
        ("DELETING", "1", "1", HOME, False),
        ("PREEMPTED", "1", "1", HOME, False),
        ("DELETING", "2", "1", HOME, True),
        ("PREEMPTED", "2", "1", HOME, True),
        ("READY", "2", "1", AWAY, False),
    ],
)
def test_a_create_is_over_once_its_zone_lists_what_it_made_and_not_what_was_before(
    state: str, made: str, before: str | None, zone: str, there: bool
) -> None:
    desired = fleet(1)
    name = desired.slots[0].name
    memory = Memory(nodes={NodeKey(HOME, name): known(created=before)} if before else {})
    observed = seen(desired, nodes=(node(name, state, zone=zone, created=made),))
    assert is_there(name, ASKED, memory, observed, START) is there
    assert is_there(name, ASKED, memory, observed, ASKED.at + LAG), "then it is too long ago"
    if state == "CREATING":
        under_way = replace(ASKED, operation="operation-1")
        assert not is_there(name, under_way, memory, observed, START), "its operation says what became of it"
        seen_made = Memory(nodes={NodeKey(HOME, name): known(created=made, state="CREATING")})
        taken = seen(desired, nodes=(node(name, "PREEMPTED", created=made),))
        assert is_there(name, under_way, seen_made, taken, START)


def test_a_stockout_that_comes_once_a_vm_was_listed_is_a_stockout() -> None:
    desired = fleet(1)
    name = desired.slots[0].name
    memory = replace(
        Memory(creating={name: replace(ASKED, operation="operation-1")}),
        nodes={NodeKey(HOME, name): known(state="CREATING")},
    )
    gone = seen(desired, nodes=(), runners=())
    assert with_ended(memory, desired, gone, START).backoff == {}, "nobody knows yet what became of it"
    told = replace(gone, ended=(CreateEnded(slot=name, zone=HOME, trouble=Trouble.STOCKOUT, text=""),))
    (entry,) = with_ended(memory, desired, told, START).backoff.values()
    assert (entry.trouble, entry.failures) == (Trouble.STOCKOUT, 1)
    fine = replace(gone, ended=(CreateEnded(slot=name, zone=HOME, trouble=None, text=""),))
    (entry,) = with_ended(memory, desired, fine, START).backoff.values()
    assert entry.trouble is Trouble.UNSERVED


def test_a_vm_that_becomes_ready_ends_the_wait_of_its_place_and_one_that_was_ready_does_not() -> None:
    desired = fleet(1)
    name = desired.slots[0].name
    here = node(name)

    def left(state: str, before: NodeMemory | None) -> set[str]:
        there = BackoffKey(AWAY, V5E.name, CapacityKind.PREEMPTIBLE)
        nodes_before = {here.key: before} if before else {}
        memory = Memory(backoff={HERE: entry(), there: entry()}, nodes=nodes_before)
        observed = seen(desired, nodes=(replace(here, state=state),))
        return {key.zone for key in backoff_left(memory, desired, observed, sort(desired, observed))}

    assert left("READY", None) == {AWAY}
    assert left("READY", known(state="CREATING")) == {AWAY}
    assert left("READY", known(created="before")) == {AWAY}
    assert left("READY", known()) == {HOME, AWAY}
    assert left("CREATING", None) == {HOME, AWAY}


def test_creates_that_were_asked_for_together_are_one_failure() -> None:
    before = entry()
    later = START + minutes(5)
    assert failed(before, HERE, Trouble.STOCKOUT, "again", START, later) == entry(text="again")
    assert failed(before, HERE, Trouble.STOCKOUT, "", START + SECOND, later).failures == 4
    assert failed(before, HERE, Trouble.QUOTA, "", START, later).failures == 1


@pytest.mark.parametrize(("attempts", "online", "left"), [(1, True, False), (1, False, True), (0, True, True)])
def test_a_wait_for_a_vm_that_never_served_ends_once_one_serves(attempts: int, online: bool, left: bool) -> None:
    desired = fleet(1)
    (name,) = (each.name for each in desired.slots)
    memory = Memory(
        backoff={HERE: entry(trouble=Trouble.UNSERVED)},
        vms={name: VmMemory(seen=START, attempts=attempts)},
        nodes={NodeKey(HOME, name): known()},
    )
    observed = seen(desired, runners=(runner(name, online=online),))
    assert bool(backoff_left(memory, desired, observed, sort(desired, observed))) is left
