"""What an edit costs, as values: each line of money, what is listed and what is not, and the sums.

Owns the JSON of `money` in `explain --json` (docs/json.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from infra.model.cost import Amount
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
    """What one pool in one zone costs on one side. `amount` is None unless the price is listed or there is no VM."""

    JSON = ("priced", "capacity", "dollars.*")

    priced: Priced
    capacity: str | None
    amount: Amount | None

    @property
    def dollars(self) -> Amount | Mapping[str, None]:
        return self.amount or {"usdPerHour": None, "usdPerMonth": None}


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
    """Listed prices summed over all pools, of one kind of capacity or of all."""

    JSON = ("before", "after", "delta")

    before: Amount
    after: Amount

    @property
    def delta(self) -> Amount:
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Money(CamelShape):
    """Every pool's line, the totals by kind of capacity, and how much of the fleet they cover.

    estimated, sunk, unpriced: names of the pools (after the edit, or before it where they go).
    budget_usd_per_month: what the stack allows itself. not_counted: what of the stack costs money and is in no sum.
    """

    lines: tuple[MoneyLine, ...]
    by_kind: Mapping[str, Total]
    total: Total
    estimated: tuple[str, ...]
    sunk: tuple[str, ...]
    unpriced: tuple[str, ...]
    as_of: str
    source: str
    hours_per_month: int
    budget_usd_per_month: Decimal | None
    not_counted: tuple[str, ...] = ()
