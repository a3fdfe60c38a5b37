"""Days, moments and time zones as a stack file names them, and days on which exceptions end.

Does not own which keys say it (schema) nor what follows from it (freezes, rules, preview).
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

import tzdata

D = TypeVar("D", date, datetime)

# Readers of YAML that know dates hand an unquoted day over as its midnight; the pulumi CLI does, in Go's own spelling.
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(T00:00:00Z| 00:00:00 \+0000 UTC)?")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}")
YEARS = range(2000, 3000)
"""Years of which a day can be in any time zone, and have a next day: the calendar of machines ends with 9999."""


MAX_LENGTH: Final = timedelta(days=7)
"""Of a window: what stands longer is a count of its own."""
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def length_of(text: str) -> timedelta:
    """The time that `90s`, `90m`, `2h` or `1d` names, on a stopwatch and not on the wall clock."""
    return timedelta(**{_UNITS[text[-1]]: int(text[:-1])})


def parse_day(text: str) -> date:
    """The day of `2026-12-20`; ValueError for anything else, and beyond YEARS."""
    match = _DAY.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a day")
    return in_our_time(date.fromisoformat(match[1]))


def parse_moment(text: str) -> date | datetime:
    """A day, or a wall-clock moment such as `2026-12-20T18:00`; ValueError for anything else, and beyond YEARS."""
    return in_our_time(datetime.fromisoformat(text)) if _MOMENT.fullmatch(text) else parse_day(text)


def in_our_time(day: D) -> D:
    """The same day; ValueError beyond YEARS."""
    if day.year not in YEARS:
        raise ValueError(f"{day} is in no year from {YEARS[0]} to {YEARS[-1]}")
    return day


@cache
def time_zones() -> frozenset[str]:
    """The names of the time zone database, links included.

    A machine's own database has more, such as `localtime` and `posixrules`, which mean another zone on each machine.
    """
    listed = Path(tzdata.__file__).with_name("zones").read_text(encoding="utf-8").split()
    return frozenset(listed) - {"Factory"}


def midnight() -> datetime:
    """The beginning of this day in UTC, by this machine's clock: from when on windows are held to limits."""
    return begin_of_day(datetime.now(UTC))  # noqa: TID251 - a stack file is checked before a cloud is chosen


def begin_of_day(instant: datetime) -> datetime:
    """The beginning of its day in UTC."""
    return instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def expired(last_day: date, instant: datetime) -> bool:
    """Whether a thing that is good through `last_day` (in UTC) is over."""
    return instant.astimezone(UTC).date() > last_day
