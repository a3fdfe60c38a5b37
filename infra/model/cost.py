"""What slices cost by list prices: dollars an hour while they stand, and a month of the hours in which they do.

Owns the sums over the catalogue's prices. Does not own the prices (catalogue), nor who says in which hours a pool
stands: that is handed in. Discounts, disks and traffic are not counted; a node is billed while it is READY.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from infra.model.capacity import Capacity, SliceCapacity
from infra.model.catalogue import AcceleratorType, CapacityKind, price
from infra.model.json_shape import JsonShape
from infra.model.partial import counted, has
from infra.model.schema import Pool, Slices, StackConfig, Window
from infra.model.windows import month_hours

HOURS_PER_MONTH = 730
"""A year of 8,760 hours in twelve parts, as Google's own price lists count a month."""
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount(JsonShape):
    """US dollars an hour while the VMs stand, and a month of the hours in which they do, in whole cents."""

    JSON = ("usdPerHour=rounded_hour", "usdPerMonth=month")

    hour: Decimal = Decimal(0)
    month: Decimal = Decimal(0)

    @property
    def rounded_hour(self) -> Decimal:
        return round(self.hour, 4)

    def __add__(self, other: Amount) -> Amount:
        return Amount(hour=self.hour + other.hour, month=self.month + other.month)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(hour=self.hour - other.hour, month=self.month - other.month)


def slices_cost(
    accelerator: AcceleratorType, zone: str, capacity: Capacity | SliceCapacity, slices: int, *, hours: Decimal
) -> Amount | None:
    """The cost of that many slices, or None where no price is published; a reservation's price is its contract's.

    A month is rounded here and nowhere else, so that a sum is that of the lines that people see.
    """
    listed = price(accelerator.generation, zone, capacity.kind)
    if listed is None:
        return None
    hour = slices * accelerator.chips * Decimal(str(listed.usd_per_chip_hour))
    return Amount(hour=hour, month=(hour * hours).quantize(_CENT, ROUND_HALF_UP))


def hours_of(pool: str, window_hours: Mapping[str, float] | None) -> Decimal:
    """The hours of a month in which a pool stands: all of them unless somebody knows a window."""
    known = (window_hours or {}).get(pool)
    return Decimal(HOURS_PER_MONTH) if known is None else Decimal(str(known))


@dataclass(frozen=True, slots=True, kw_only=True)
class StackCost:
    """What a stack costs by list prices. unpriced: pools with VMs for which none is published, and not in the sum."""

    amount: Amount
    unpriced: tuple[str, ...]


def stack_cost(config: StackConfig, window_hours: Mapping[str, float] | None = None) -> StackCost:
    """The listed cost of all declared VMs, and of slices of the cluster at their maximum.

    Reserved ones are paid whether used or not, so they add nothing.
    """
    amount, unpriced = Amount(), set()
    for pool in counted(config):
        if pool.capacity.kind is CapacityKind.RESERVED:
            continue
        for zone, slices in pool.zones.items():
            cost = pool_cost(pool, zone, slices, window_hours)
            if cost is None:
                unpriced.add(pool.name)
            else:
                amount += cost
    return StackCost(amount=amount, unpriced=tuple(sorted(unpriced)))


def pool_cost(
    pool: Pool | Slices, zone: str, slices: int, window_hours: Mapping[str, float] | None = None
) -> Amount | None:
    """What a pool costs in one zone: so many VMs around the clock, and those of its windows while they are open.

    An hour counts all of them. None where there are VMs and no price is published.
    """
    stays = list(_stays(pool, zone, window_hours, slices))
    found = [slices_cost(pool.accelerator, zone, pool.capacity, count, hours=hours) for count, hours in stays]
    known = [each for each in found if each is not None]
    return sum(known, Amount()) if len(known) == len(found) else None


def average_hours(pool: Pool | Slices, zone: str, window_hours: Mapping[str, float] | None = None) -> Decimal:
    """The hours of a month in which a VM of the pool stands in a zone, on average over all its VMs."""
    stays = list(_stays(pool, zone, window_hours, pool.zones[zone]))
    vms = sum(count for count, _ in stays)
    if not vms:
        return hours_of(pool.name, window_hours)
    return sum((count * hours for count, hours in stays), Decimal(0)) / vms


def _stays(
    pool: Pool | Slices, zone: str, window_hours: Mapping[str, float] | None, slices: int
) -> Iterator[tuple[int, Decimal]]:
    """How many VMs stand for how many hours of a month."""
    if slices:
        yield slices, hours_of(pool.name, window_hours)
    for window in pool.windows if isinstance(pool, Pool) else ():
        if has(window, *Window.model_fields) and (count := window.adds.get(zone)):
            yield count, month_hours(window, HOURS_PER_MONTH)
