"""How many slices a flexible job has, by a clock that tests move."""

from __future__ import annotations

import pytest

from infra.jobs.flexible import Start, Stay, TooFewSlicesError, begin, step
from infra.jobs.request import Resources

HOUR = 3600.0
FLEXIBLE = Resources.with_tpu("v4-32", [1, 2, 4])


def test_a_job_begins_on_the_most_slices_that_fit() -> None:
    assert [begin(FLEXIBLE, free, 0.0)[1] for free in (1, 2, 3, 4, 9)] == [
        Start(1),
        Start(2),
        Start(2),
        Start(4),
        Start(4),
    ]


def test_less_than_the_smallest_number_is_an_error() -> None:
    with pytest.raises(TooFewSlicesError, match="at least 2"):
        begin(Resources.with_tpu("v4-32", [2, 4]), 1, 0.0)
    state, _ = begin(Resources.with_tpu("v4-32", [2, 4]), 2, 0.0)
    with pytest.raises(TooFewSlicesError):
        step(state, Resources.with_tpu("v4-32", [2, 4]), standing=1, free=0, now=HOUR)


def test_more_is_not_considered_within_twelve_hours_of_a_change() -> None:
    state, _ = begin(FLEXIBLE, 1, 0.0)
    for hour in (1, 3, 6, 11.9):
        state, action = step(state, FLEXIBLE, standing=1, free=3, now=hour * HOUR)
        assert action == Stay(12 * HOUR)
    state, action = step(state, FLEXIBLE, standing=1, free=3, now=12 * HOUR)
    assert action == Start(4)
    assert (state.count, state.changed) == (4, 12 * HOUR)


def test_more_is_considered_every_three_hours() -> None:
    state, _ = begin(FLEXIBLE, 1, 0.0)
    looks = []
    now = 12 * HOUR
    for _ in range(3):
        state, action = step(state, FLEXIBLE, standing=1, free=0, now=now)
        assert isinstance(action, Stay)
        looks.append(action.until / HOUR)
        assert step(state, FLEXIBLE, standing=1, free=3, now=action.until - 1)[1] == action, "not before its time"
        now = action.until
    assert looks == [15, 18, 21]
    assert step(state, FLEXIBLE, standing=1, free=1, now=now)[1] == Start(2)


def test_a_lost_slice_is_answered_at_once_and_begins_the_twelve_hours_anew() -> None:
    state, _ = begin(FLEXIBLE, 4, 0.0)
    state, action = step(state, FLEXIBLE, standing=3, free=0, now=HOUR)
    assert action == Start(2)
    assert step(state, FLEXIBLE, standing=2, free=2, now=12.5 * HOUR)[1] == Stay(13 * HOUR)
    assert step(state, FLEXIBLE, standing=2, free=2, now=13 * HOUR)[1] == Start(4)
