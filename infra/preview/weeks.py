"""What windows add in the seven days to come, before an edit and after it, and how that is said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from infra.model.calendar import begin_of_day
from infra.model.dollars import NOTHING, Dollars
from infra.model.schema import StackConfig
from infra.model.week import DAYS, WHEN_ASKED, Standing, standing
from infra.preview.meaning import Counts, WindowWeek, Words


def weeks(before: StackConfig, after: StackConfig, today: datetime) -> Iterator[WindowWeek]:
    """A line for each window of either side, by pool, zone and name. today: the days begin with its day in UTC."""
    begin = begin_of_day(today)
    sides = [_by_window(config, begin) for config in (before, after)]
    for key in sorted(sides[0] | sides[1]):
        was, becomes = (side.get(key, []) for side in sides)
        yield WindowWeek(
            pool=key[0],
            zone=key[1],
            window=key[2],
            openings=Counts(len(was), len(becomes)),
            hours=(_hours(was), _hours(becomes)),
            chip_hours=(_chip_hours(was), _chip_hours(becomes)),
            usd=(_usd(was), _usd(becomes)),
            starts=Words(_start(was), _start(becomes)),
        )


def _by_window(config: StackConfig, begin: datetime) -> dict[tuple[str, str, str], list[Standing]]:
    found: dict[tuple[str, str, str], list[Standing]] = {}
    for each in standing(config, begin, begin + timedelta(days=DAYS)):
        if each.window not in (None, WHEN_ASKED):
            found.setdefault((each.pool, each.zone, each.window), []).append(each)
    return found


def _hours(rows: Sequence[Standing]) -> Decimal:
    return sum((each.hours * each.vms for each in rows), Decimal(0))


def _chip_hours(rows: Sequence[Standing]) -> Decimal:
    return sum((each.hours * each.chips for each in rows), Decimal(0))


def _usd(rows: Sequence[Standing]) -> Dollars:
    return sum((each.usd for each in rows), NOTHING)


def _start(rows: Sequence[Standing]) -> str | None:
    return f"{rows[0].start:%a %d %b %H:%M}" if rows else None
