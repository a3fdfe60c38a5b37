"""Windows of pools: their intervals through every change of clocks, and what they draw on limits and cost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from infra.model import windows
from infra.model.cost import charges
from infra.model.fleet import every_slot, pool_slots, window_slots
from infra.model.ledger import accounts
from infra.model.schema import Window
from infra.model.stack import read_stack
from infra.model.windows import openings
from tests.model.given import NOW, cost_of, parse, pool, stack_text


def night(**given: object) -> Window:
    usual = {"name": "night", "start": "0 2 * * *", "duration": "1h", "time_zone": "UTC", "adds": {"us-central1-b": 1}}
    return Window.model_validate(usual | given)


def at(*when: int) -> datetime:
    return datetime(*when, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "duration", "zone", "begin", "hours", "more", "expected"),
    [
        (
            "30 2 * * *", "1h", "Europe/Berlin", (2027, 3, 27), 72, {},
            "03-27T01:30/03-27T02:30 03-28T01:00/03-28T02:00 03-29T00:30/03-29T01:30",
        ),
        (
            "15 * * * *", "30m", "Europe/Berlin", (2027, 3, 28), 3, {},
            "03-28T00:15/03-28T00:45 03-28T01:15/03-28T01:45 03-28T02:15/03-28T02:45",
        ),
        (
            "30 2 * * *", "1h", "Europe/Berlin", (2027, 10, 30), 72, {},
            "10-30T00:30/10-30T01:30 10-31T00:30/10-31T01:30 11-01T01:30/11-01T02:30",
        ),
        (
            "15 * * * *", "30m", "Europe/Berlin", (2027, 10, 31), 3, {},
            "10-31T00:15/10-31T00:45 10-31T01:15/10-31T01:45 10-31T02:15/10-31T02:45",
        ),
        (
            "0 0 * * *", "90m", "America/Santiago", (2027, 9, 4), 72, {},
            "09-04T04:00/09-04T05:30 09-05T04:00/09-05T05:30 09-06T03:00/09-06T04:30",
        ),
        (
            "30 0 * * *", "2h", "Asia/Beirut", (2027, 3, 27), 72, {},
            "03-26T22:30/03-27T00:30 03-27T22:00/03-28T00:00 03-28T21:30/03-28T23:30 03-29T21:30/03-29T23:30",
        ),
        (
            "0 3 1 * 0", "2h", "America/New_York", (2027, 5, 30), 216, {},
            "05-30T07:00/05-30T09:00 06-01T07:00/06-01T09:00 06-06T07:00/06-06T09:00",
        ),
        (
            "0 3 * * 1,5", "2h", "America/New_York", (2027, 10, 29), 120, {},
            "10-29T07:00/10-29T09:00 11-01T07:00/11-01T09:00",
        ),
        ("0 12 29 2 *", "1h", "UTC", (2028, 2, 28), 72, {}, "02-29T12:00/02-29T13:00"),
        ("0 12 29,30 2,3 *", "1h", "UTC", (2027, 2, 27), 792, {}, "03-29T12:00/03-29T13:00 03-30T12:00/03-30T13:00"),
        ("59 23 31 * *", "2h", "Pacific/Chatham", (2027, 12, 30), 96, {}, "12-31T10:14/12-31T12:14"),
        ("0 2,3 * * *", "30h", "Asia/Kolkata", (2027, 1, 1), 72, {}, "12-29T20:30/01-05T03:30"),
        (
            "0 23 * * *", "4h", "UTC", (2027, 1, 2), 72, {},
            "01-01T23:00/01-02T03:00 01-02T23:00/01-03T03:00 01-03T23:00/01-04T03:00 01-04T23:00/01-05T03:00",
        ),
        (
            "0 23 * * *", "4h", "UTC", (2027, 1, 1), 96, {"days_off": ["2027-01-02"], "until": "2027-01-03"},
            "12-31T23:00/01-01T03:00 01-01T23:00/01-02T03:00 01-03T23:00/01-04T03:00",
        ),
    ],
)  # fmt: skip
def test_a_window_is_open_as_the_wall_clock_of_its_zone_says(
    cron: str, duration: str, zone: str, begin: tuple[int, int, int], hours: int, more: dict[str, Any], expected: str
) -> None:
    """Through every change of clocks: a fixed time is not skipped with its hour, and does not come twice."""
    window, end = night(start=cron, duration=duration, time_zone=zone, **more), at(*begin) + timedelta(hours=hours)
    found = openings(window, at(*begin), end)
    assert " ".join(f"{each.start:%m-%dT%H:%M}/{each.end:%m-%dT%H:%M}" for each in found) == expected
    inside = sum((min(each.end, end) - max(each.start, at(*begin)) for each in found), timedelta())
    assert windows.open_hours(window, at(*begin), end) == Decimal(int(inside.total_seconds())) / 3600


def test_a_window_that_opens_before_it_closed_stays_open() -> None:
    around = night(start="0 0 * * *", duration="1d")
    assert len(openings(around, at(2027, 1, 1), at(2027, 2, 1))) == 1
    assert windows.month_hours(around, 730) == 730
    assert [windows.is_open(night(), at(2027, 1, 1, hour)) for hour in (1, 2, 3)] == [False, True, False]


@pytest.mark.parametrize(
    ("starts", "amounts", "most", "first"),
    [
        (("0 2 * * *", "30 2 * * *"), (2, 3), 5, at(2027, 3, 27, 2, 30)),
        (("0 2 * * *", "0 3 * * *"), (3, 2), 3, at(2027, 3, 27, 2)),
        (("0 4 * * *", "0 3 * * *"), (2, 2), 2, at(2027, 3, 27, 3)),
        (("0 5 28 * *", "0 1 * * *"), (4, 1), 4, at(2027, 3, 28, 5)),
    ],
)
def test_a_peak_is_the_most_of_any_minute_and_the_first_of_them(
    starts: tuple[str, ...], amounts: tuple[int, ...], most: int, first: datetime
) -> None:
    drawn = [(night(start=start), amount) for start, amount in zip(starts, amounts, strict=True)]
    found = windows.peak(drawn, at(2027, 3, 27), at(2027, 3, 30))
    assert (found.amount, found.at) == (most, first)
    assert windows.peak(drawn, at(2027, 3, 27), at(2027, 3, 27, 1)).amount == 0


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


def test_windows_that_are_open_together_are_named_in_the_sum() -> None:
    tight, exact = (
        accounts(
            read_stack(
                stack_text(pools=windowed(WINDOW, EVENING), quotas=QUOTA % chips).encode(), stack="ci", source="ci"
            ).parts.config
        )[0]
        for chips in (15, 16)
    )
    assert exact.overdrawn(at(2027, 1, 1)) is None
    assert tight.peak(at(2027, 1, 1)) == 12
    said = tight.sum_shown(tight.overdrawn(at(2027, 1, 1)))
    assert said == (
        "ci/other 1 x 4 = 4, ci/other window night 2 x 4 = 8, ci/other window evening 1 x 4 = 4, "
        "together 16 of 15 chips"
    )


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
