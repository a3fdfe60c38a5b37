"""What is done with VMs that stand: drains, ways home, and doubts that leave them alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from infra.fleet.controller.actions import Drain
from infra.fleet.controller.decide import decide
from infra.fleet.controller.memory import EMPTY
from infra.fleet.controller.observed import unknown
from infra.fleet.operator_requests import DrainRequest, OperatorRequests
from tests.fleet.controller.given_fleet import (
    START,
    doing,
    first,
    fleet,
    minutes,
    remembered,
    runner,
    seen,
    served,
)


def test_a_drain_that_people_request_begins_and_ends_with_their_request() -> None:
    desired = fleet(2)
    request = DrainRequest(subject="tpu-ci", by="ada", since=START, minutes=30)
    requested = seen(desired, requests=OperatorRequests(drains=(request,)))
    drained = first(desired, requested)
    assert doing(drained) == [("Drain", each.name) for each in desired.slots]
    memory = remembered(drained, desired, START)
    busy = replace(requested, runners=(runner(desired.slots[0].name, busy=True),))
    late = decide(desired, busy, memory, START + minutes(30))
    assert [each.rule for each in late.findings] == ["drain-late"]
    for hours, idle in ((23.9, set()), (24, {(each.name, "drain-forgotten") for each in desired.slots})):
        after = decide(desired, requested, memory, START + timedelta(hours=hours))
        assert {(each.subject, each.rule) for each in after.findings} == idle
    blind = replace(seen(desired), requests_source=unknown("503"))
    assert doing(decide(desired, blind, memory, START + minutes(40))) == [], "nobody knows whether it is over"
    over = decide(desired, seen(desired), memory, START + minutes(40))
    assert [(type(action), action.on) for action in over.actions if isinstance(action, Drain)] == [(Drain, False)] * 2


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
