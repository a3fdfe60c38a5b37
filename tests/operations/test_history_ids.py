"""Names of operations on a stack, by which the newest is found."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from infra.fleet.history import new_id


def test_operations_that_begin_in_one_second_sort_by_time() -> None:
    began = datetime(2026, 11, 23, 20, 4, 35, tzinfo=UTC)
    ids = [new_id(began + timedelta(microseconds=step)) for step in (0, 9, 17, 999_999, 1_000_000)]
    assert ids == sorted(ids)
    assert ids[0].startswith("20261123T200435Z-00000")
