"""What an edit costs, as values: each line of money, what is listed and what is not, and the sums.

Owns the JSON of `money` in `explain --json` (docs/json.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from infra.model.cost import FREE, Amount
from infra.model.json_shape import CamelShape, JsonShape

NOT_KNOWN = "not known"


class Priced(StrEnum):
    """What is known of the price of a pool's VMs on one side of an edit."""

    NONE = "none"
    """No VMs, so nothing to pay."""
    LISTED = "listed"
    SUNK = "sunk"
    """Reserved: paid by contract whether used or not, so the edit moves no money."""
    UNPRICED = "unpriced"
    """No published price: never counted as 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill(JsonShape):
    """What one pool in one zone costs on one side. worst: with every VM at the dearest of the pool's places."""

    JSON = ("priced", "capacity", "dollars.*", "worst")

    priced: Priced
    capacity: str | None
    amount: Amount = FREE
    worst: Amount = FREE

    @property
    def dollars(self) -> Amount | Mapping[str, None]:
        """Of reserved chips nobody here knows a price: they are in no sum."""
        sunk = {"usdPerHour": None, "usdPerMonth": None, "atLeastUsdPerMonth": None}
        return sunk if self.priced is Priced.SUNK else self.amount


@dataclass(frozen=True, slots=True, kw_only=True)
class MoneyLine(CamelShape):
    """One pool in one zone, before and after. hours_per_month: those in which the pool stands."""

    pool: str
    zone: str
    before: Bill
    after: Bill
    hours_per_month: Decimal

    @property
    def changed(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Total(JsonShape):
    """Summed over all pools, of one kind of capacity or of all; equal unknown parts cancel in the difference."""

    JSON = ("before", "after", "delta")

    before: Amount
    after: Amount

    @property
    def delta(self) -> Amount:
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Money(CamelShape):
    """Every pool's line, the totals by kind of capacity, and how much of the fleet they cover.

    worst: of the total, with every VM at the dearest of its pool's places and all that runs may make, which the budget
    is about; runs: those alone. estimated, sunk, unpriced: names of the pools (after the edit, or before it where they
    go). budget_usd_per_month: what the stack allows itself. not_counted: what costs money and is in no sum.
    """

    lines: tuple[MoneyLine, ...]
    by_kind: Mapping[str, Total]
    total: Total
    worst: Total
    runs: Total
    estimated: tuple[str, ...]
    sunk: tuple[str, ...]
    unpriced: tuple[str, ...]
    as_of: str
    source: str
    hours_per_month: int
    budget_usd_per_month: Decimal | None
    not_counted: tuple[str, ...] = ()
