"""VMs in states that no call of ours ends: their slots take a fallback, and they are findings until they are gone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.fleet.controller.actions import Create
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.observed import NodeSeen, Observed
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import (
    AWAY,
    HOME,
    fleet,
    minutes,
    node,
    nodes,
    place,
    runner,
    seen,
    served,
)
from tests.fleet.controller.test_silent_zones import Course

FALLBACK = place(AWAY, CapacityKind.SPOT)
FLEET = fleet(3, fallbacks=(FALLBACK,))
TRAINING = replace(FLEET, slots=tuple(replace(each, serves=()) for each in FLEET.slots))
VM = FLEET.slots[0].name
WAITS = {"DELETING": 30, "HIDING": 60, "HIDDEN": 60, "UNHIDING": 60, "STATE_UNSPECIFIED": 10, "OF_TOMORROW": 10}
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


def test_one_without_a_runner_moves_once_it_is_being_deleted() -> None:
    assert after(30, stuck(TRAINING), TRAINING).places == {VM: AWAY}


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
