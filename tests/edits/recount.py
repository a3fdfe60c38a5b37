"""A recount of what stack files declare: chips, dollars, limits, freezes. Plain sums over plain data, and nothing of
`infra`: it is the second opinion on what `explain` says.

A stack is the `config` of its file as YAML reads it, with keys without their namespace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

Stack = Mapping[str, Any]

CHIPS = {"v5litepod-4": 4, "v5litepod-8": 8, "v4-8": 4, "v6e-4": 4, "v6e-8": 8}
GENERATION = {"v5litepod-4": "v5e", "v5litepod-8": "v5e", "v4-8": "v4", "v6e-4": "v6e", "v6e-8": "v6e"}
PRICES = {
    ("v5e", "us-west4-a"): ("1.20", "0.48"),
    ("v5e", "us-west1-c"): ("1.20", "0.245"),
    ("v5e", "us-south1-a"): ("1.416", "0.566"),
    ("v4", "us-central2-b"): ("3.22", "0.9215"),
    ("v6e", "us-east5-a"): ("2.70", "1.215"),
    ("v6e", "southamerica-west1-a"): ("2.70", None),
}
"""On-demand and spot, dollars a chip and hour (cloud.google.com/skus/sku-groups/cloud-tpu, 2026-08)."""


def kind(capacity: object) -> str:
    return "reserved" if isinstance(capacity, dict) else str(capacity)


def pays_from(capacity: object) -> str:
    """Which kind of limit holds it: spot and preemptible VMs have one quota."""
    return "preemptible" if kind(capacity) == "spot" else kind(capacity)


def chips(stack: Stack) -> Counter[tuple[str, str]]:
    """Declared chips by pool and zone."""
    found: Counter[tuple[str, str]] = Counter()
    for pool in stack["pools"]:
        for zone, count in pool["zones"].items():
            found[pool["name"], zone] = count * CHIPS[pool["accelerator"]]
    return found


def drawn(stack: Stack, limit: tuple[str, ...]) -> int:
    """Chips that one stack draws on a limit at worst: every VM that a fallback may bring there counts."""
    project, zone, generation, paid = limit
    total = 0
    for pool in stack["pools"] if stack["project"] == project else ():
        if GENERATION[pool["accelerator"]] != generation:
            continue
        every = sum(pool["zones"].values())
        home = pool["zones"].get(zone, 0) if pays_from(pool["capacity"]) == paid else 0
        comes = any(each["zone"] == zone and pays_from(each["capacity"]) == paid for each in pool["fallback"])
        total += (every if comes else home) * CHIPS[pool["accelerator"]]
    return total


def limits(stack: Stack) -> dict[tuple[str, ...], tuple[int, int]]:
    """Size and chips held elsewhere of each limit that a stack declares."""
    found = {}
    for each in stack["reservations"]:
        found[each["project"], each["zone"], each["generation"], "reserved"] = each["chips"], each["held_elsewhere"]
    for each in stack["quotas"]:
        found[each["project"], each["zone"], each["generation"], each["kind"]] = each["chips"], 0
    return found


def exceeded(stack: Stack, others: Sequence[Stack]) -> Iterator[tuple[str, ...]]:
    """Limits with too many chips drawn that the stack declares, or draws on though another declares them."""
    for declarer in (stack, *others):
        for limit, (size, held) in limits(declarer).items():
            used = held + sum(drawn(each, limit) for each in (stack, *others))
            if used > size and (declarer is stack or drawn(stack, limit)):
                yield limit


def dollars(stack: Stack, *, worst: bool = False) -> tuple[Decimal, set[str]]:
    """A month of all pools to the cent, and the pools that have no price somewhere.

    worst: every VM at the dearest of its own place and its pool's fallbacks.
    """
    total, unpriced = Decimal(0), set()
    for pool in stack["pools"]:
        for zone, count in pool["zones"].items():
            places = [(zone, pool["capacity"])]
            places += [(each["zone"], each["capacity"]) for each in pool["fallback"]] if worst else []
            months = [_month(pool["accelerator"], *place, count) for place in places]
            if None in months:
                unpriced.add(pool["name"])
            total += max((month for month in months if month is not None), default=Decimal(0))
    return total, unpriced


def _month(accelerator: str, zone: str, capacity: object, count: int) -> Decimal | None:
    """A month of so many VMs to the cent; None where they have no price."""
    if kind(capacity) == "reserved" or not count:
        return Decimal(0)
    on_demand, spot = PRICES[GENERATION[accelerator], zone]
    price = on_demand if kind(capacity) == "on-demand" else spot
    if price is None:
        return None
    return (Decimal(price) * count * CHIPS[accelerator] * 730).quantize(Decimal("0.01"), ROUND_HALF_UP)


def over_budget(before: Stack, after: Stack) -> bool:
    """Whether an edit is stopped for its cost in the worst case; one that makes the fleet cheaper never is."""
    cost, unpriced = dollars(after, worst=True)
    budget, cheaper = after.get("budget"), dollars(before, worst=True)[0] > cost and not unpriced
    return budget is not None and cost > Decimal(budget["usd_per_month"]) and not cheaper


def grown(before: Stack, after: Stack) -> bool:
    """Whether an edit adds over 256 chips or $100,000 a month in the worst case, or makes either more than four times
    what it was and over 64 chips or $25,000 more (docs/rules.md)."""
    return _much(chips(before).total(), chips(after).total(), 256, 64) or _much(
        dollars(before, worst=True)[0], dollars(after, worst=True)[0], 100_000, 25_000
    )


def _much(was: Decimal | int, becomes: Decimal | int, much: int, small: int) -> bool:
    return becomes - was > much or (was > 0 and becomes > 4 * was and becomes - was > small)


def frozen(before: Stack, after: Stack, today: date) -> bool:
    """Whether an edit of the fleet falls into a window of either version that nobody has overridden."""
    if all(before[key] == after[key] for key in ("pools", "reservations", "quotas")):
        return False
    windows = {(each["name"], each["from"], each["to"]): each for each in (*before["freezes"], *after["freezes"])}
    return any(
        each["from"] <= today.isoformat() <= each["to"]
        and not ("override" in each and each["override"]["until"] >= today.isoformat())
        for each in windows.values()
    )
