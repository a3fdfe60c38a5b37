"""What VMs cost for as long as they stood, the month's sums and its forecast."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from infra.model.catalogue import CapacityKind
from infra.model.dollars import Dollars
from infra.model.usage import Usage, month_bounds, month_cost, vm_cost

SPOT = CapacityKind.SPOT
PRICE = Decimal("0.544")
"""US dollars a chip-hour of v6e in us-central1, spot: facts/prices.yaml."""


def usage(day: int, minutes: float = 5, month: int = 11, **more: str) -> Usage:
    start = datetime(2026, month, day, 2, tzinfo=UTC)
    body = {"vm": f"vm-{month}-{day}", "pool": "nightly-v6e", "run": f"r{day}", "suite": "tpu"} | more
    return Usage(
        accelerator="v6e-1", zone="us-central1-b", capacity=SPOT, start=start,
        end=start + timedelta(minutes=minutes), **body,
    )  # fmt: skip


def test_a_vm_costs_its_seconds_at_the_list_price_of_its_chips() -> None:
    assert vm_cost("v6e-1", "us-central1-b", SPOT, Decimal(3600)).exact == PRICE
    assert vm_cost("v6e-8", "us-central1-b", SPOT, Decimal(1800)).exact == 4 * PRICE
    assert vm_cost("v6e-1", "us-central1-b", CapacityKind.PREEMPTIBLE, Decimal(3600)).exact == PRICE
    assert vm_cost("v6e-1", "us-central1-b", CapacityKind.RESERVED, Decimal(3600)).exact == 0
    assert vm_cost("v6e-1", "mars-a", SPOT, Decimal(3600)).exact is None
    assert vm_cost("v99-1", "us-central1-b", SPOT, Decimal(3600)).exact is None


def test_a_month_has_what_stood_in_it_by_run_suite_and_pool() -> None:
    month_end = usage(31, 60, month=10)
    over_it = Usage(
        vm="long", pool="other", accelerator="v6e-1", zone="us-central1-b", capacity=SPOT,
        start=datetime(2026, 10, 31, 23, tzinfo=UTC), end=datetime(2026, 11, 1, 2, tzinfo=UTC),
    )  # fmt: skip
    now = datetime(2026, 12, 3, tzinfo=UTC)
    found = month_cost(
        "nightly", "2026-11", [month_end, over_it, usage(1), usage(2, suite="cpu")], now, priced="2026-08"
    )
    assert found.total.seconds == 2 * 3600 + 2 * 300
    assert found.total.usd.exact == pytest.approx(2 * PRICE + 2 * PRICE / 12)
    assert {line.key: line.vms for line in found.pools} == {"other": 1, "nightly-v6e": 2}
    assert [line.key for line in found.suites] == ["cpu", "tpu"]
    assert {line.key for line in found.runs} == {"r1", "r2"}
    assert found.forecast is None
    assert not found.over_budget


def test_the_forecast_has_runs_as_lately_and_what_is_declared_to_stand() -> None:
    now = datetime(2026, 11, 16, tzinfo=UTC)
    nights = [usage(day) for day in range(1, 16)]
    found = month_cost("nightly", "2026-11", nights, now, priced="2026-08")
    assert found.forecast is not None
    assert found.forecast.exact == pytest.approx(30 * PRICE / 12)
    standing = month_cost(
        "nightly", "2026-11", nights, now, priced="x", standing=Dollars(Decimal(15 * 24)), budget=Decimal(100)
    )
    assert standing.forecast is not None
    assert standing.forecast.exact == pytest.approx(30 * PRICE / 12 + 15 * 24)
    assert standing.over_budget


def test_a_month_is_named_as_year_and_month() -> None:
    assert month_bounds("2028-02")[1] == datetime(2028, 3, 1, tzinfo=UTC)
    with pytest.raises(ValueError, match="2028"):
        month_bounds("2028")
