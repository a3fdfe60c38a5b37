"""What slices cost, to the cent."""

from __future__ import annotations

from decimal import Decimal

import pytest

from infra.model.cost import HOURS_PER_MONTH, Amount
from infra.model.dollars import Dollars
from infra.model.stack import read_stack
from tests.model.given import POOL, cost_of, parse, pool, stack_text


def test_a_month_has_730_hours_unless_a_window_says_fewer() -> None:
    config = parse(stack_text(pools=POOL))  # 2 v5litepod-4, preemptible, us-west4-a: 8 chips at 0.48
    assert cost_of(config).declared.hour.exact == Decimal("3.84")
    assert cost_of(config).declared.month.exact == Decimal("3.84") * HOURS_PER_MONTH == Decimal("2803.20")
    assert cost_of(config, {"tpu-ci": 44}).declared.month.exact == Decimal("168.96")
    assert cost_of(config, {"other": 44}).declared.month.exact == Decimal("2803.20")


def test_the_cost_of_a_stack_is_that_of_all_its_pools_and_zones() -> None:
    pools = POOL + pool(zones="{us-west4-a: 1, us-west1-c: 1}", capacity="preemptible")
    cost = cost_of(parse(stack_text(pools=pools)))
    alone = cost_of(parse(stack_text(pools=POOL))).declared
    other = cost_of(parse(stack_text(pools=pool(zones="{us-west4-a: 1}", capacity="preemptible")))).declared
    west = cost_of(parse(stack_text(pools=pool(zones="{us-west1-c: 1}", capacity="preemptible")))).declared
    assert cost.declared == alone + other + west
    assert cost.declared - west == Amount(hour=Dollars(Decimal("5.76")), month=Dollars(Decimal("4204.80")))


def test_programs_read_dollars_an_hour_to_the_hundredth_of_a_cent_and_a_month_to_the_cent() -> None:
    amount = Amount(hour=Dollars(Decimal("1.23456")), month=Dollars(Decimal("901.23")))
    assert amount.to_json() == {"usdPerHour": 1.2346, "usdPerMonth": 901.23, "atLeastUsdPerMonth": 901.23}


def test_half_a_cent_of_a_month_is_a_cent() -> None:
    config = parse(stack_text(pools=POOL))
    assert cost_of(config, {"tpu-ci": 0.0013}).declared.month.exact == Decimal("0.00")
    assert cost_of(config, {"tpu-ci": 0.01171875}).declared.month.exact == Decimal("0.05"), "0.045 dollars"


@pytest.mark.parametrize(
    "mistake",
    [
        ("name: tpu-ci", "name: A Pool"),
        ("v5litepod-4", "v5litepod-5"),
        ("us-west4-a: 2", "us-west4-a"),
        ("capacity: preemptible", "capacity: often"),
    ],
    ids=str,
)
def test_a_pool_with_a_mistake_in_its_price_costs_nothing_and_hides_no_other(mistake: tuple[str, str]) -> None:
    written = stack_text(pools=POOL.replace(*mistake) + pool(capacity="preemptible"))
    cost = cost_of(read_stack(written.encode(), stack="ci", source="ci").parts.config)
    assert (cost.declared.hour.exact, cost.unpriced) == (Decimal("1.92"), ())


def test_what_has_no_price_is_named_and_not_counted_as_nothing() -> None:
    unpriced = pool(accelerator="tpu7x-8", zones="{us-central1-c: 1}", capacity="on-demand")
    cost = cost_of(parse(stack_text(pools=unpriced.replace("other", "another") + unpriced + POOL)))
    assert cost.unpriced == ("another", "other")
    assert (cost.declared.hour.exact, cost.declared.hour.known) == (None, Decimal("3.84"))


def test_a_pool_without_vms_costs_nothing_whether_it_has_a_price_or_not() -> None:
    empty = pool(accelerator="tpu7x-8", zones="{us-central1-c: 0}", capacity="on-demand")
    assert cost_of(parse(stack_text(pools=POOL + empty))).unpriced == ()


def test_reserved_chips_are_paid_whether_used_or_not_and_add_nothing() -> None:
    reserved = pool(accelerator="v4-8", zones="{us-central2-b: 2}", capacity="{reserved: lab}")
    declared = "- {name: lab, project: my-lab, zone: us-central2-b, generation: v4, chips: 64}\n"
    cost = cost_of(parse(stack_text(pools=reserved + POOL, reservations=declared)))
    assert (cost.declared.hour.exact, cost.unpriced) == (Decimal("3.84"), ())
