"""What slices cost, to the cent."""

from __future__ import annotations

from decimal import Decimal

from infra.model.cost import HOURS_PER_MONTH, stack_cost
from tests.model.given import POOL, parse, pool, stack_text


def test_a_month_has_730_hours_unless_a_window_says_fewer() -> None:
    config = parse(stack_text(pools=POOL))  # 2 v5litepod-4, preemptible, us-west4-a: 8 chips at 0.48
    assert stack_cost(config).amount.hour == Decimal("3.84")
    assert stack_cost(config).amount.month == Decimal("3.84") * HOURS_PER_MONTH == Decimal("2803.20")
    assert stack_cost(config, {"tpu-ci": 44}).amount.month == Decimal("168.96")


def test_what_has_no_price_is_named_and_not_counted_as_nothing() -> None:
    unpriced = pool(accelerator="tpu7x-8", zones="{us-central1-c: 1}", capacity="on-demand")
    cost = stack_cost(parse(stack_text(pools=POOL + unpriced)))
    assert cost.unpriced == ("other",)
    assert cost.amount.hour == Decimal("3.84")


def test_a_pool_without_vms_costs_nothing_whether_it_has_a_price_or_not() -> None:
    empty = pool(accelerator="tpu7x-8", zones="{us-central1-c: 0}", capacity="on-demand")
    assert stack_cost(parse(stack_text(pools=POOL + empty))).unpriced == ()


def test_reserved_chips_are_paid_whether_used_or_not_and_add_nothing() -> None:
    reserved = pool(accelerator="v4-8", zones="{us-central2-b: 2}", capacity="{reserved: lab}")
    declared = "- {name: lab, project: my-lab, zone: us-central2-b, generation: v4, chips: 64}\n"
    cost = stack_cost(parse(stack_text(pools=POOL + reserved, reservations=declared)))
    assert (cost.amount.hour, cost.unpriced) == (Decimal("3.84"), ())
