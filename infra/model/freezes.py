"""Freeze windows in their own time zone: which of them an instant lies in, and when none holds.

A day stands for all of itself: a window `to: 2027-01-03` ends when that day does, in its time zone. A moment such as
2027-01-03T12:00 is the wall clock there; where clocks go back and it occurs twice, the first of the two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from infra.model.schema import Freeze


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeStanding:
    """A freeze window that an instant lies in, and whether an override that is still good lets changes pass."""

    freeze: Freeze
    overridden: bool


def begins(freeze: Freeze) -> datetime:
    """The first instant of a window."""
    return _instant(freeze.start, freeze.time_zone, days=0)


def ends(freeze: Freeze) -> datetime:
    """The first instant after a window."""
    return _instant(freeze.end, freeze.time_zone, days=1)


def is_skipped(moment: date | datetime, time_zone: str) -> bool:
    """Whether clocks there are set forward over a moment of the wall clock, so that it never comes."""
    if not isinstance(moment, datetime):
        return False
    there = moment.replace(tzinfo=ZoneInfo(time_zone))
    return there.astimezone(UTC).astimezone(there.tzinfo).replace(tzinfo=None) != moment


def standing(freezes: Iterable[Freeze], instant: datetime) -> tuple[FreezeStanding, ...]:
    """The windows that `instant` (with a time zone) lies in, in the order in which they are declared."""
    return tuple(
        FreezeStanding(freeze=freeze, overridden=_overridden(freeze, instant))
        for freeze in freezes
        if begins(freeze) <= instant < ends(freeze)
    )


def thaws(freezes: Iterable[Freeze], instant: datetime) -> datetime:
    """From when on no window holds, seen from `instant` (with a time zone): itself where none does now."""
    declared = tuple(freezes)
    while holding := [each.freeze for each in standing(declared, instant) if not each.overridden]:
        instant = max(ends(freeze) for freeze in holding)
    return instant.astimezone(UTC)


def _overridden(freeze: Freeze, instant: datetime) -> bool:
    return freeze.override is not None and instant < _instant(freeze.override.until, freeze.time_zone, days=1)


def _instant(moment: date | datetime, time_zone: str, *, days: int) -> datetime:
    """`days` are added to what is a whole day, on the calendar: not every day has 24 hours."""
    wall = moment if isinstance(moment, datetime) else datetime.combine(moment + timedelta(days=days), time())
    return wall.replace(tzinfo=ZoneInfo(time_zone))
