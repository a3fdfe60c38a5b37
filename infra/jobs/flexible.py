"""How many slices a flexible job has: a state machine over a clock, which asks nobody and waits for nothing.

The lab's rules: the largest allowed number that fits now; more is considered every 3 h, and not within 12 h of a
change; fewer than the smallest allowed number is an error. A change restarts the job from its last checkpoint, so that
each one costs what was computed since.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from infra.jobs.request import Resources

CONSIDER_EVERY: Final = 3 * 3600.0
STAY_AFTER_CHANGE: Final = 12 * 3600.0


class TooFewSlicesError(Exception):
    """Not even the smallest allowed number of slices fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flexible:
    """A job's number of slices. Times are seconds of one clock. looked: when more was last considered."""

    count: int
    changed: float
    looked: float


@dataclass(frozen=True, slots=True)
class Start:
    """Submit the job, or submit it anew, on so many slices."""

    count: int


@dataclass(frozen=True, slots=True)
class Stay:
    """Leave it as it is; look again at that time."""

    until: float


def begin(resources: Resources, free: int, now: float) -> tuple[Flexible, Start]:
    """The largest allowed number that fits. TooFewSlicesError where none does."""
    count = _largest(resources, free)
    return Flexible(count=count, changed=now, looked=now), Start(count)


def step(
    state: Flexible, resources: Resources, *, standing: int, free: int, now: float
) -> tuple[Flexible, Start | Stay]:
    """What follows of a look. standing: slices of the job that it still has; free: others that it could have now.

    A job that lost slices goes on with what is left at once, for a gang that is not whole computes nothing. Raises
    TooFewSlicesError where that is below the smallest allowed number.
    """
    if standing < state.count:
        count = _largest(resources, standing + free)
        return Flexible(count=count, changed=now, looked=now), Start(count)
    due = max(state.looked + CONSIDER_EVERY, state.changed + STAY_AFTER_CHANGE)
    if now < due:
        return state, Stay(due)
    count = _largest(resources, state.count + free)
    if count > state.count:
        return Flexible(count=count, changed=now, looked=now), Start(count)
    return replace(state, looked=now), Stay(now + CONSIDER_EVERY)


def _largest(resources: Resources, available: int) -> int:
    fitting = [count for count in resources.slice_counts if count <= available]
    if not fitting:
        least = resources.slice_counts[0]
        raise TooFewSlicesError(f"free slices: {available}; the job needs at least {least}")
    return fitting[-1]
