"""What keeps the controller from acting: fuse, hourly cap, freeze windows, chips, back-off, the last serving runner."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.fleet.controller import backoff, troubles
from infra.fleet.controller.actions import Create, Delete, Drain, Recreate, subject
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Desired, Settings
from infra.fleet.controller.memory import EMPTY, LAG, Backoff, Creating, Memory, VmMemory
from infra.fleet.controller.observed import (
    KNOWN,
    CreateEnded,
    DrainWish,
    Phase,
    ReportSeen,
    Trouble,
    Wishes,
    unknown,
)
from infra.fleet.controller.outcomes import Outcome, Result, learned
from infra.fleet.controller.rules import fallbacks
from infra.model import healing
from infra.model.catalogue import CapacityKind
from infra.model.schema import Freeze
from tests.fleet.controller.given_fleet import (
    AWAY,
    HOME,
    START,
    SWEEP,
    doing,
    first,
    fleet,
    labels,
    minutes,
    node,
    nodes,
    place,
    quota,
    remembered,
    runner,
    seen,
    served,
    slot,
    sweeps,
)


def of_kind(kind: CapacityKind, count: int, **given: Any) -> Desired:
    """A pool in one zone of that kind of capacity."""
    return fleet(slots=tuple(slot(index, home=place(HOME, kind)) for index in range(count)), **given)


LOST = {"s0": "FAILED", "s1": "FAILED", "s2": "FAILED"}
"""Three VMs that may have been anything; nobody says that Google took them."""


def test_half_a_fleet_that_looks_lost_blows_the_fuse_and_is_dealt_with_one_by_one_once_it_stays_so() -> None:
    desired = fleet(6)
    decisions = sweeps(desired, seen(desired, nodes=nodes(desired, **LOST)), 9)
    assert [doing(each) for each in decisions[:7]] == [[]] * 7
    assert all(each.fuse_blown for each in decisions)
    assert {subject(held.action) for held in decisions[0].held} == {s.name for s in desired.slots[:3]}
    assert [doing(each) for each in decisions[8:]] == [[("Recreate", desired.slots[0].name)]]


@pytest.mark.parametrize("state", ["PREEMPTED", "TERMINATED"])
def test_what_google_took_back_blows_no_fuse_and_uses_up_no_replacement(state: str) -> None:
    desired = of_kind(CapacityKind.SPOT, 12, settings=Settings(replacements=1))
    dead = seen(desired, nodes=nodes(desired, **{f"s{index}": state for index in range(12)}), runners=())
    decision = first(desired, dead)
    assert sorted(doing(decision)) == sorted(("Recreate", each.name) for each in desired.slots)
    assert not decision.fuse_blown
    assert decision.held == ()
    assert decision.memory.replacements == {}


@pytest.mark.parametrize("doubt", [{"github": unknown("502")}, {"zones": {HOME: KNOWN, "us-west9-z": unknown("404")}}])
def test_doubt_about_one_source_holds_nothing_that_does_not_depend_on_it(doubt: dict[str, object]) -> None:
    """A zone that cannot be listed may have left the manifest, or never have existed."""
    desired = of_kind(CapacityKind.SPOT, 6)
    dead = nodes(desired, **{f"s{index}": "PREEMPTED" for index in range(4)})
    assert len(doing(first(desired, seen(desired, nodes=dead, runners=(), **doubt)))) == 4
    lost = seen(desired, nodes=nodes(desired, **LOST), **doubt)
    assert len(doing(sweeps(desired, lost, 9)[-1])) == 1, "a blown fuse lets one go, since nothing runs on what failed"


def test_a_fleet_whose_vms_live_a_day_is_not_made_again_in_one_minute() -> None:
    desired = fleet(40)
    dead = nodes(desired, **{f"s{index}": "PREEMPTED" for index in range(40)})
    made = doing(first(desired, seen(desired, nodes=dead, runners=())))
    assert len(made) == 4, "a tenth, so that ten sweeps bring all of it back, and tomorrow ten minutes take it"


@pytest.mark.parametrize(("size", "most"), [(6, 6), (40, 10), (1000, 250)])
def test_the_cap_of_replacements_grows_with_the_pool(size: int, most: int) -> None:
    assert healing.replaced_an_hour(size, 6) == most


def test_a_third_of_the_fleet_is_replaced_at_once() -> None:
    desired = fleet(9)
    assert len(doing(first(desired, seen(desired, nodes=nodes(desired, **LOST))))) == 2, "a tenth of it, two at least"
    spot = of_kind(CapacityKind.SPOT, 9)
    assert len(doing(first(spot, seen(spot, nodes=nodes(spot, **LOST))))) == 3


def test_one_vm_of_two_never_blows_the_fuse() -> None:
    desired = fleet(2)
    assert doing(first(desired, seen(desired, nodes=nodes(desired, s0="FAILED")))) == [
        ("Recreate", desired.slots[0].name)
    ]


def test_a_manifest_that_lost_its_slots_blows_the_fuse_instead_of_deleting_the_fleet() -> None:
    desired = fleet(6)
    empty = replace(desired, slots=desired.slots[:2])
    memory = first(desired, seen(desired)).memory
    decisions = sweeps(empty, seen(desired, runners=()), 7, memory=memory)
    assert all(action != "Delete" for each in decisions for action, _ in doing(each))
    assert decisions[-1].fuse_blown


@pytest.mark.parametrize("left", [0, 2])
def test_a_manifest_that_lost_its_slots_does_not_drain_the_fleet_that_serves(left: int) -> None:
    desired = fleet(6)
    emptied = replace(desired, slots=desired.slots[:left])
    memory = first(desired, seen(desired)).memory
    decisions = sweeps(emptied, seen(desired), 12, memory=memory, start=START + minutes(2))
    assert all(doing(each) == [] for each in decisions)
    assert decisions[-1].fuse_blown
    (later,) = sweeps(emptied, seen(desired), 1, memory=decisions[-1].memory, start=START + minutes(40))
    assert [what for what, _ in doing(later)] == ["Drain"], "one VM a pool and sweep"


def test_a_blown_fuse_holds_the_end_of_a_runs_vm_too() -> None:
    desired = fleet(6)
    expired = {"tidepool-run": "77-1", "tidepool-expires": "1"}
    lost = nodes(desired, **LOST)
    decision = first(desired, seen(desired, nodes=(*lost, node("run-1", labels=expired))))
    assert doing(decision) == []
    assert "run-1" in {subject(held.action) for held in decision.held}


def test_a_vm_that_may_live_is_not_replaced_while_github_cannot_be_asked_whether_it_has_a_job() -> None:
    desired = fleet(6)
    lost = nodes(desired, s0="UNKNOWN", s1="UNKNOWN", s2="UNKNOWN")
    decisions = sweeps(desired, seen(desired, nodes=lost, github=unknown("502")), 20)
    assert all(doing(each) == [] for each in decisions)
    assert "GitHub cannot be asked" in decisions[-1].waiting[0].reason


def test_a_pool_has_so_many_replacements_an_hour_and_no_more() -> None:
    desired = of_kind(CapacityKind.SPOT, 9, settings=Settings(replacements=1))
    lost = nodes(desired, **{**LOST, "s3": ""})
    observed = seen(desired, nodes=lost)
    decision = first(desired, observed)
    assert [what for what, _ in doing(decision)].count("Recreate") == 3, "a quarter of nine"
    fourth = seen(desired, nodes=nodes(desired, s3="FAILED"))
    memory = remembered(decision, desired, START)
    held = decide(desired, fourth, memory, START + minutes(59))
    assert "replacements within the hour" in held.held[0].why
    assert doing(held) == []
    assert doing(decide(desired, fourth, memory, START + minutes(61))) == [("Recreate", desired.slots[3].name)]


def test_a_vm_that_cannot_be_replaced_does_not_use_up_the_turns_of_others() -> None:
    desired = of_kind(CapacityKind.SPOT, 12, settings=Settings(replacements=1))
    *stuck, other = (each.name for each in desired.slots[:4])
    lost = seen(desired, nodes=nodes(desired, **LOST, s3="FAILED"))
    decision = first(desired, lost)
    assert doing(decision) == [("Recreate", each) for each in stuck], "a quarter of twelve within an hour"
    refused_delete = [Outcome(action=each, result=Result.FAILED, text="403") for each in decision.actions]
    memory = learned(decision.memory, desired, refused_delete, START)
    again = decide(desired, lost, memory, START + minutes(2))
    assert doing(again)[0] == ("Recreate", other)


def test_a_vm_that_never_serves_is_replaced_after_waits_that_double_and_told_after_the_third() -> None:
    desired = of_kind(CapacityKind.SPOT, 12)
    broken = desired.slots[0].name
    memory, remade, told = EMPTY, [], None
    for index in range(200):
        now = START + index * SWEEP
        unfit = ReportSeen(vm=broken, pool="tpu-ci", phase=Phase.UNFIT, at=now, proved=HOME)
        observed = seen(desired, runners=served(desired, but=(broken,)), reports={broken: unfit})
        decision = decide(desired, observed, memory, now)
        memory = remembered(decision, desired, now)
        if doing(decision) == [("Recreate", broken)]:
            remade.append(now)
        if told is None and any(finding.rule == "slot-remade" for finding in decision.findings):
            told = len(remade)
    waits = [(after - before) // minutes(1) for before, after in pairwise(remade)]
    assert waits == [20, 40, 80, 160]
    assert told == 3


def test_an_attempt_of_which_nothing_was_done_begins_no_wait_anew() -> None:
    desired = of_kind(CapacityKind.SPOT, 12)
    name = desired.slots[0].name
    lost = seen(desired, nodes=nodes(desired, s0="FAILED"))
    memory = remembered(first(desired, lost), desired, START)
    later = START + minutes(20)
    again = decide(desired, lost, memory, later)
    assert doing(again) == [("Recreate", name)]
    left = [Outcome(action=each, result=Result.LEFT) for each in again.actions]
    memory = learned(again.memory, desired, left, later)
    assert (memory.vms[name].remade, memory.vms[name].remade_at) == (1, START)
    assert doing(decide(desired, lost, memory, later + SWEEP)) == [("Recreate", name)]


def test_a_way_home_that_failed_takes_no_replacement_back_that_it_had_not_counted() -> None:
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name = desired.slots[0].name
    away = node(name, zone=AWAY, capacity=CapacityKind.SPOT)
    home = Recreate(slot=name, node=away, place=None, rule="slot-serving-away", reason="")
    memory = Memory(vms={name: VmMemory(seen=START, remade=2, remade_at=START)})
    failed = Outcome(action=home, result=Result.FAILED, text="403")
    known = learned(memory, desired, [failed], START + minutes(9)).vms[name]
    assert (known.remade, known.remade_at) == (2, START)


@pytest.mark.parametrize("before", [None, START - minutes(5)])
def test_a_create_that_was_left_makes_its_zone_no_place_where_the_vm_may_be(before: datetime | None) -> None:
    desired = fleet(1, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name = desired.slots[0].name
    tried = {HOME: before} if before else {}
    memory = Memory(sweeps=1, vms={name: VmMemory(seen=START, tried=tried)})
    decision = first(desired, seen(desired, nodes=(), runners=(), zones={HOME: KNOWN, AWAY: KNOWN}), memory)
    assert doing(decision) == [("Create", name)]
    left = [Outcome(action=each, result=Result.LEFT) for each in decision.actions]
    assert decision.memory.vms[name].tried == {HOME: START}
    after = learned(decision.memory, desired, left, START)
    assert after.vms[name].tried.get(HOME) == before
    assert after.creating == {}


def test_deletes_that_fail_each_time_do_not_take_the_turns_of_others_for_ever() -> None:
    """More of them than one sweep deletes come before three good ones."""
    desired = of_kind(CapacityKind.SPOT, 1)
    stuck = [f"tpu-ci-{HOME}-{index}" for index in range(100, 130)]
    good = {f"tpu-ci-{HOME}-{index}" for index in range(900, 903)}
    memory, left = EMPTY, set(good)
    for index in range(30):
        now = START + index * SWEEP
        orphans = tuple(node(name, "PREEMPTED") for name in (*stuck, *sorted(left)))
        decision = decide(desired, seen(desired, nodes=(*nodes(desired), *orphans)), memory, now)
        deleted = [action for action in decision.actions if isinstance(action, Delete)]
        assert len(deleted) <= 25
        outcomes = [
            Outcome(action=each, result=Result.DONE if each.node.name in good else Result.FAILED) for each in deleted
        ]
        left -= {each.node.name for each in deleted}
        memory = learned(decision.memory, desired, outcomes, now)
    assert not left


def test_a_vm_that_served_for_an_hour_after_it_was_replaced_is_replaced_at_once() -> None:
    desired = of_kind(CapacityKind.SPOT, 12)
    lost = seen(desired, nodes=nodes(desired, s0="FAILED"))
    memory = remembered(first(desired, lost), desired, START)
    well = [decide(desired, seen(desired), memory, START + minutes(2))]
    well.append(decide(desired, seen(desired), well[0].memory, START + minutes(63)))
    assert doing(decide(desired, lost, well[1].memory, START + minutes(65))) == [("Recreate", desired.slots[0].name)]


def freeze(**given: object) -> Freeze:
    return Freeze.model_validate(
        {"name": "break", "time_zone": "UTC", "from": "2026-11-20", "to": "2026-11-22", **given}
    )


def test_in_a_freeze_window_the_declared_fleet_is_kept_and_nothing_else_is_changed() -> None:
    desired = fleet(6, freezes=(freeze(),))
    observed = seen(desired, nodes=(*nodes(desired, s0="PREEMPTED"), node(f"tpu-ci-{HOME}-9")))
    decisions = sweeps(desired, observed, 7)
    assert doing(decisions[0]) == [("Recreate", desired.slots[0].name)]
    assert decisions[-1].frozen == "break"
    assert [held.why for held in decisions[-1].held if held.action.rule == "orphan-idle"] == ["freeze window break"]


def test_an_overridden_freeze_window_holds_nothing() -> None:
    override = {"until": "2026-11-22", "reason": "A deadline needs its VMs today."}
    desired = fleet(6, freezes=(freeze(override=override),))
    observed = seen(desired, nodes=(*nodes(desired), node(f"tpu-ci-{HOME}-9")))
    assert ("Delete", f"tpu-ci-{HOME}-9") in [each for made in sweeps(desired, observed, 7) for each in doing(made)]


@pytest.mark.parametrize(
    ("cap", "made"),
    [(quota(24), 2), (quota(20), 1), (quota(24, held_elsewhere=4), 1), (quota(24, siblings=8), 0), (quota(16), 0)],
)
def test_what_is_made_fits_below_the_quota(cap: object, made: int) -> None:
    desired = fleet(6, caps=(cap,))
    observed = seen(desired, nodes=nodes(desired, s0="", s1=""))
    decision = first(desired, observed)
    assert sum(isinstance(action, Create) for action in decision.actions) == made


def test_strangers_count_against_a_quota_and_not_twice_with_what_is_held_elsewhere() -> None:
    stranger = node("somebodys", labels={})
    desired = fleet(6, caps=(quota(28, held_elsewhere=4),))
    observed = seen(desired, nodes=(*nodes(desired, s0=""), stranger))
    assert ("Create", desired.slots[0].name) in doing(first(desired, observed))
    intruder = node("intruder", labels={})
    crowded = seen(desired, nodes=(*nodes(desired, s0=""), stranger, intruder))
    assert ("Create", desired.slots[0].name) not in doing(first(desired, crowded))


def test_another_stack_counts_as_declared_or_as_seen_whichever_is_more() -> None:
    sibling = node("tpu-of-nightly", labels=labels(stack="nightly"))
    desired = fleet(6, caps=(quota(28, siblings=4),))
    observed = seen(desired, nodes=(*nodes(desired, s0=""), sibling))
    assert ("Create", desired.slots[0].name) in doing(first(desired, observed))


def refused(memory: Memory, desired: object, trouble: Trouble, now: datetime, name: str) -> Memory:
    action = Create(slot=name, place=place(), rule="slot-absent", reason="")
    failed = Outcome(action=action, result=Result.FAILED, trouble=trouble, text="no more capacity")
    return learned(memory, desired, [failed], now)  # ty: ignore[invalid-argument-type]


def test_a_stockout_is_waited_out_and_after_three_the_fallback_is_taken() -> None:
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name = desired.slots[0].name
    observed = seen(desired, nodes=nodes(desired, s0=""), runners=served(desired, but=(name,)))
    memory, now, tried = EMPTY, START, []
    for _ in range(60):
        decision = decide(desired, observed, memory, now)
        memory = decision.memory
        for action in decision.actions:
            if isinstance(action, Create):
                tried.append(action.place.zone)
                memory = refused(memory, desired, Trouble.STOCKOUT, now, name)
        if AWAY in tried:
            break
        now += minutes(2)
    assert tried == [HOME, HOME, HOME, AWAY]


def tried_where(trouble: Trouble, hours: float) -> list[str]:
    """Zones in which one absent VM is tried while every create at home fails so, or alternates with stockouts."""
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name = desired.slots[0].name
    observed = seen(desired, nodes=nodes(desired, s0=""), runners=served(desired, but=(name,)))
    memory, now, tried = EMPTY, START, []
    while now < START + timedelta(hours=hours) and AWAY not in tried:
        decision = decide(desired, observed, memory, now)
        memory = decision.memory
        for action in decision.actions:
            if isinstance(action, Create):
                tried.append(action.place.zone)
                answer = Trouble.STOCKOUT if trouble is Trouble.OUTAGE and len(tried) % 3 == 2 else trouble
                memory = refused(memory, desired, answer, now, name)
        now += SWEEP
    return tried


def test_a_place_whose_creates_end_in_errors_of_the_service_leads_to_the_fallback_too() -> None:
    tried = tried_where(Trouble.OUTAGE, 6)
    assert tried[-1] == AWAY
    assert tried.count(HOME) >= 3


@pytest.mark.parametrize("trouble", [Trouble.QUOTA, Trouble.REFUSED])
def test_what_people_have_to_mend_leads_to_no_fallback(trouble: Trouble) -> None:
    assert AWAY not in tried_where(trouble, 12)


def test_a_vm_that_may_still_be_made_at_home_goes_to_no_fallback() -> None:
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    slot_of_it, key = desired.slots[0], backoff.backoff_key(HOME, "v5litepod-4", CapacityKind.PREEMPTIBLE)
    down = Backoff(failures=9, trouble=Trouble.OUTAGE, since=START - minutes(90), last=START, until=START + minutes(9))
    absent = seen(desired, nodes=(), runners=())

    def goes(asked: datetime) -> list[str]:
        known = VmMemory(seen=START, tried={HOME: asked})
        memory = EMPTY.model_copy(update={"vms": {slot_of_it.name: known}, "backoff": {key: down}})
        made = [each for each in first(desired, absent, memory).actions if isinstance(each, Create)]
        return [each.place.zone for each in made if each.slot == slot_of_it.name]

    assert goes(START - minutes(5)) == [], "a create without an answer may still come to a VM"
    assert goes(START - minutes(10)) == [AWAY]


def test_a_zone_that_people_gave_up_leads_to_fallbacks_and_is_used_again_once_they_take_it_back() -> None:
    desired = fleet(3, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    memory = first(desired, seen(desired)).memory
    down = seen(desired, nodes=(), runners=(), zones={HOME: unknown("503"), AWAY: KNOWN})
    lost = replace(down, wishes=Wishes(lost={HOME: "ada"}))
    assert doing(decide(desired, down, memory, START + timedelta(days=2))) == [], "its VMs may run on"
    begun = decide(desired, lost, memory, START + minutes(2))
    assert doing(begun) == [], "one list that fails is no lost zone"
    away = decide(desired, lost, begun.memory, START + minutes(12))
    made = [each for each in away.actions if isinstance(each, Create)]
    assert {each.place.zone for each in made} == {AWAY}
    assert [each.slot for each in made] == [each.name for each in desired.slots]
    answers = seen(desired, nodes=nodes(desired, s0=""), wishes=Wishes(lost={HOME: "ada"}))
    there = sweeps(desired, answers, 3, memory=memory, start=START + minutes(2))[-1]
    assert {subject(each) for each in there.actions if isinstance(each, Create)} <= {desired.slots[0].name}
    back = replace(answers, wishes=Wishes())
    again = sweeps(desired, back, 3, memory=memory, start=START + minutes(2))
    assert {each.place.zone for one in again for each in one.actions if isinstance(each, Create)} == {HOME}


def test_nothing_is_made_while_nobody_can_say_which_zones_people_gave_up() -> None:
    desired = fleet(3)
    observed = seen(desired, nodes=nodes(desired, s0="", s1="PREEMPTED"))
    assert len(doing(first(desired, observed))) == 2
    blind = first(desired, replace(observed, wishes_source=unknown("503")))
    assert doing(blind) == []
    told = {each.subject for each in blind.waiting if "what people wish cannot be read" in each.reason}
    assert told == {each.name for each in desired.slots[:2]}


def test_a_zone_that_was_given_up_and_answers_but_now_and_then_keeps_its_busy_vms_alone() -> None:
    desired = fleet(3, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    works = seen(desired, runners=tuple(replace(each, busy=True) for each in served(desired)))
    works = replace(works, wishes=Wishes(lost={HOME: "ada"}))
    dark = replace(works, nodes=(), zones={HOME: unknown("timeout"), AWAY: KNOWN})
    memory = first(desired, works).memory
    for index in range(1, 60):
        now = START + index * minutes(2)
        decision = decide(desired, works if index % 4 == 0 else dark, memory, now)
        assert doing(decision) == []
        memory = remembered(decision, desired, now)


def test_a_zone_that_left_the_manifest_and_was_given_up_is_watched_no_more_after_a_week() -> None:
    """Its VMs are on no list, so that no list ever says that they are gone."""
    old = slot(0, pool="old", home=place(AWAY))
    new = fleet(1)
    before = replace(new, slots=(*new.slots, old))
    memory, now = first(before, seen(before)).memory, START
    dark = seen(new, zones={HOME: KNOWN, AWAY: unknown("no answer")})
    for hour in range(24):
        now = START + timedelta(hours=hour)
        memory = decide(new, dark, memory, now).memory
    assert f"{AWAY}/{old.name}" in memory.nodes
    for hour in range(24 * 8):
        now = START + timedelta(hours=24 + hour)
        memory = decide(new, replace(dark, wishes=Wishes(lost={AWAY: "ada"})), memory, now).memory
        assert (AWAY in memory.zones) == (hour < 24 * 7 - 1)
    assert memory.nodes.keys() == {f"{HOME}/{new.slots[0].name}"}


def test_a_vm_whose_own_word_cannot_be_read_is_neither_restarted_nor_made_again_nor_deleted() -> None:
    desired = of_kind(CapacityKind.SPOT, 9)
    mute, heard = (each.name for each in desired.slots[:2])
    orphan = node(f"tpu-ci-{HOME}-30")
    said = {heard: ReportSeen(vm=heard, pool="tpu-ci", phase=Phase.UNFIT, at=START, proved=HOME)}
    down = seen(
        desired,
        nodes=(*nodes(desired), orphan),
        runners=served(desired, but=(mute, heard)),
        reports=said,
        reports_source=unknown("reading Google's keys failed"),
    )
    decisions = sweeps(desired, down, 60)
    done = [each for decision in decisions for each in doing(decision)]
    assert set(done) == {("Recreate", heard)}, "what could be read counts"
    waits = {each.subject for each in decisions[-1].waiting if "cannot be read" in each.reason}
    assert waits == {mute, orphan.name}
    known = decide(desired, replace(down, reports_source=KNOWN), decisions[-1].memory, START + 60 * SWEEP)
    assert {("Restart", mute), ("Delete", orphan.name)} <= set(doing(known))


def test_slots_of_a_zone_that_was_given_up_wait_where_they_have_no_fallback() -> None:
    desired = fleet(2)
    down = seen(desired, nodes=(), runners=(), zones={HOME: unknown("503")}, wishes=Wishes(lost={HOME: "ada"}))
    decision = sweeps(desired, down, 6)[-1]
    assert doing(decision) == []
    assert all(f"ada declared {HOME} lost" in each.reason and each.stands for each in decision.waiting)


def test_quota_is_told_once_and_not_hammered() -> None:
    desired = fleet(2)
    name = desired.slots[0].name
    observed = seen(desired, nodes=nodes(desired, s0=""), runners=served(desired, but=(name,)))
    memory, creates, reports = EMPTY, 0, 0
    for index in range(60):
        now = START + minutes(2 * index)
        decision = decide(desired, observed, memory, now)
        memory = decision.memory
        reports += sum(action.rule == "create-quota" for action in decision.actions)
        if any(isinstance(action, Create) for action in decision.actions):
            creates += 1
            memory = refused(memory, desired, Trouble.QUOTA, now, name)
    assert reports == 1
    assert creates <= 3, "two hours with a wait of one to two"


def test_a_create_whose_node_no_list_shows_is_believed_for_ten_minutes() -> None:
    desired = fleet(2)
    absent = seen(desired, nodes=nodes(desired, s0=""))
    memory = remembered(first(desired, absent), desired, START)
    assert doing(decide(desired, absent, memory, START + LAG - minutes(1))) == []
    assert doing(decide(desired, absent, memory, START + LAG)) == [("Create", desired.slots[0].name)]


def test_an_operation_that_failed_ends_its_create_and_begins_a_wait() -> None:
    desired = fleet(2)
    absent = seen(desired, nodes=nodes(desired, s0=""))
    memory = remembered(first(desired, absent), desired, START)
    ended = CreateEnded(slot=desired.slots[0].name, zone=HOME, trouble=Trouble.STOCKOUT, text="no more capacity")
    decision = decide(desired, replace(absent, ended=(ended,)), memory, START + minutes(2))
    assert doing(decision) == []
    assert decision.memory.creating == {}
    (waiting,) = [each for each in decision.waiting if each.subject == desired.slots[0].name]
    assert waiting.until == next(iter(decision.memory.backoff.values())).until


@given(failures=st.integers(1, 10_000), trouble=st.sampled_from(Trouble))
def test_waits_lie_between_a_sweep_and_their_longest_and_are_drawn_the_same_again(
    failures: int, trouble: Trouble
) -> None:
    wait = backoff.wait("us-west4-a/v5litepod-4/spot", failures, trouble)
    assert backoff.FLOOR <= wait <= backoff.LONGEST[trouble]
    assert wait == backoff.wait("us-west4-a/v5litepod-4/spot", failures, trouble)


def test_two_zones_do_not_knock_in_step() -> None:
    waits = {backoff.wait(f"zone-{index}/v4-8/spot", 5, Trouble.STOCKOUT) for index in range(20)}
    assert len(waits) == 20


@pytest.mark.parametrize(
    ("code", "text", "trouble"),
    [
        (8, "There is no more capacity in the zone", Trouble.STOCKOUT),
        (8, "Quota limit 'TPUV5sLitepod' has been exceeded", Trouble.QUOTA),
        (8, "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute'", Trouble.OUTAGE),
        (14, "unavailable", Trouble.OUTAGE),
        (3, "bad runtime version", Trouble.REFUSED),
    ],
)
def test_failures_of_operations_are_told_apart(code: int, text: str, trouble: Trouble) -> None:
    assert troubles.of_operation(code, text) is trouble


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        (None, Trouble.OUTAGE),
        (503, Trouble.OUTAGE),
        (429, Trouble.QUOTA),
        (400, Trouble.REFUSED),
        (403, Trouble.REFUSED),
    ],
)
def test_refusals_of_calls_are_told_apart(status: int | None, trouble: Trouble) -> None:
    assert troubles.of_answer(status, "") is trouble


def test_a_rate_that_was_exceeded_is_no_quota_of_chips() -> None:
    rate = "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute' of service"
    assert troubles.of_answer(429, rate) is Trouble.OUTAGE
    assert troubles.of_answer(403, "RATE_LIMIT_EXCEEDED") is Trouble.OUTAGE
    assert troubles.of_answer(429, "Quota limit 'TPUV5sLitepod' has been exceeded") is Trouble.QUOTA


def test_the_last_serving_runner_of_a_pool_is_spared_while_it_is_an_orphan() -> None:
    desired = fleet(2)
    orphan = node(f"tpu-ci-{HOME}-9")
    observed = seen(desired, nodes=(*nodes(desired), orphan), runners=(runner(orphan.name, number=9),))
    decisions = sweeps(desired, observed, 8)
    assert all(("Drain", orphan.name) not in doing(each) for each in decisions)
    assert "no other VM of pool tpu-ci serves" in {held.why for held in decisions[-1].held}
    late = decide(desired, observed, remembered(decisions[-1], desired, START), START + timedelta(hours=2, minutes=2))
    assert ("Drain", orphan.name) in doing(late)


def test_a_drain_that_people_wish_begins_and_ends_with_their_wish() -> None:
    desired = fleet(2)
    wish = DrainWish(subject="tpu-ci", by="ada", since=START, minutes=30)
    wished = seen(desired, wishes=Wishes(drains=(wish,)))
    drained = first(desired, wished)
    assert doing(drained) == [("Drain", each.name) for each in desired.slots]
    memory = remembered(drained, desired, START)
    busy = replace(wished, runners=(runner(desired.slots[0].name, busy=True),))
    late = decide(desired, busy, memory, START + minutes(30))
    assert [each.rule for each in late.findings] == ["drain-late"]
    blind = replace(seen(desired), wishes_source=unknown("503"))
    assert doing(decide(desired, blind, memory, START + minutes(40))) == [], "nobody knows whether it is over"
    over = decide(desired, seen(desired), memory, START + minutes(40))
    assert [(type(action), action.on) for action in over.actions if isinstance(action, Drain)] == [(Drain, False)] * 2


def test_of_two_vms_of_one_slot_the_one_that_is_ready_stays() -> None:
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name = desired.slots[0].name
    second = node(name, "CREATING", zone=AWAY, capacity=CapacityKind.SPOT)
    observed = seen(desired, nodes=(*nodes(desired), second), runners=())
    actions = [action for each in sweeps(desired, observed, 7) for action in each.actions]
    deleted = [action.node for action in actions if isinstance(action, Delete)]
    assert deleted
    assert all(each == second for each in deleted)


def test_a_vm_at_its_fallback_goes_home_once_its_runner_has_ended() -> None:
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name = desired.slots[0].name
    away = node(name, zone=AWAY, capacity=CapacityKind.SPOT)
    observed = seen(desired, nodes=(away, *nodes(desired, s0="")))
    memory = remembered(first(desired, observed), desired, START)
    drained = decide(desired, observed, memory, START + timedelta(hours=12))
    assert doing(drained) == [("Drain", name)]
    memory = remembered(drained, desired, START + timedelta(hours=12))
    ended = replace(observed, runners=served(desired, but=(name,)))
    gone = decide(desired, ended, memory, START + timedelta(hours=12, minutes=2))
    (action,) = [action for action in gone.actions if isinstance(action, Recreate)]
    assert action.node == away
    assert action.place is None, "another zone is tried once this VM is gone"


def test_a_vm_at_its_fallback_takes_jobs_again_once_people_drain_it_no_more() -> None:
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name = desired.slots[0].name
    observed = seen(desired, nodes=(node(name, zone=AWAY, capacity=CapacityKind.SPOT), *nodes(desired, s0="")))
    wish = DrainWish(subject=name, by="ada", since=START, minutes=30)
    drained = first(desired, replace(observed, wishes=Wishes(drains=(wish,))))
    assert doing(drained) == [("Drain", name)]
    (over,) = decide(desired, observed, remembered(drained, desired, START), START + minutes(40)).actions
    assert isinstance(over, Drain)
    assert not over.on, "it goes home in eleven hours only"


def test_a_vm_that_was_to_go_home_takes_jobs_again_where_its_home_has_no_capacity_after_all() -> None:
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name, late = desired.slots[0].name, START + timedelta(hours=12)
    observed = seen(desired, nodes=(node(name, zone=AWAY, capacity=CapacityKind.SPOT), *nodes(desired, s0="")))
    memory = remembered(first(desired, observed), desired, START)
    drained = decide(desired, observed, memory, late)
    assert doing(drained) == [("Drain", name)]
    home = backoff.backoff_key(HOME, desired.slots[0].accelerator.name, CapacityKind.PREEMPTIBLE)
    short = backoff.failed(None, home, Trouble.STOCKOUT, "no more capacity", late, late)
    memory = remembered(drained, desired, late).model_copy(update={"backoff": {home: short}})
    (over,) = decide(desired, observed, memory, late + minutes(2)).actions
    assert isinstance(over, Drain)
    assert not over.on


def test_a_clock_that_went_back_holds_nothing_for_ever() -> None:
    desired = fleet(2)
    observed = seen(desired, nodes=nodes(desired, s0="UNKNOWN"))
    memory = decide(desired, observed, EMPTY, START + timedelta(days=400)).memory
    again = decide(desired, observed, memory, START)
    assert doing(decide(desired, observed, again.memory, START + minutes(11))) == [("Recreate", desired.slots[0].name)]


def test_slots_of_an_unknown_zone_wait_while_others_are_made() -> None:
    elsewhere = slot(0, home=place("us-east1-c"))
    desired = fleet(slots=(slot(0), elsewhere))
    observed = seen(desired, nodes=(), runners=(), zones={HOME: unknown("503"), "us-east1-c": KNOWN})
    assert doing(first(desired, observed)) == [("Create", elsewhere.name)]


def test_without_a_grace_time_two_sweeps_must_still_agree() -> None:
    desired = fleet(3, settings=Settings(grace=0))
    orphan = node(f"tpu-ci-{HOME}-9")
    ghost = runner(f"tpu-ci-{HOME}-7", number=70, online=False)
    observed = seen(desired, nodes=(*nodes(desired), orphan), runners=(*served(desired), ghost))
    assert [sorted(doing(each)) for each in sweeps(desired, observed, 2)] == [
        [],
        [("Delete", orphan.name), ("RemoveRunner", ghost.name)],
    ]


def test_a_vm_that_one_list_leaves_out_still_holds_its_chips() -> None:
    desired = fleet(6, caps=(quota(24),))
    full = seen(desired, nodes=(*nodes(desired, s0=""), node(f"tpu-ci-{HOME}-9")))
    without = seen(desired, nodes=nodes(desired, s0=""))
    memory = remembered(first(desired, full), desired, START)
    once = decide(desired, without, memory, START + minutes(2))
    assert doing(once) == []
    twice = decide(desired, without, once.memory, START + minutes(4))
    assert doing(twice) == [("Create", desired.slots[0].name)]


def test_a_vm_whose_wait_is_over_is_kept_while_its_runner_has_a_job() -> None:
    desired = fleet(3)
    name = desired.slots[0].name
    repairing = nodes(desired, s0="REPAIRING")
    busy = seen(desired, nodes=repairing, runners=(runner(name, busy=True), *served(desired, but=(name,))))
    memory = remembered(first(desired, busy), desired, START)
    late = decide(desired, busy, memory, START + minutes(60))
    assert doing(late) == []
    idle = seen(desired, nodes=repairing)
    assert doing(decide(desired, idle, late.memory, START + minutes(62))) == [("Recreate", name)]


def test_after_a_stockout_one_vm_tries_first() -> None:
    desired = fleet(3)
    absent = seen(desired, nodes=nodes(desired, s0="", s1=""))
    memory = first(desired, absent).memory
    for each in desired.slots[:2]:
        memory = refused(memory, desired, Trouble.STOCKOUT, START, each.name)
    (entry,) = memory.backoff.values()
    assert entry.failures == 1, "what was asked for together failed once"
    again = decide(desired, absent, memory, entry.until)
    assert len(doing(again)) == 1


def unserved_through(deaf: tuple[int, ...], until: int) -> list[tuple[float, str]]:
    """What is done to a VM that never registers, with its minute, while GitHub is unknown in some of them."""
    desired = fleet(3)
    unserved = seen(desired, runners=served(desired, but=(desired.slots[0].name,)))
    memory, done = EMPTY, []
    for minute in range(0, until + 1, 2):
        observed = replace(unserved, github=unknown("502")) if minute in deaf else unserved
        decision = decide(desired, observed, memory, START + minutes(minute))
        memory = remembered(decision, desired, START + minutes(minute))
        done += [(minute, what) for what, _ in doing(decision)]
    return done


def test_an_outage_of_github_gives_every_vm_its_whole_allowance_again() -> None:
    assert unserved_through(deaf=(10, 12, 14, 16), until=58) == [(38, "Restart"), (58, "Recreate")]


def test_a_github_that_fails_now_and_then_does_not_spare_a_vm_that_never_registers() -> None:
    every_third = tuple(range(4, 60, 6))
    assert unserved_through(deaf=every_third, until=42) == [(20, "Restart"), (42, "Recreate")]


def test_nothing_is_made_in_a_fallback_zone_that_cannot_be_asked() -> None:
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name = desired.slots[0].name
    known = seen(desired, nodes=nodes(desired, s0=""), runners=served(desired, but=(name,)))
    memory, now = first(desired, known).memory, START
    for _ in range(fallbacks()[Trouble.STOCKOUT].failures):
        memory = refused(memory, desired, Trouble.STOCKOUT, now, name)
        now += timedelta(hours=1)
        memory = decide(desired, replace(known, zones={HOME: unknown("503"), AWAY: KNOWN}), memory, now).memory
        asked = Creating(zone=HOME, capacity=CapacityKind.PREEMPTIBLE, at=now)
        memory = memory.model_copy(update={"creating": {name: asked}})
    memory = refused(memory, desired, Trouble.STOCKOUT, now, name)
    blind = replace(known, zones={HOME: KNOWN, AWAY: unknown("503")})
    decision = decide(desired, blind, memory, now)
    assert doing(decision) == []
    assert [each.reason for each in decision.waiting if each.subject == name] == [
        f"it is declared and does not exist; {AWAY} cannot be asked"
    ]
    assert doing(decide(desired, known, memory, now)) == [("Create", name)]


def test_a_refusal_is_told_while_somebody_declares_what_was_refused() -> None:
    desired = fleet(2)
    absent = seen(desired, nodes=nodes(desired, s0=""))
    memory = refused(first(desired, absent).memory, desired, Trouble.REFUSED, START, desired.slots[0].name)
    assert [each.rule for each in decide(desired, absent, memory, START + minutes(2)).findings] == ["create-refused"]
    mended = fleet(slots=tuple(slot(index, home=place(capacity=CapacityKind.SPOT)) for index in range(2)))
    assert decide(mended, seen(mended), memory, START + minutes(2)).findings == ()


def test_an_order_that_was_not_written_is_written_at_the_next_sweep() -> None:
    desired = fleet(2)
    wish = DrainWish(subject=desired.slots[0].name, by="ada", since=START, minutes=30)
    wished = seen(desired, wishes=Wishes(drains=(wish,)))
    decision = first(desired, wished)
    lost = [Outcome(action=action, result=Result.FAILED, text="503") for action in decision.actions]
    memory = learned(decision.memory, desired, lost, START)
    assert doing(decide(desired, wished, memory, START + minutes(2))) == [("Drain", desired.slots[0].name)]


def test_a_job_of_a_repository_that_is_served_no_more_is_not_cut_off() -> None:
    """Its runner is registered where nobody looks any more; the VM itself says that it works."""
    desired = fleet(3)
    orphan = node(f"old-pool-{HOME}-0", labels=labels(pool="old-pool"))
    unseen = desired.slots[0].name
    memory = EMPTY
    for sweep in range(60):
        now = START + minutes(2 * sweep)
        said = {
            vm: ReportSeen(vm=vm, pool="any", phase=Phase.BUSY, at=now - minutes(5)) for vm in (orphan.name, unseen)
        }
        observed = seen(desired, nodes=(*nodes(desired), orphan), runners=served(desired, but=(unseen,)), reports=said)
        decision = decide(desired, observed, memory, now)
        assert {what for what, _ in doing(decision)} <= {"Drain"}
        memory = remembered(decision, desired, now)
    silent = replace(observed, reports={})
    late = decide(desired, silent, memory, START + minutes(122))
    assert {("Delete", orphan.name), ("Restart", unseen)} <= set(doing(late))
