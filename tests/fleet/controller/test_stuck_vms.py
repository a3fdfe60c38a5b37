"""VMs in states that no call of ours ends: their slots take a fallback, and they are findings until they are gone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.fleet.controller.actions import Create, Recreate
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.observed import KNOWN, NodeSeen, Observed, unknown
from infra.fleet.reports import Phase, ReportSeen
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import (
    AWAY,
    HOME,
    START,
    fleet,
    minutes,
    node,
    nodes,
    place,
    quota,
    runner,
    seen,
    served,
)
from tests.fleet.controller.test_silent_zones import Course

FALLBACK = place(AWAY, CapacityKind.SPOT)
FLEET = fleet(3, fallbacks=(FALLBACK,))
TRAINING = replace(FLEET, slots=tuple(replace(each, serves=()) for each in FLEET.slots))
VM, OTHER = FLEET.slots[0].name, FLEET.slots[1].name
WAITS = {"DELETING": 30, "HIDING": 60, "HIDDEN": 60, "UNHIDING": 60, "STATE_UNSPECIFIED": 10, "OF_TOMORROW": 10}
STUCK = node(VM, "DELETING")
AT_FALLBACK = node(VM, zone=AWAY, capacity=CapacityKind.SPOT, created="2026-11-21T13:00:00Z")


def stuck(
    desired: Desired = FLEET, state: str = "DELETING", beside: tuple[NodeSeen, ...] = (), **given: Any
) -> Observed:
    usual: dict[str, Any] = {"nodes": (*nodes(desired, s0=state), *beside), "runners": served(desired, but=(VM,))}
    return seen(desired, **{**usual, **given})


def after(wait: float, observed: Observed, desired: Desired = FLEET) -> Course:
    """Two sweeps so far apart see the same; the last one's decision is what counts."""
    course = Course(desired)
    course.sweep(observed)
    course.now += minutes(wait) - minutes(2)
    course.sweep(observed)
    return course


def findings(course: Course, observed: Observed) -> list[str]:
    decision = decide(course.desired, observed, course.memory, course.now)
    return [each.rule for each in decision.findings if each.subject == VM]


@pytest.mark.parametrize(("state", "wait"), WAITS.items())
def test_its_slot_moves_to_the_fallback_once_the_wait_of_its_state_is_over(state: str, wait: float) -> None:
    assert not after(wait - 1, stuck(state=state)).did
    course = after(wait, stuck(state=state))
    (made,) = course.did
    assert isinstance(made, Create)
    assert made.place == FALLBACK
    assert [(each.zone, each.state) for each in made.stuck] == [(HOME, state)]
    assert findings(course, stuck(state=state)), "people are told while the other one is made"


def says(phase: Phase, at: float) -> ReportSeen:
    return ReportSeen(vm=VM, pool="tpu-ci", phase=phase, at=START + minutes(at), proved=HOME)


@pytest.mark.parametrize(
    ("given", "desired"),
    [
        ({"runners": served(FLEET)}, FLEET),
        ({"runners": (*served(FLEET, but=(VM,)), runner(VM, number=9, busy=True))}, FLEET),
        ({"reports": {VM: says(Phase.BUSY, 55)}}, FLEET),
        ({"reports_source": unknown("503")}, FLEET),
        ({"github": unknown("502")}, FLEET),
        ({"requests_source": unknown("503")}, FLEET),
        ({"zones": {HOME: KNOWN, AWAY: unknown("503")}}, FLEET),
        ({}, fleet(3)),
        ({}, replace(FLEET, caps=(quota(0, AWAY),))),
        ({"beside": (node(VM, zone=AWAY, labels={}),)}, FLEET),
        ({}, TRAINING),
    ],
    ids=["a runner is online", "a job runs", "it says that a job runs", "its report cannot be read",
         "GitHub does not answer", "a zone may be given up", "the fallback does not answer", "no fallback",
         "no chips at the fallback", "its name is another's there",
         "it has no runner that would say"],
)  # fmt: skip
def test_its_slot_stays_where_it_may_work_or_cannot_be_elsewhere_and_people_are_told(
    given: dict[str, Any], desired: Desired
) -> None:
    observed = stuck(desired, "HIDDEN", **given)
    course = after(60, observed, desired)
    assert not course.did
    assert findings(course, observed) == ["slot-hidden"]


def test_one_without_a_runner_moves_once_it_is_being_deleted() -> None:
    assert after(30, stuck(TRAINING), TRAINING).places == {VM: AWAY}


def test_it_is_a_finding_until_it_is_gone_and_nothing_goes_home_before() -> None:
    course, moved = after(30, stuck()), stuck(beside=(AT_FALLBACK,), runners=served(FLEET))
    done = course.sweeps(moved, minutes(24 * 60))
    assert done == [], "neither is the living one drained for the other, nor does it go home"
    assert findings(course, moved) == ["orphan-stuck"]
    home_again = seen(FLEET, nodes=(AT_FALLBACK, *nodes(FLEET)[1:]))
    assert course.sweeps(home_again, minutes(20))[:2] == [("Drain", VM), ("Recreate", VM)]
    assert not findings(course, home_again)


def test_a_vm_that_is_lost_at_the_fallback_is_made_there_again_at_once() -> None:
    course = after(30, stuck(beside=(AT_FALLBACK,), runners=served(FLEET)))
    course.sweep(stuck(beside=(replace(AT_FALLBACK, state="PREEMPTED"),)))
    (again,) = course.did
    assert isinstance(again, Recreate)
    assert again.place == FALLBACK
    assert again.stuck == (STUCK,)


@pytest.mark.parametrize(("busy", "goes"), [(False, [("Drain", VM), ("Delete", VM)]), (True, [("Drain", VM)])])
def test_one_of_both_goes_where_it_comes_back_to_life_and_never_one_with_a_job(
    busy: bool, goes: list[tuple[str, str]]
) -> None:
    """Nobody knows on which of them the runner is, so that neither goes while it has a job."""
    course = after(60, stuck(state="HIDDEN", beside=(AT_FALLBACK,), runners=served(FLEET)))
    alive = (*served(FLEET, but=(VM,)), runner(VM, number=9, busy=busy))
    both = stuck(state="READY", beside=(AT_FALLBACK,), runners=alive)
    assert course.sweeps(both, minutes(60))[: len(goes) + 1][: len(goes)] == goes
    assert {kind for kind, _ in course.sweeps(both, minutes(10))} <= {"Delete"}
