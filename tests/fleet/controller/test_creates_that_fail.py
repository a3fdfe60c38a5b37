"""Creates that fail: which waits follow, which fallbacks, and what people are told."""

from __future__ import annotations

from datetime import datetime

import pytest

from infra.fleet.controller.actions import Create
from infra.fleet.controller.decide import decide
from infra.fleet.controller.events import Result
from infra.fleet.controller.memory import EMPTY, Memory
from infra.fleet.controller.observed import Trouble
from infra.fleet.controller.outcomes import ActionOutcome, learned
from infra.fleet.controller.tpu_api import trouble_of_answer, trouble_of_operation
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
    served,
)


def refused(memory: Memory, desired: object, trouble: Trouble, now: datetime, name: str) -> Memory:
    action = Create(slot=name, place=place(), rule="slot-absent", reason="")
    failed = ActionOutcome(action=action, result=Result.FAILED, trouble=trouble, text="no more capacity")
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


@pytest.mark.parametrize(
    ("code", "text", "trouble"),
    [
        (8, "There is no more capacity in the zone", Trouble.STOCKOUT),
        (8, "Quota limit 'TPUV5sLitepod' has been exceeded", Trouble.QUOTA),
        (
            8,
            "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute'",
            Trouble.OUTAGE,
        ),
        (14, "unavailable", Trouble.OUTAGE),
        (3, "bad runtime version", Trouble.REFUSED),
    ],
)
def test_failures_of_operations_are_told_apart(code: int, text: str, trouble: Trouble) -> None:
    assert trouble_of_operation(code, text) is trouble


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
    assert trouble_of_answer(status, "") is trouble


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
