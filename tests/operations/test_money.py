"""Which records the money of a month is read from."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from infra.fleet.controller.events import EventKind, FleetEvent, Result, Verb
from infra.fleet.controller.keys import NodeKey
from infra.fleet.controller.memory import Memory, NodeMemory
from infra.model import names
from infra.model.catalogue import CapacityKind
from infra.model.fleet import slots, window_slots
from infra.model.run_records import RunVmRecord, day_body
from infra.model.schema import StackConfig, Window
from infra.model.stack import load_stack
from infra.model.usage import vm_cost
from infra.operations.errors import Refusal
from infra.operations.money import cost, declared_cost, pool_usages, run_usages
from tests.model.given import parse, pool, stack_text
from tests.synthetic_lab import the_lab

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def record(vm: str, start: datetime | None, end: datetime | None, *, hours: int = 1) -> RunVmRecord:
    asked = int((start or NOW).timestamp())
    return RunVmRecord(
        vm=vm, run=f"run-{vm}", suite="tpu", stack="nightly", pool="nightly-v6e", accelerator="v6e-1",
        zone="us-central1-b", capacity=CapacityKind.SPOT, asked=asked, expires=asked + hours * 3600,
        start=None if start is None else asked, end=None if end is None else int(end.timestamp()),
    )  # fmt: skip


class Bodies:
    """Records by name."""

    def __init__(self, bodies: dict[str, Any]) -> None:
        self.bodies = bodies

    def body(self, name: str) -> Any:
        return self.bodies.get(name)


def test_a_run_is_paid_from_ready_to_its_end_and_one_that_nobody_ended_until_its_time_was_over() -> None:
    began = NOW - timedelta(hours=5)
    day = day_body(
        [
            record("done", began, began + timedelta(minutes=6)),
            record("killed", began, None, hours=2),
            record("none", None, NOW),
        ]
    )
    records: Any = Bodies({names.run_day_object(date(2026, 11, 20)): day})
    found = {each.vm: each for each in run_usages(records, [date(2026, 11, 19), date(2026, 11, 20)], NOW)}
    assert {vm: each.seconds for vm, each in found.items()} == {"done": 360, "killed": 7200}
    assert (found["done"].suite, found["done"].pool, found["done"].run) == ("tpu", "nightly-v6e", "run-done")


def test_a_pool_is_paid_while_its_vms_are_ready_as_far_as_the_controller_remembers() -> None:
    config = load_stack(the_lab(), "ci", alone=True)
    slot = slots(config)[0]
    hour = timedelta(hours=1)

    def event(hours_ago: int, before: str, state: str) -> FleetEvent:
        at = NOW - hours_ago * hour
        return FleetEvent(
            at=at, subject=slot.name, what="", kind=EventKind.STATE, zone=slot.zone, before=before, state=state
        )

    node = NodeMemory(
        state="READY", accelerator=slot.accelerator.name, capacity=CapacityKind.PREEMPTIBLE, ours=True,
        first_seen=NOW - 20 * hour, since=NOW - 2 * hour, seen=NOW,
    )  # fmt: skip
    others = {NodeKey(slot.zone, name): replace(node, ours=False) for name in ("somebodys", "another-stacks")}
    memory = Memory(
        nodes={NodeKey(slot.zone, slot.name): node, **others},
        events=(event(10, "CREATING", "READY"), event(7, "READY", "PREEMPTED"), event(2, "CREATING", "READY")),
    )
    found = list(pool_usages(memory, config, NOW))
    assert [each.seconds / 3600 for each in found] == [3, 2]
    assert {each.pool for each in found} == {slot.pool.name}


def test_a_vm_of_a_window_is_paid_by_its_pool_from_ready_until_it_was_deleted_and_gone() -> None:
    config = load_stack(the_lab(), "nightly", alone=True)
    pool = config.pools[0]
    window = Window(name="night", start="0 2 * * *", duration="1h", time_zone="UTC", adds={"us-central1-b": 1})
    config = config.model_copy(update={"pools": (pool.model_copy(update={"windows": (window,)}),)})
    (slot,) = window_slots(config)

    def event(minutes: int, kind: EventKind, **more: Any) -> FleetEvent:
        return FleetEvent(at=NOW - timedelta(days=1, minutes=-minutes), subject=slot.name, what="", kind=kind, **more)

    night = (
        event(0, EventKind.LISTED, zone=slot.zone, state="CREATING"),
        event(5, EventKind.STATE, zone=slot.zone, before="CREATING", state="READY"),
        event(65, EventKind.DECIDED, verb=Verb.DELETE),
        event(65, EventKind.CAME_TO, verb=Verb.DELETE, result=Result.FAILED),
        event(70, EventKind.DECIDED, verb=Verb.DELETE),
    )
    gone = NodeMemory(
        state="READY", accelerator=slot.accelerator.name, capacity=CapacityKind.PREEMPTIBLE, ours=True,
        first_seen=night[0].at, since=night[1].at, seen=night[4].at, missing=1,
    )  # fmt: skip
    for nodes in ({}, {NodeKey(slot.zone, slot.name): gone}):
        (found,) = pool_usages(Memory(nodes=nodes, events=night), config, NOW)
        assert (found.pool, found.accelerator, found.seconds) == (pool.name, slot.accelerator.name, 65 * 60)
    still = replace(gone, missing=0)
    (standing,) = pool_usages(Memory(nodes={NodeKey(slot.zone, slot.name): still}, events=night), config, NOW)
    assert standing.end == NOW


def test_the_rest_of_a_month_costs_what_the_calendar_says_and_no_slices_of_a_cluster() -> None:
    def lab(windows: str = "[]") -> StackConfig:
        pools = pool(name="night", accelerator="v6e-1", zones="{us-central1-b: 0}", capacity="spot", windows=windows)
        return parse(stack_text(pools=pools))

    weekly = "[{name: week, start: 0 2 * * 1, duration: 2h, time_zone: UTC, adds: {us-central1-b: 1}}]"
    hour = vm_cost("v6e-1", "us-central1-b", CapacityKind.SPOT, Decimal(3600))
    end = datetime(2026, 12, 1, tzinfo=UTC)
    assert hour is not None
    assert declared_cost(lab(), NOW, end) == 0
    assert declared_cost(lab(weekly), NOW, end) == 2 * 2 * hour, "the 23rd and the 30th"
    assert declared_cost(lab(weekly), end, end) == 0
    clustered = load_stack(the_lab(), "training", alone=True)
    assert clustered.slices
    assert declared_cost(clustered.model_copy(update={"pools": ()}), NOW, end) == 0


@pytest.mark.parametrize("month", ["9999-12", "2026-13", "november"])
def test_what_is_no_month_is_refused(month: str) -> None:
    with pytest.raises(Refusal, match="is not a month"):
        cost(["nightly"], month)
