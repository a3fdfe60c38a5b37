"""Days and hours that a stack file names: freeze windows in their own time zone, and days on which exceptions end.

Owns the arithmetic of time. Does not own which keys say it (schema) nor what follows from it (rules, preview).

A day stands for all of itself: a window `to: 2027-01-03` ends when that day does, in its time zone. A moment such as
2027-01-03T12:00 is the wall clock there; where clocks go back and it occurs twice, the first of the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

if TYPE_CHECKING:
    from infra.model.schema import Freeze

D = TypeVar("D", date, datetime)

# Readers of YAML that know dates hand an unquoted day over as its midnight; the pulumi CLI does, in Go's own spelling.
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(T00:00:00Z| 00:00:00 \+0000 UTC)?")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}")
YEARS = range(2000, 3000)
"""Years of which a day can be in any time zone, and have a next day: the calendar of machines ends with 9999."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeStanding:
    """A freeze window that an instant lies in, and whether an override that is still good lets changes pass."""

    freeze: Freeze
    overridden: bool


def parse_day(text: str) -> date:
    """The day of `2026-12-20`; ValueError for anything else, and beyond YEARS."""
    match = _DAY.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is no day")
    return in_our_time(date.fromisoformat(match[1]))


def parse_moment(text: str) -> date | datetime:
    """A day, or a wall-clock moment such as `2026-12-20T18:00`; ValueError for anything else, and beyond YEARS."""
    return in_our_time(datetime.fromisoformat(text)) if _MOMENT.fullmatch(text) else parse_day(text)


def in_our_time(day: D) -> D:
    """The same day; ValueError beyond YEARS."""
    if day.year not in YEARS:
        raise ValueError(f"{day} is in no year from {YEARS[0]} to {YEARS[-1]}")
    return day


def is_time_zone(name: str) -> bool:
    """Whether the time zone database has that name."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def begins(freeze: Freeze) -> datetime:
    """The first instant of a window."""
    return _instant(freeze.start, freeze.time_zone, days=0)


def ends(freeze: Freeze) -> datetime:
    """The first instant after a window."""
    return _instant(freeze.end, freeze.time_zone, days=1)


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


def expired(last_day: date, instant: datetime) -> bool:
    """Whether a thing that is good through `last_day` (in UTC) is over."""
    return instant.astimezone(UTC).date() > last_day


def _overridden(freeze: Freeze, instant: datetime) -> bool:
    return freeze.override is not None and instant < _instant(freeze.override.until, freeze.time_zone, days=1)


def _instant(moment: date | datetime, time_zone: str, *, days: int) -> datetime:
    """`days` are added to what is a whole day, on the calendar: not every day has 24 hours."""
    wall = moment if isinstance(moment, datetime) else datetime.combine(moment + timedelta(days=days), time())
    return wall.replace(tzinfo=ZoneInfo(time_zone))
