"""Zones that people gave up: their slots go elsewhere, and whatever answers there is kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from infra.fleet.controller.actions import Create, subject
from infra.fleet.controller.decide import decide
from infra.fleet.controller.keys import NodeKey
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
    remembered,
    seen,
    served,
    slot,
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
    assert [each.slot for each in made] == [each.name for each in desired.slots]
    answers = seen(desired, nodes=nodes(desired, s0=""), requests=OperatorRequests(lost={HOME: "ada"}))
    there = sweeps(desired, answers, 3, memory=memory, start=START + minutes(2))[-1]
    assert {subject(each) for each in there.actions if isinstance(each, Create)} <= {desired.slots[0].name}
    back = replace(answers, requests=OperatorRequests())
    again = sweeps(desired, back, 3, memory=memory, start=START + minutes(2))
    assert {each.place.zone for one in again for each in one.actions if isinstance(each, Create)} == {HOME}


def test_nothing_is_made_while_nobody_can_say_which_zones_people_gave_up() -> None:
    desired = fleet(3)
    observed = seen(desired, nodes=nodes(desired, s0="", s1="PREEMPTED"))
    assert len(doing(first(desired, observed))) == 2
    blind = first(desired, replace(observed, requests_source=unknown("503")))
    assert doing(blind) == []
    told = {
        each.subject
        for each in blind.waiting
        if "operator requests cannot be read, such as that a zone is given up" in each.reason
    }
    assert told == {each.name for each in desired.slots[:2]}


def test_a_zone_that_was_given_up_and_answers_but_now_and_then_keeps_its_busy_vms_alone() -> None:
    desired = fleet(3, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    works = seen(desired, runners=tuple(replace(each, busy=True) for each in served(desired)))
    works = replace(works, requests=OperatorRequests(lost={HOME: "ada"}))
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
    assert NodeKey(AWAY, old.name) in memory.nodes
    for hour in range(24 * 8):
        now = START + timedelta(hours=24 + hour)
        memory = decide(new, replace(dark, requests=OperatorRequests(lost={AWAY: "ada"})), memory, now).memory
        assert (AWAY in memory.zones) == (hour < 24 * 7 - 1)
    assert memory.nodes.keys() == {NodeKey(HOME, new.slots[0].name)}


def test_slots_of_a_zone_that_was_given_up_wait_where_they_have_no_fallback() -> None:
    desired = fleet(2)
    down = seen(
        desired, nodes=(), runners=(), zones={HOME: unknown("503")}, requests=OperatorRequests(lost={HOME: "ada"})
    )
    decision = sweeps(desired, down, 6)[-1]
    assert doing(decision) == []
    assert all(f"ada declared {HOME} lost" in each.reason and each.stands for each in decision.waiting)
