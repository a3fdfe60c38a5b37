"""How long VMs of pools stood: what one sweep adds to a day's record, and what days say together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from infra.model.catalogue import CapacityKind
from infra.model.stood import HEARTBEAT, ReadyVm, StoodDay, noted, read_day, together

NOON = datetime(2026, 12, 3, 12, tzinfo=UTC)
SWEEP = timedelta(minutes=2)


def vm(name: str = "tpu-a-0", made: str = "", zone: str = "us-west4-a") -> ReadyVm:
    spot = CapacityKind.SPOT
    return ReadyVm(vm=name, zone=zone, made=made, pool="tpu", accelerator="v6e-1", capacity=spot)


def swept(day: StoodDay | None, ready: list[ReadyVm], at: datetime, *silent: str, **more: StoodDay) -> StoodDay:
    return noted(day, ready, silent=silent, last=at - SWEEP, now=at, **more)


def minutes(*days: StoodDay) -> list[float]:
    return [(each.end - each.start) / timedelta(minutes=1) for each in together(days) if each.end]


def test_a_vm_counts_from_between_the_sweeps_that_saw_it_come_to_between_those_that_saw_it_go() -> None:
    day = swept(None, [vm()], NOON)
    for turn in range(1, 30):
        day = swept(day, [vm()], NOON + turn * SWEEP)
    day = swept(day, [], NOON + 30 * SWEEP)
    assert minutes(day) == [60.0]
    (row,) = day.vms
    assert (row.start, row.end) == (NOON - SWEEP / 2, NOON + 29.5 * SWEEP)


def test_the_same_sweep_twice_adds_nothing_and_a_quiet_one_is_not_written() -> None:
    day = swept(swept(None, [vm()], NOON), [], NOON + SWEEP)
    assert swept(day, [], NOON + SWEEP) is day
    assert swept(day, [], NOON + 3 * SWEEP) is day
    assert swept(day, [], NOON + SWEEP + HEARTBEAT).seen == NOON + SWEEP + HEARTBEAT


def test_a_vm_that_is_made_again_under_its_name_counts_as_another() -> None:
    day = swept(None, [vm(made="one")], NOON)
    day = swept(day, [vm(made="two")], NOON + SWEEP)
    day = swept(day, [], NOON + 2 * SWEEP)
    assert minutes(day) == [2.0, 2.0]


def test_a_zone_that_does_not_answer_ends_no_vm_of_its_own() -> None:
    day = swept(None, [vm(), vm("tpu-b-0", zone="us-east1-d")], NOON)
    day = swept(day, [], NOON + SWEEP, "us-west4-a")
    assert [(each.vm, each.end is None) for each in day.vms] == [("tpu-a-0", True), ("tpu-b-0", False)]


def test_what_stands_over_midnight_is_one_vm_in_two_records_and_counts_once() -> None:
    evening, morning = datetime(2026, 12, 3, 23, 59, tzinfo=UTC), datetime(2026, 12, 4, 0, 1, tzinfo=UTC)
    first = swept(None, [vm()], evening)
    second = swept(None, [vm()], morning, before=first)
    second = swept(second, [], morning + SWEEP)
    assert minutes(first, second) == [4.0]
    gone = swept(None, [], morning, before=first)
    assert minutes(first, gone) == [2.0], "it went at midnight, between two sweeps"


def test_a_controller_that_was_killed_leaves_what_it_had_seen_and_counts_half_of_its_absence() -> None:
    killed = swept(None, [vm()], NOON)
    assert minutes(killed) == [1.0]
    after = noted(killed, [], silent=(), last=NOON, now=NOON + timedelta(hours=2))
    assert minutes(after) == [61.0]


def test_a_record_is_read_as_it_was_written_and_another_shape_is_refused() -> None:
    day = swept(None, [vm()], NOON)
    assert read_day(day.to_json()) == day
    assert read_day(None) is None
    with pytest.raises(ValueError, match="what stood in a day cannot be read at version"):
        read_day({"version": 2, "seen": NOON.isoformat()})
