"""What sweeps write down of VMs: over days without a sweep, and beside records that cannot be read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from infra.fleet.controller.books import Books
from infra.fleet.controller.memory import EMPTY
from infra.model import bucket_names, run_labels
from infra.model.catalogue import CapacityKind
from infra.model.run_records import RunVmRecord, day_body, day_records
from infra.model.stood import read_day, together
from tests.fleet.controller.given_fleet import Shelf, fleet, node, nodes, seen

FIRST = datetime(2026, 12, 1, 10, tzinfo=UTC)
DAY = timedelta(days=1)


def kept(records: Any, last: datetime | None, now: datetime, **given: Any) -> None:
    desired = fleet(1)
    Books(records=records, stack="ci", last=last).keep(seen(desired, **given), EMPTY, now)


def hours(records: Shelf) -> list[float]:
    days = [
        read_day(records.body(bucket_names.stood_day_object("ci", (FIRST + after * DAY).date()))) for after in range(5)
    ]
    return [(each.end - each.start) / timedelta(hours=1) for each in together(filter(None, days)) if each.end]


def test_a_vm_that_stood_through_days_without_a_sweep_counts_for_all_of_them() -> None:
    records, made = Shelf(), nodes(fleet(1))
    kept(records, None, FIRST, nodes=made)
    kept(records, FIRST, FIRST + 3 * DAY, nodes=made)
    assert hours(records) == [72.0]


def test_a_run_makers_record_that_cannot_be_read_holds_no_sweep() -> None:
    expired = {"tidepool-stack": "ci", run_labels.RUN: "7-1", run_labels.EXPIRES: str(int(FIRST.timestamp()) - 60)}
    records = Shelf()
    records.bodies[bucket_names.run_day_object(FIRST.date())] = {"version": 1, "vms": [5]}
    kept(records, None, FIRST, nodes=(node("lost", labels=expired, created=FIRST.isoformat()),))
    assert bucket_names.stood_day_object("ci", FIRST.date()) in records.bodies


def test_the_end_of_a_lost_run_is_written_beside_a_day_that_cannot_be_read() -> None:
    expires = int(FIRST.timestamp()) - 60
    counted = RunVmRecord(
        vm="lost", run="7", suite="", stack="ci", pool="tpu-ci", accelerator="v5litepod-4", zone="us-west4-a",
        capacity=CapacityKind.SPOT, asked=expires - 3600, expires=expires, start=expires - 3500,
    )  # fmt: skip
    own, other = bucket_names.run_day_object(FIRST.date()), bucket_names.run_day_object((FIRST - DAY).date())
    records = Shelf()
    records.bodies |= {other: {"version": 99}, own: day_body([counted])}
    expired = {"tidepool-stack": "ci", run_labels.RUN: "7", run_labels.EXPIRES: str(expires)}
    kept(records, None, FIRST, nodes=(node("lost", labels=expired, created=FIRST.isoformat()),))
    (closed,) = day_records(records.bodies[own])
    assert (closed.end, closed.reason) == (int(FIRST.timestamp()), "client-lost")
