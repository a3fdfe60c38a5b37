"""When windows of a pool are open, as exact intervals, and the most that is open at once.

Owns the step from a cron, a length and a time zone to instants. Does not own which VMs that means (fleet), nor what
they draw on limits (ledger) and cost (cost).

A cron is read as Debian's cron reads it (crontab(5), cron(8), read 2026-11): days of the month and of the week are both
asked where one of them starts with a star, else one of them is enough. Where clocks go forward, a start at a fixed time
that they skip comes at the first minute after; where they go back, it comes once, the first time. A start whose minute
or hour begins with a star goes by the clock alone: it is skipped with the hour, and comes again with it. A window's
length is that of a stopwatch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim

from infra.model.schema import Window

HORIZON: Final = timedelta(days=5 * 366)
"""How far ahead windows are held to limits: every leap day, and every change of clocks, comes within it."""
_TYPICAL: Final = (datetime(2027, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC))
"""A year of 8,760 hours, as price lists count it: what an average month is taken from."""
_MARGIN: Final = timedelta(days=1)
"""More than clocks are ever put forward or back at once."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From one instant to another, in UTC; its end is the first instant after it."""

    start: datetime
    end: datetime

    def within(self, begin: datetime, end: datetime) -> Interval:
        """Its part in [begin, end), with which it has an instant in common."""
        return Interval(max(self.start, begin), min(self.end, end))

    @property
    def length(self) -> timedelta:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Peak:
    """The most that is open at once, the first instant at which it is, and who is open then."""

    at: datetime
    amount: int
    open: tuple[int, ...]


def openings(window: Window, begin: datetime, end: datetime) -> tuple[Interval, ...]:
    """The intervals of a window that have an instant in [begin, end), in order; where starts overlap they are one."""
    return tuple(each for each in _intervals(*_key(window), begin, end) if each.start < end and begin < each.end)


def is_open(window: Window, now: datetime) -> bool:
    """Whether it is open at an instant."""
    return any(each.start <= now < each.end for each in openings(window, now, now + timedelta(minutes=1)))


def ended(window: Window, now: datetime) -> bool:
    """Whether its last day is over and it is closed for good."""
    over = window.until is not None and now.astimezone(ZoneInfo(window.time_zone)).date() > window.until
    return over and not is_open(window, now)


def open_hours(window: Window, begin: datetime, end: datetime) -> Decimal:
    """For how many hours of [begin, end) it is open."""
    return _hours(sum((each.within(begin, end).length for each in openings(window, begin, end)), timedelta()))


def month_hours(window: Window, hours_per_month: int) -> Decimal:
    """The hours of an average month in which it is open; days off and its last day are not taken out."""
    begin, end = _TYPICAL
    always = window.model_copy(update={"days_off": (), "until": None})
    return open_hours(always, begin, end) * hours_per_month / _hours(end - begin)


def peak(drawn: Sequence[tuple[Window, int]], begin: datetime, end: datetime) -> Peak:
    """The most that those windows draw together at any instant of [begin, end): the first of several such instants."""
    marks: list[tuple[datetime, int, int]] = []
    for index, (window, _) in enumerate(drawn):
        for each in openings(window, begin, end):
            marks += [(max(each.start, begin), 1, index), (each.end, -1, index)]
    most, running = Peak(begin, 0, ()), set[int]()
    marks.sort(key=lambda mark: mark[:2])  # what closes at an instant makes room for what opens then
    for at, step, index in marks:
        (running.add if step > 0 else running.discard)(index)
        amount = sum(drawn[each][1] for each in running)
        if amount > most.amount:
            most = Peak(at, amount, tuple(sorted(running)))
    return most


def _hours(length: timedelta) -> Decimal:
    return Decimal(int(length.total_seconds())) / 3600


def _key(window: Window) -> tuple[timedelta, str, str, tuple[date, ...], date | None]:
    return window.length, window.start, window.time_zone, window.days_off, window.until


@lru_cache(maxsize=256)
def _intervals(
    length: timedelta,
    cron: str,
    time_zone: str,
    days_off: tuple[date, ...],
    until: date | None,
    begin: datetime,
    end: datetime,
) -> tuple[Interval, ...]:
    found: list[Interval] = []
    for start in _starts(cron, time_zone, days_off, until, begin - length - _MARGIN):
        if start >= end:
            break
        if found and start <= found[-1].end:
            found[-1] = Interval(found[-1].start, max(found[-1].end, start + length))
        else:
            found.append(Interval(start, start + length))
    return tuple(found)


def _starts(
    cron: str, time_zone: str, days_off: tuple[date, ...], until: date | None, after: datetime
) -> Iterator[datetime]:
    for local in CronSim(cron, after.astimezone(ZoneInfo(time_zone))):
        if until is not None and local.date() > until:
            return
        if local.date() not in days_off:
            yield local.astimezone(UTC)
