"""What is done with VMs that stand: drains, ways home, and doubts that leave them alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from infra.fleet.controller.actions import Drain
from infra.fleet.controller.decide import decide
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
