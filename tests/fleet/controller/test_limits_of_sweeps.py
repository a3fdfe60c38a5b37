"""What keeps a sweep from doing too much: the fuse, caps, freeze windows, chips, the last serving runner."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from infra.fleet.controller.actions import Create, Delete, Recreate, subject
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import ControllerSettings
from infra.fleet.controller.events import Result
from infra.fleet.controller.memory import EMPTY, Memory, VmMemory
from infra.fleet.controller.observed import KNOWN, unknown
from infra.fleet.controller.outcomes import ActionOutcome, learned
from infra.fleet.reports import Phase, ReportSeen
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
    of_kind,
    place,
    quota,
    remembered,
    runner,
    seen,
    served,
    sweeps,
)

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
    desired = of_kind(CapacityKind.SPOT, 12, settings=ControllerSettings(replacements=1))
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


@pytest.mark.parametrize("kind", [CapacityKind.PREEMPTIBLE, CapacityKind.SPOT])
@pytest.mark.parametrize("size", [9, 40, 400])
def test_a_wave_of_any_size_is_made_again_in_one_sweep(kind: CapacityKind, size: int) -> None:
    desired = of_kind(kind, size)
    dead = nodes(desired, **{f"s{index}": "PREEMPTED" for index in range(size)})
    decision = first(desired, seen(desired, nodes=dead, runners=()))
    assert (len(doing(decision)), decision.held) == (size, ())


@pytest.mark.parametrize(("size", "most"), [(6, 6), (40, 10), (1000, 250)])
def test_the_cap_of_replacements_grows_with_the_pool(size: int, most: int) -> None:
    assert healing.replaced_an_hour(size, 6) == most


def test_a_third_of_the_fleet_is_replaced_at_once() -> None:
    desired = fleet(9)
    assert len(doing(first(desired, seen(desired, nodes=nodes(desired, **LOST))))) == 3


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
    assert "GitHub does not say whether" in decisions[-1].waiting[0].reason


def test_a_pool_has_so_many_replacements_an_hour_and_no_more() -> None:
    desired = of_kind(CapacityKind.SPOT, 9, settings=ControllerSettings(replacements=1))
    lost = nodes(desired, **{**LOST, "s3": ""})
    observed = seen(desired, nodes=lost)
    decision = first(desired, observed)
    assert [what for what, _ in doing(decision)].count("Recreate") == 3, "a quarter of nine"
    fourth = seen(desired, nodes=nodes(desired, s3="FAILED"))
    memory = remembered(decision, desired, START)
    held = decide(desired, fourth, memory, START + minutes(59))
    assert "has reached its limit of" in held.held[0].why
    assert doing(held) == []
    assert doing(decide(desired, fourth, memory, START + minutes(61))) == [("Recreate", desired.slots[3].name)]


def test_a_vm_that_cannot_be_replaced_does_not_use_up_the_turns_of_others() -> None:
    desired = of_kind(CapacityKind.SPOT, 12, settings=ControllerSettings(replacements=1))
    *stuck, other = (each.name for each in desired.slots[:4])
    lost = seen(desired, nodes=nodes(desired, **LOST, s3="FAILED"))
    decision = first(desired, lost)
    assert doing(decision) == [("Recreate", each) for each in stuck], "a quarter of twelve within an hour"
    refused_delete = [ActionOutcome(action=each, result=Result.FAILED, text="403") for each in decision.actions]
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
        found = [finding for finding in decision.findings if finding.rule == "slot-remade"]
        if told is None and found:
            told = (len(remade), found[0].subject, found[0].reason)
    waits = [(after - before) // minutes(1) for before, after in pairwise(remade)]
    assert waits == [20, 40, 80, 160]
    why = "its own supervisor calls it unfit; replaced 3 times, and it never served for an hour"
    assert told == (3, broken, why)


def test_an_attempt_of_which_nothing_was_done_begins_no_wait_anew() -> None:
    desired = of_kind(CapacityKind.SPOT, 12)
    name = desired.slots[0].name
    lost = seen(desired, nodes=nodes(desired, s0="FAILED"))
    memory = remembered(first(desired, lost), desired, START)
    later = START + minutes(20)
    again = decide(desired, lost, memory, later)
    assert doing(again) == [("Recreate", name)]
    left = [ActionOutcome(action=each, result=Result.LEFT) for each in again.actions]
    memory = learned(again.memory, desired, left, later)
    assert (memory.vms[name].remade, memory.vms[name].remade_at) == (1, START)
    assert doing(decide(desired, lost, memory, later + SWEEP)) == [("Recreate", name)]


def test_a_way_home_that_failed_takes_no_replacement_back_that_it_had_not_counted() -> None:
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name = desired.slots[0].name
    away = node(name, zone=AWAY, capacity=CapacityKind.SPOT)
    home = Recreate(slot=name, node=away, place=None, rule="slot-serving-away", reason="")
    memory = Memory(vms={name: VmMemory(seen=START, remade=2, remade_at=START)})
    failed = ActionOutcome(action=home, result=Result.FAILED, text="403")
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
    left = [ActionOutcome(action=each, result=Result.LEFT) for each in decision.actions]
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
            ActionOutcome(action=each, result=Result.DONE if each.node.name in good else Result.FAILED)
            for each in deleted
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


def test_the_last_serving_runner_of_a_pool_is_spared_while_it_is_an_orphan() -> None:
    desired = fleet(2)
    orphan = node(f"tpu-ci-{HOME}-9")
    observed = seen(desired, nodes=(*nodes(desired), orphan), runners=(runner(orphan.name, number=9),))
    decisions = sweeps(desired, observed, 8)
    assert all(("Drain", orphan.name) not in doing(each) for each in decisions)
    assert "no other VM of pool tpu-ci serves" in {held.why for held in decisions[-1].held}
    late = decide(desired, observed, remembered(decisions[-1], desired, START), START + timedelta(hours=2, minutes=2))
    assert ("Drain", orphan.name) in doing(late)


def test_a_vm_that_one_list_leaves_out_still_holds_its_chips() -> None:
    desired = fleet(6, caps=(quota(24),))
    full = seen(desired, nodes=(*nodes(desired, s0=""), node(f"tpu-ci-{HOME}-9")))
    without = seen(desired, nodes=nodes(desired, s0=""))
    memory = remembered(first(desired, full), desired, START)
    once = decide(desired, without, memory, START + minutes(2))
    assert doing(once) == []
    twice = decide(desired, without, once.memory, START + minutes(4))
    assert doing(twice) == [("Create", desired.slots[0].name)]
