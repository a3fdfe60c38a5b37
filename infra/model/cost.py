"""What a stack costs by list prices: dollars an hour and a month, as declared and in the worst case, with its chips.

Owns the sums over the catalogue's prices. Does not own the prices (catalogue), nor who knows in which hours a pool
exists: that is handed in. Discounts, disks and traffic are not counted; a node is billed while it is READY.

The worst case is what limits count too: every VM at the dearest of its pool's places, every slice of the cluster at its
maximum, and as many VMs of runs as `tidepool:runs` lets there be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import reduce
from typing import Final

from infra.model.capacity import Capacity, SliceCapacity
from infra.model.catalogue import AcceleratorType, CapacityKind, price
from infra.model.dollars import NOTHING, Dollars, dearest
from infra.model.json_shape import JsonShape
from infra.model.run_capacity import RunChoice, run_choices
from infra.model.schema import Pool, Slices, StackConfig
from infra.model.windows import ended, month_hours

HOURS_PER_MONTH = 730
"""A year of 8,760 hours in twelve parts, as Google's own price lists count a month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount(JsonShape):
    """US dollars an hour while the VMs exist, and a month of the hours in which they do, in whole cents."""

    JSON = ("usdPerHour=rounded_hour", "usdPerMonth=month", "atLeastUsdPerMonth=month.known")

    hour: Dollars = NOTHING
    month: Dollars = NOTHING

    @property
    def rounded_hour(self) -> Dollars:
        return Dollars(round(self.hour.known, 4), self.hour.unknown)

    def __add__(self, other: Amount) -> Amount:
        return Amount(hour=self.hour + other.hour, month=self.month + other.month)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(hour=self.hour - other.hour, month=self.month - other.month)


FREE: Final = Amount()


def dearest_amount(choices: Sequence[Amount]) -> Amount:
    """The most that any of several comes to."""
    return Amount(hour=dearest(each.hour for each in choices), month=dearest(each.month for each in choices))


def slices_cost(
    accelerator: AcceleratorType, zone: str, capacity: Capacity | SliceCapacity, slices: int, *, hours: Decimal
) -> Amount:
    """The cost of that many slices; reserved ones are paid whether used or not, so they add nothing.

    A month is rounded here and nowhere else, so that a sum is that of the lines that people see.
    """
    hour = chip_dollars(accelerator, zone, capacity.kind) * Decimal(slices * accelerator.chips)
    return Amount(hour=hour, month=(hour * hours).cents)


def chip_dollars(accelerator: AcceleratorType, zone: str, kind: CapacityKind) -> Dollars:
    """The list price of a chip-hour."""
    if kind is CapacityKind.RESERVED:
        return NOTHING
    listed = price(accelerator.generation, zone, kind)
    if listed is None:
        return Dollars.missing(f"{accelerator.generation} {kind} in {zone} has no list price")
    return Dollars(Decimal(str(listed.usd_per_chip_hour)))


def hours_of(pool: str, window_hours: Mapping[str, float] | None) -> Decimal:
    """The hours of a month in which a pool exists: all of them unless somebody knows better."""
    known = (window_hours or {}).get(pool)
    return Decimal(HOURS_PER_MONTH) if known is None else Decimal(str(known))


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What a pool, or slices of the cluster, have and cost in one zone, windows and fallbacks included.

    chips: the most at once. hours: of a month in which a VM exists, on average over all of them.
    """

    pool: Pool | Slices
    zone: str
    chips: int
    hours: Decimal
    declared: Amount
    worst: Amount


def charges(config: StackConfig, now: datetime, window_hours: Mapping[str, float] | None = None) -> Iterator[Charge]:
    """One for each pool and zone; a window that is over costs nothing. Runs are not among them (`runs_cost`)."""
    for pool in config.holders:
        for zone, slices in pool.zones.items():
            yield _charge(pool, zone, list(_stays(pool, zone, slices, now, window_hours)), window_hours)


def _charge(
    pool: Pool | Slices, zone: str, stays: Sequence[tuple[int, Decimal]], window_hours: Mapping[str, float] | None
) -> Charge:
    costs = [
        _sum(slices_cost(pool.accelerator, *place, count, hours=hours) for count, hours in stays)
        for place in places(pool, zone)
    ]
    vms = sum(count for count, _ in stays)
    hours = sum((count * hours for count, hours in stays), Decimal(0))
    return Charge(
        pool=pool,
        zone=zone,
        chips=vms * pool.accelerator.chips,
        hours=hours / vms if vms else hours_of(pool.name, window_hours),
        declared=costs[0],
        worst=dearest_amount(costs),
    )


def places(pool: Pool | Slices, zone: str) -> list[tuple[str, Capacity | SliceCapacity]]:
    """Where a VM of a zone may be, and how it is obtained there: as declared first, then the fallbacks of its pool."""
    fallbacks = pool.fallback if isinstance(pool, Pool) else ()
    return [(zone, pool.capacity), *((each.zone, each.capacity) for each in fallbacks)]


def _stays(
    pool: Pool | Slices, zone: str, slices: int, now: datetime, window_hours: Mapping[str, float] | None
) -> Iterator[tuple[int, Decimal]]:
    """How many VMs exist for how many hours of a month."""
    if slices:
        yield slices, hours_of(pool.name, window_hours)
    for window in pool.windows if isinstance(pool, Pool) else ():
        if (count := window.adds.get(zone)) and not ended(window, now):
            yield count, month_hours(window, HOURS_PER_MONTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class StackCost:
    """A month of a stack. runs: of the worst case, what VMs of runs come to. chips: the most at once, runs included.

    unpriced: pools with VMs, some of which have no published price.
    """

    declared: Amount
    worst: Amount
    runs: Amount
    chips: int
    unpriced: tuple[str, ...]


def stack_cost(config: StackConfig, now: datetime, window_hours: Mapping[str, float] | None = None) -> StackCost:
    """The listed cost of everything that a stack declares."""
    found = list(charges(config, now, window_hours))
    choices, runs = run_choices(config), runs_cost(config)
    return StackCost(
        declared=_sum(each.declared for each in found),
        worst=_sum(each.worst for each in found) + runs,
        runs=runs,
        chips=sum(each.chips for each in found) + max((each.chips for each in choices), default=0),
        unpriced=tuple(sorted({each.pool.name for each in found if each.declared.hour.unknown})),
    )


def runs_cost(config: StackConfig) -> Amount:
    """What VMs of runs come to at most; nothing where the stack declares none."""
    return dearest_amount([_run_cost(each) for each in run_choices(config)])


def _run_cost(choice: RunChoice) -> Amount:
    """Of all VMs that runs may have in one way: at once for an hour, and a month of as many as a day may see."""
    hour = chip_dollars(choice.accelerator, choice.zone, choice.kind) * Decimal(choice.chips)
    daily = Decimal(choice.runs.per_day * choice.runs.time_to_live_minutes) / 60
    share = min(Decimal(1), daily / (24 * choice.runs.at_once)) if choice.runs.at_once else Decimal(0)
    return Amount(hour=hour, month=(hour * (share * HOURS_PER_MONTH)).cents)


def _sum(amounts: Iterator[Amount]) -> Amount:
    return reduce(Amount.__add__, amounts, FREE)
