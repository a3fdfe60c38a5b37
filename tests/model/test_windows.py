"""Windows of pools: their intervals through every change of clocks, and what they draw on limits and cost.

The intervals are held to a second calculation that shares nothing with the first: it walks through time minute by
minute, asks zoneinfo for the wall clock, and compares its numbers with sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model import windows
from infra.model.cost import charges
from infra.model.fleet import every_slot, pool_slots, window_slots
from infra.model.ledger import accounts
from infra.model.schema import Window
from infra.model.stack import read_stack
from infra.model.windows import openings
from tests.model.given import NOW, cost_of, parse, pool, stack_text

MINUTE = timedelta(minutes=1)
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Santiago",  # its clocks change at midnight, as Cairo's and Beirut's do
    "Africa/Cairo",
    "Asia/Beirut",
    "Africa/Casablanca",
    "Asia/Kolkata",
    "Pacific/Chatham",
)
LEAP_DAY, YEAR_END = date(2028, 2, 29), date(2027, 12, 31)


@dataclass(frozen=True)
class Cron:
    """A cron as sets of numbers; None stands for a star. Sunday is 0."""

    minute: int
    hours: frozenset[int] | None
    days: frozenset[int] | None
    months: frozenset[int] | None
    weekdays: frozenset[int] | None

    def __str__(self) -> str:
        fields = (self.hours, self.days, self.months, self.weekdays)
        return " ".join([str(self.minute), *("*" if f is None else ",".join(map(str, sorted(f))) for f in fields)])

    def matches(self, wall: datetime) -> bool:
        month_day = self.days is None or wall.day in self.days
        week_day = self.weekdays is None or wall.isoweekday() % 7 in self.weekdays
        both = self.days is None or self.weekdays is None
        return (
            wall.minute == self.minute
            and (self.hours is None or wall.hour in self.hours)
            and (self.months is None or wall.month in self.months)
            and ((month_day and week_day) if both else (month_day or week_day))
        )


def numbers(least: int, most: int) -> st.SearchStrategy[frozenset[int] | None]:
    return st.none() | st.frozensets(st.integers(least, most), min_size=1, max_size=3)


LENGTHS = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}


def comes_round(cron: Cron) -> bool:
    """Not on the 30th of February alone."""
    if cron.days is None or cron.weekdays is not None:
        return True
    return min(cron.days) <= max(LENGTHS.get(month, 31) for month in cron.months or {1})


CRONS = st.builds(
    Cron,
    minute=st.sampled_from((0, 15, 30, 59)),
    hours=st.none() | st.frozensets(st.sampled_from((0, 1, 2, 3, 4, 23)), min_size=1, max_size=2),
    days=st.none() | st.frozensets(st.sampled_from((1, 8, 28, 29, 30, 31)), min_size=1, max_size=3),
    months=numbers(1, 12),
    weekdays=numbers(0, 6),
).filter(comes_round)


def changes_of_clocks(zone: str, year: int) -> Iterator[date]:
    """The days of a year in which a zone changes its clocks."""
    day = datetime(year, 1, 1, tzinfo=UTC)
    while day.year == year:
        if (day + timedelta(days=1)).astimezone(ZoneInfo(zone)).utcoffset() != day.astimezone(
            ZoneInfo(zone)
        ).utcoffset():
            yield day.date()
        day += timedelta(days=1)


@st.composite
def places_in_time(draw: st.DrawFn) -> tuple[str, datetime]:
    """A time zone, and an instant just before clocks change there, a month ends, or the leap day comes."""
    zone = draw(st.sampled_from(ZONES))
    days = [*changes_of_clocks(zone, 2027), *changes_of_clocks(zone, 2028), LEAP_DAY, YEAR_END]
    day = draw(st.sampled_from(days)) - timedelta(days=draw(st.integers(0, 2)))
    return zone, datetime(day.year, day.month, day.day, draw(st.integers(0, 23)), tzinfo=UTC)


def minutes_from(begin: datetime, end: datetime) -> Iterator[datetime]:
    while begin < end:
        yield begin
        begin += MINUTE


def fires(cron: Cron, zone: ZoneInfo, begin: datetime, end: datetime) -> Iterator[datetime]:
    """When a cron comes due, looked up on the wall clock of every minute."""
    for instant in minutes_from(begin, end):
        wall = instant.astimezone(zone)
        passed = [wall]
        if cron.hours is not None:  # a fixed time: it is not skipped with an hour, and does not come twice
            if wall.fold:
                continue
            before = (instant - MINUTE).astimezone(zone)
            skipped = int((wall.replace(tzinfo=None) - before.replace(tzinfo=None)) / MINUTE)
            passed += [wall.replace(tzinfo=None) - each * MINUTE for each in range(1, skipped)]
        if any(cron.matches(each) for each in passed):
            yield instant


def open_minutes(cron: Cron, window: Window, begin: datetime, end: datetime) -> set[datetime]:
    """The minutes from begin to end in which a window is open."""
    zone, found = ZoneInfo(window.time_zone), set[datetime]()
    for start in fires(cron, zone, begin - window.length, end):
        day = start.astimezone(zone).date()
        if day not in window.days_off and (window.until is None or day <= window.until):
            found.update(minutes_from(max(start, begin), min(start + window.length, end)))
    return found


def night(**given: object) -> Window:
    usual = {"name": "night", "start": "0 2 * * *", "duration": "1h", "time_zone": "UTC", "adds": {"us-central1-b": 1}}
    return Window.model_validate(usual | given)


def at(*when: int) -> datetime:
    return datetime(*when, tzinfo=UTC)


@given(cron=CRONS, place=places_in_time(), minutes=st.integers(1, 30 * 60), off=st.booleans(), ends=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_window_is_open_in_the_minutes_that_the_wall_clock_says(
    cron: Cron, place: tuple[str, datetime], minutes: int, off: bool, ends: bool
) -> None:
    zone, begin = place
    end = begin + timedelta(days=3)
    days_off = [(begin + timedelta(days=1)).date()] if off else []
    until = {"until": (begin + timedelta(days=2)).date()} if ends else {}
    window = night(start=str(cron), duration=f"{minutes}m", time_zone=zone, days_off=days_off, **until)
    found = openings(window, begin, end)
    inside = {minute for each in found for minute in minutes_from(max(each.start, begin), min(each.end, end))}
    assert inside == open_minutes(cron, window, begin, end)
    assert [each.start for each in found] == sorted(each.start for each in found)
    assert windows.open_hours(window, begin, end) == Decimal(len(inside)) / 60


def test_a_window_that_opens_before_it_closed_stays_open() -> None:
    around = night(start="0 0 * * *", duration="1d")
    assert len(openings(around, at(2027, 1, 1), at(2027, 2, 1))) == 1
    assert windows.month_hours(around, 730) == 730


@given(
    crons=st.lists(CRONS, min_size=1, max_size=3),
    amounts=st.lists(st.integers(1, 4), min_size=3, max_size=3),
    minutes=st.integers(1, 600),
)
@settings(max_examples=25, deadline=None)
def test_a_peak_is_the_most_of_any_minute_and_the_first_of_them(
    crons: list[Cron], amounts: list[int], minutes: int
) -> None:
    begin, end = at(2027, 3, 27), at(2027, 3, 30)
    drawn = [
        (night(start=str(cron), duration=f"{minutes}m", time_zone="Europe/Berlin"), amount)
        for cron, amount in zip(crons, amounts, strict=False)
    ]
    every = [open_minutes(cron, window, begin, end) for cron, (window, _) in zip(crons, drawn, strict=True)]
    sums = {
        minute: sum(amount for (_, amount), those in zip(drawn, every, strict=True) if minute in those)
        for minute in minutes_from(begin, end)
    }
    most = max(sums.values())
    found = windows.peak(drawn, begin, end)
    assert found.amount == most
    assert not most or found.at == next(minute for minute, amount in sums.items() if amount == most)


WINDOW = "{name: night, start: 0 2 * * *, duration: 2h, time_zone: UTC, adds: {us-west4-a: 2}}"
EVENING = "{name: evening, start: 0 1 * * *, duration: 2h, time_zone: UTC, adds: {us-west4-a: 1}}"
QUOTA = "- {project: my-lab, zone: us-west4-a, generation: v5e, chips: %s, kind: preemptible}\n"


def windowed(*given: str, **fields: object) -> str:
    return pool(windows=f"[{', '.join(given)}]", **fields)


def test_a_month_counts_the_hours_of_windows_and_adds_them_up() -> None:
    alone = cost_of(parse(stack_text(pools=pool()))).declared
    one = cost_of(parse(stack_text(pools=windowed(WINDOW)))).declared
    two = cost_of(parse(stack_text(pools=windowed(WINDOW, EVENING)))).declared
    share = Decimal(2) * 2 / 24
    assert abs((one.month - alone.month * (1 + share)).known) < Decimal("0.02")
    assert abs((two.month - one.month - alone.month * Decimal(2) / Decimal(24)).known) < Decimal("0.02")
    assert one.hour == alone.hour * Decimal(3)


def test_slots_of_windows_come_after_those_that_stand() -> None:
    config = parse(stack_text(pools=windowed(WINDOW, EVENING)))
    (own,) = config.pools
    assert [slot.name for slot in pool_slots(config, own)] == ["other-us-west4-a-0"]
    assert [slot.name for slot in window_slots(config)] == [f"other-us-west4-a-{index}" for index in (1, 2, 3)]
    assert every_slot(config) == (*pool_slots(config, own), *window_slots(config))


@pytest.mark.parametrize(
    ("given_windows", "most"),
    [
        ((), 0),
        ((WINDOW,), 8),
        ((WINDOW.replace("UTC", "UTC, until: 2027-01-01"),), 8),
        ((WINDOW.replace("UTC", "UTC, until: 2026-12-31"),), 0),
        ((WINDOW.replace("UTC", "UTC, until: 2026-12-31"), EVENING), 4),
    ],
    ids=["none", "one", "last day", "over", "one of two over"],
)
def test_a_window_draws_its_chips_until_its_last_day_is_over(given_windows: tuple[str, ...], most: int) -> None:
    (account,) = accounts(parse(stack_text(pools=windowed(*given_windows), quotas=QUOTA % 64)))
    assert account.peak(at(2027, 1, 1)) == most


@pytest.mark.parametrize(("chips", "fits"), [(12, True), (11, False)])
def test_one_window_is_held_to_the_limit_to_the_chip(chips: int, fits: bool) -> None:
    text = stack_text(pools=windowed(WINDOW), quotas=QUOTA % chips)
    (account,) = accounts(read_stack(text.encode(), stack="ci", source="ci").parts.config)
    found = account.overdrawn(at(2027, 1, 1))
    assert found == (None if fits else windows.Peak(at(2027, 1, 1, 2), 8, (0,)))


@pytest.mark.parametrize(
    ("fields", "drawn"),
    [
        ({}, [("night", 2)]),
        ({"accelerator": "v6e-1"}, []),
        ({"fallback": "[{zone: us-west1-c, capacity: spot}]"}, [("night", 2)]),
        ({"fallback": "[{zone: us-west4-a, capacity: spot}]"}, [("night", 5), ("west", 1)]),
    ],
    ids=["its zone alone", "another generation", "fallback elsewhere", "all by fallback"],
)
def test_windows_draw_in_the_zone_of_a_limit_and_what_fallbacks_may_bring_there(
    fields: dict[str, str], drawn: list[tuple[str, int]]
) -> None:
    both = WINDOW.replace("us-west4-a: 2", "us-west4-a: 2, us-west1-c: 3")
    west = EVENING.replace("us-west4-a", "us-west1-c").replace("evening", "west")
    pools = windowed(both, west, zones="{us-west4-a: 1, us-west1-c: 1}", **fields)
    (account,) = accounts(
        read_stack(stack_text(pools=pools, quotas=QUOTA % 64).encode(), stack="ci", source="").parts.config
    )
    assert [(each.window.name, each.slices) for each in account.windows] == drawn


@pytest.mark.parametrize(
    ("zone", "standing", "hours"),
    [("us-west4-a", 1, Decimal(730 * 24 + 2 * 730 * 2) / 24 / 3), ("us-west4-a", 0, Decimal(730 * 2) / 24),
     ("us-west1-c", 1, Decimal(730)), ("us-west1-c", 0, Decimal(730))],
)  # fmt: skip
def test_hours_of_a_vm_are_the_average_of_what_stands_always_and_what_stands_in_windows(
    zone: str, standing: int, hours: Decimal
) -> None:
    zones = f"{{us-west4-a: {standing}, us-west1-c: {standing}}}"
    found = {each.zone: each.hours for each in charges(parse(stack_text(pools=windowed(WINDOW, zones=zones))), NOW)}
    assert abs(found[zone] - hours) < Decimal("0.01")
