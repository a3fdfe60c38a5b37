"""Zones that people gave up: their slots go elsewhere, and whatever answers there is kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from infra.fleet.controller.actions import Create
from infra.fleet.controller.decide import decide
from infra.fleet.controller.observed import KNOWN, unknown
from infra.fleet.operator_requests import OperatorRequests
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import (
    AWAY,
    HOME,
    START,
    doing,
    first,
    fleet,
    minutes,
    nodes,
    place,
    seen,
    sweeps,
)


def test_a_zone_that_people_gave_up_leads_to_fallbacks_and_is_used_again_once_they_take_it_back() -> None:
    desired = fleet(3, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    memory = first(desired, seen(desired)).memory
    down = seen(desired, nodes=(), runners=(), zones={HOME: unknown("503"), AWAY: KNOWN})
    lost = replace(down, requests=OperatorRequests(lost={HOME: "ada"}))
    assert doing(decide(desired, down, memory, START + timedelta(days=2))) == [], "its VMs may run on"
    begun = decide(desired, lost, memory, START + minutes(2))
    assert doing(begun) == [], "one list that fails is no lost zone"
    away = decide(desired, lost, begun.memory, START + minutes(12))
    made = [each for each in away.actions if isinstance(each, Create)]
    assert {each.place.zone for each in made} == {AWAY}
    answers = seen(desired, nodes=nodes(desired, s0=""), requests=OperatorRequests(lost={HOME: "ada"}))
    back = replace(answers, requests=OperatorRequests())
    again = sweeps(desired, back, 3, memory=memory, start=START + minutes(2))
    assert {each.place.zone for one in again for each in one.actions if isinstance(each, Create)} == {HOME}


def test_slots_of_a_zone_that_was_given_up_wait_where_they_have_no_fallback() -> None:
    desired = fleet(2)
    down = seen(
        desired, nodes=(), runners=(), zones={HOME: unknown("503")}, requests=OperatorRequests(lost={HOME: "ada"})
    )
    decision = sweeps(desired, down, 6)[-1]
    assert doing(decision) == []
    assert all(f"ada declared {HOME} lost" in each.reason and each.stands for each in decision.waiting)
