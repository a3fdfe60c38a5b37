"""What VMs cost for as long as they stood, by list prices: by VM, and the sums and the forecast of a month.

Owns the sums. Does not own the prices (catalogue), nor who knows how long a VM stood: the records of runs and of
pools' VMs (`infra.operations.money`). Google bills a TPU VM by the second while it is READY
(https://cloud.google.com/tpu/pricing, read 2026-11); disks, traffic and discounts are not counted.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from infra.model.catalogue import AcceleratorType, CapacityKind, UnknownNameError
from infra.model.cost import chip_dollars
from infra.model.dollars import NOTHING, Dollars
from infra.model.json_shape import CamelShape

_HOUR: Final = 3600
_FINE: Final = Decimal("0.0001")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """One VM for as long as it stood READY, or stands. run, suite: empty for a VM of a pool."""

    vm: str
    pool: str
    accelerator: str
    zone: str
    capacity: CapacityKind
    start: datetime
    end: datetime
    run: str = ""
    suite: str = ""

    @property
    def seconds(self) -> Decimal:
        return Decimal(str(max((self.end - self.start).total_seconds(), 0.0)))


def vm_cost(accelerator: str, zone: str, capacity: CapacityKind, seconds: Decimal) -> Dollars:
    """What a VM, or a slice, cost that existed so long. Reserved chips are paid already, so they add nothing."""
    try:
        found = AcceleratorType.parse(accelerator)
    except UnknownNameError:
        return Dollars.missing(f"{accelerator} has no list price", seconds)
    return chip_dollars(found, zone, capacity) * (found.chips * seconds / _HOUR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(CamelShape):
    """What one thing cost in a month."""

    JSON = ("key", "vms", "hours=rounded_hours", "usd=rounded", "atLeastUsd=rounded.known")

    key: str
    vms: int
    seconds: Decimal
    usd: Dollars

    @property
    def rounded(self) -> Dollars:
        """To a hundredth of a cent: one run of five minutes costs a few cents."""
        return Dollars(self.usd.known.quantize(_FINE, ROUND_HALF_UP), self.usd.unknown)

    @property
    def rounded_hours(self) -> Decimal:
        return (self.seconds / _HOUR).quantize(_FINE, ROUND_HALF_UP)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthCost(CamelShape):
    """A month of one stack. start, end: of the month, UTC. until: up to when it is counted.

    forecast: to the month's end, None for a month that is over. worst: the same where every VM that is declared is at
    the dearest of its places, and runs make all that they may. budget: US dollars, None without one. priced: when the
    price table was read.
    """

    JSON = (
        "stack", "month", "until", "total", "runs", "suites", "pools", "budget", "spent=total.rounded",
        "forecast=rounded_forecast", "worst=rounded_worst", "overBudget=over_budget", "unknown", "priced",
    )  # fmt: skip

    stack: str
    month: str
    until: datetime
    total: Line
    runs: tuple[Line, ...]
    suites: tuple[Line, ...]
    pools: tuple[Line, ...]
    budget: Decimal | None
    forecast: Dollars | None
    worst: Dollars | None = None
    priced: str

    @property
    def rounded_forecast(self) -> Dollars | None:
        return None if self.forecast is None else self.forecast.cents

    @property
    def rounded_worst(self) -> Dollars | None:
        return None if self.worst is None else self.worst.cents

    @property
    def expected(self) -> Dollars:
        """By the forecast; what was spent of a month that is over."""
        return self.total.usd if self.forecast is None else self.forecast

    @property
    def over_budget(self) -> bool | None:
        """Whether it is spent, or will be by the forecast; None where that is unknown."""
        return False if self.budget is None else self.expected.over(self.budget)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Why the amounts are not known."""
        return self.expected.reasons


def month_bounds(month: str) -> tuple[datetime, datetime]:
    """The first moment of `2026-11`, and that of the next month, in UTC. ValueError for anything else."""
    start = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
    return start, start + timedelta(days=monthrange(start.year, start.month)[1])


def month_cost(
    stack: str, month: str, usages: Iterable[Usage], now: datetime, *, priced: str,
    unmeasured: Dollars = NOTHING, budget: Decimal | None = None, standing: Dollars = NOTHING,
    worst: Dollars = NOTHING,
) -> MonthCost:  # fmt: skip
    """What a month cost up to `now`, and what it will.

    unmeasured: what was spent and no record has. standing: of the VMs that are declared to exist from `now` to the
    month's end; worst: the same in the worst case, all that runs may make included. The forecast has `standing`, and
    runs as in the last seven days of this month, or in as many as it is old.
    """
    start, end = month_bounds(month)
    until = min(max(now, start), end)
    cut = [clipped for each in usages if (clipped := _within(each, start, until)) is not None]
    total = _line("total", cut)
    total = replace(total, usd=total.usd + unmeasured)
    hours = Decimal(str((end - until).total_seconds())) / _HOUR
    ahead = standing + _lately([each for each in cut if each.run], start, until) * hours
    return MonthCost(
        stack=stack,
        month=month,
        until=until,
        total=total,
        runs=_by(cut, lambda each: each.run),
        suites=_by(cut, lambda each: each.suite),
        pools=_by(cut, lambda each: each.pool),
        budget=budget,
        forecast=None if now >= end else total.usd + ahead,
        worst=None if now >= end else total.usd + worst,
        priced=priced,
    )


def _within(usage: Usage, start: datetime, end: datetime) -> Usage | None:
    """The part of it between two moments, None where there is none."""
    first, last = max(usage.start, start), min(usage.end, end)
    return replace(usage, start=first, end=last) if first < last else None


def _by(usages: Sequence[Usage], key: Callable[[Usage], str]) -> tuple[Line, ...]:
    """The dearest first; what has no key is left out."""
    keys = sorted({key(each) for each in usages} - {""})
    lines = (_line(name, [each for each in usages if key(each) == name]) for name in keys)
    return tuple(sorted(lines, key=lambda line: (-line.usd.known, line.key)))


def _line(key: str, usages: Sequence[Usage]) -> Line:
    costs = (vm_cost(each.accelerator, each.zone, each.capacity, each.seconds) for each in usages)
    return Line(
        key=key,
        vms=len({each.vm for each in usages}),
        seconds=sum((each.seconds for each in usages), Decimal(0)),
        usd=sum(costs, NOTHING),
    )


def _lately(usages: Sequence[Usage], start: datetime, until: datetime) -> Dollars:
    """US dollars an hour in the last seven days."""
    since = max(start, until - timedelta(days=7))
    hours = Decimal(str((until - since).total_seconds())) / _HOUR
    spent = _line("", [clipped for each in usages if (clipped := _within(each, since, until)) is not None]).usd
    return spent / hours if hours else NOTHING
