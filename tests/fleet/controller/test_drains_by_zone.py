"""A drain that names a zone: the VM at home works on while the one of its name at a fallback goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from infra.fleet.controller.actions import Drain
from infra.fleet.controller.decide import Decision, decide
from infra.fleet.controller.memory import EMPTY, Memory
from infra.fleet.controller.observed import DrainWish, Observed, Wishes
from tests.fleet.controller.given_fleet import (
    AWAY,
    HOME,
    START,
    fleet,
    minutes,
    node,
    nodes,
    place,
    remembered,
    runner,
    seen,
    served,
)

VM = f"tpu-ci-{HOME}-0"
FLEET = fleet(3, fallbacks=(place(AWAY),))
TWICE = seen(FLEET, nodes=(*nodes(FLEET), node(VM, zone=AWAY)), runners=(*served(FLEET), runner(VM, number=9)))


def wished(*wishes: DrainWish, observed: Observed = TWICE) -> Observed:
    return replace(observed, wishes=Wishes(drains=wishes))


def by(subject: str, zone: str = "") -> DrainWish:
    return DrainWish(subject=subject, by="ada", since=START, minutes=60, zone=zone)


def swept(observed: Observed, memory: Memory, now: datetime = START) -> tuple[Decision, Memory]:
    decision = decide(FLEET, observed, memory, now)
    return decision, remembered(decision, FLEET, now)


def ordered(decision: Decision) -> list[tuple[str, bool, str]]:
    return [(each.vm, each.on, each.zone) for each in decision.actions if isinstance(each, Drain)]


def test_the_vm_at_home_counts_as_serving_while_its_namesake_is_drained() -> None:
    decision, memory = swept(wished(by(VM, AWAY)), EMPTY)
    assert ordered(decision) == [(VM, True, AWAY)]
    again, memory = swept(wished(by(VM, AWAY)), memory, START + minutes(2))
    assert ordered(again) == [], "once is enough"
    assert again.pools["tpu-ci"].online == 3
    assert not again.pools["tpu-ci"].unhealthy
    over, memory = swept(TWICE, memory, START + minutes(4))
    assert ordered(over) == [], "it is about to go all the same"
    gone, _ = swept(seen(FLEET), memory, START + minutes(6))
    assert ordered(gone) == [(VM, False, "")]


def test_a_wider_wish_drains_it_everywhere_and_its_end_there_alone() -> None:
    _, memory = swept(wished(by(VM, AWAY)), EMPTY)
    wider, memory = swept(wished(by(VM, AWAY), by(VM)), memory, START + minutes(2))
    assert ordered(wider) == [(VM, True, "")]
    narrower, _ = swept(wished(by(VM, AWAY)), memory, START + minutes(4))
    assert ordered(narrower) == [(VM, True, AWAY)]


def test_two_zones_at_once_are_all_of_them() -> None:
    decision, _ = swept(wished(by(VM, AWAY), by(VM, HOME)), EMPTY)
    assert ordered(decision) == [(VM, True, "")]


def test_a_left_over_that_has_the_name_of_a_vm_that_serves_is_drained_where_it_stands() -> None:
    memory, found = EMPTY, []
    for sweep in range(7):
        decision, memory = swept(TWICE, memory, START + minutes(2 * sweep))
        found += ordered(decision)
    assert found == [(VM, True, AWAY)]
