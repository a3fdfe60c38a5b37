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

from infra.model.catalogue import AcceleratorType, CapacityKind, UnknownNameError, price
from infra.model.json_shape import CamelShape

_HOUR: Final = 3600
_CENT: Final = Decimal("0.01")
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


def vm_cost(accelerator: str, zone: str, capacity: CapacityKind, seconds: Decimal) -> Decimal | None:
    """US dollars for a VM, or a slice, that stood so long; None where no price is published.

    Reserved chips are paid already, so they add nothing.
    """
    if capacity is CapacityKind.RESERVED:
        return Decimal(0)
    try:
        found = AcceleratorType.parse(accelerator)
    except UnknownNameError:
        return None
    listed = price(found.generation, zone, capacity)
    if listed is None:
        return None
    return found.chips * Decimal(str(listed.usd_per_chip_hour)) * seconds / _HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(CamelShape):
    """What one thing cost in a month. unpriced: seconds for which no price is published, and which are in no sum."""

    JSON = ("key", "vms", "hours=rounded_hours", "usd=rounded", "unpricedSeconds=unpriced")

    key: str
    vms: int
    seconds: Decimal
    usd: Decimal
    unpriced: Decimal = Decimal(0)

    @property
    def rounded(self) -> Decimal:
        """To a hundredth of a cent: one run of five minutes costs a few cents."""
        return self.usd.quantize(_FINE, ROUND_HALF_UP)

    @property
    def rounded_hours(self) -> Decimal:
        return (self.seconds / _HOUR).quantize(_FINE, ROUND_HALF_UP)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthCost(CamelShape):
    """A month of one stack. start, end: of the month, UTC. until: up to when it is counted.

    forecast: to the month's end, None for a month that is over. budget: US dollars, None without one. priced: when the
    price table was read.
    """

    JSON = (
        "stack", "month", "until", "total", "runs", "suites", "pools", "budget", "spent=total.rounded",
        "forecast=rounded_forecast", "overBudget=over_budget", "priced",
    )  # fmt: skip

    stack: str
    month: str
    until: datetime
    total: Line
    runs: tuple[Line, ...]
    suites: tuple[Line, ...]
    pools: tuple[Line, ...]
    budget: Decimal | None
    forecast: Decimal | None
    priced: str

    @property
    def rounded_forecast(self) -> Decimal | None:
        return None if self.forecast is None else self.forecast.quantize(_CENT, ROUND_HALF_UP)

    @property
    def over_budget(self) -> bool:
        """Whether it is spent, or will be by the forecast."""
        expected = self.total.usd if self.forecast is None else self.forecast
        return self.budget is not None and expected > self.budget


def month_bounds(month: str) -> tuple[datetime, datetime]:
    """The first moment of `2026-11`, and that of the next month, in UTC. ValueError for anything else."""
    start = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
    return start, start + timedelta(days=monthrange(start.year, start.month)[1])


def month_cost(
    stack: str, month: str, usages: Iterable[Usage], now: datetime, *, priced: str,
    budget: Decimal | None = None, standing: Decimal = Decimal(0),
) -> MonthCost:  # fmt: skip
    """What a month cost up to `now`, and what it will.

    standing: US dollars of the VMs that are declared to stand from `now` to the month's end. The forecast has them, and
    runs as in the last seven days of this month, or in as many as it is old.
    """
    start, end = month_bounds(month)
    until = min(max(now, start), end)
    cut = [clipped for each in usages if (clipped := _within(each, start, until)) is not None]
    total = _line("total", cut)
    hours = Decimal(str((end - until).total_seconds())) / _HOUR
    ahead = standing + hours * _lately([each for each in cut if each.run], start, until)
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
    return tuple(sorted(lines, key=lambda line: (-line.usd, line.key)))


def _line(key: str, usages: Sequence[Usage]) -> Line:
    costs = [(each, vm_cost(each.accelerator, each.zone, each.capacity, each.seconds)) for each in usages]
    return Line(
        key=key,
        vms=len({each.vm for each in usages}),
        seconds=sum((each.seconds for each in usages), Decimal(0)),
        usd=sum((cost for _, cost in costs if cost is not None), Decimal(0)),
        unpriced=sum((each.seconds for each, cost in costs if cost is None), Decimal(0)),
    )


def _lately(usages: Sequence[Usage], start: datetime, until: datetime) -> Decimal:
    """US dollars an hour in the last seven days."""
    since = max(start, until - timedelta(days=7))
    hours = Decimal(str((until - since).total_seconds())) / _HOUR
    spent = _line("", [clipped for each in usages if (clipped := _within(each, since, until)) is not None]).usd
    return spent / hours if hours else Decimal(0)
