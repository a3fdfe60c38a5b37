"""What keeps a sweep from doing too much: the fuse, caps, freeze windows, chips, the last serving runner."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from itertools import pairwise

import pytest

from infra.fleet.controller.actions import Create
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import ControllerSettings
from infra.fleet.controller.events import Result
from infra.fleet.controller.memory import EMPTY, Memory, VmMemory
from infra.fleet.controller.observed import KNOWN, unknown
from infra.fleet.controller.outcomes import ActionOutcome, learned
from infra.fleet.reports import Phase, ReportSeen
from infra.model.catalogue import CapacityKind
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
    seen,
    served,
    sweeps,
)

LOST = {"s0": "FAILED", "s1": "FAILED", "s2": "FAILED"}
"""Three VMs that may have been anything; nobody says that Google took them."""


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


def test_a_vm_that_one_list_leaves_out_still_holds_its_chips() -> None:
    desired = fleet(6, caps=(quota(24),))
    full = seen(desired, nodes=(*nodes(desired, s0=""), node(f"tpu-ci-{HOME}-9")))
    without = seen(desired, nodes=nodes(desired, s0=""))
    memory = remembered(first(desired, full), desired, START)
    once = decide(desired, without, memory, START + minutes(2))
    assert doing(once) == []
    twice = decide(desired, without, once.memory, START + minutes(4))
    assert doing(twice) == [("Create", desired.slots[0].name)]
