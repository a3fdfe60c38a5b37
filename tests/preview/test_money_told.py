"""Money in headlines and sums: never left out, and never a cent off what its own lines say."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.model.given import pool, stack_text
from tests.preview.two_versions import heading, meaning, told

MIXED = pool(name="mixed", accelerator="v6e-8", zones="{us-east5-a: 1, southamerica-west1-a: 1}")
"""v6e spot has a price in the one zone and none in the other."""


def test_a_new_pool_that_has_a_price_in_one_of_its_zones_has_money_in_the_headline() -> None:
    found = meaning(stack_text(pools="[]\n"), stack_text(pools=MIXED))
    assert "+$7,096 a month, part of it without a price" in heading(found)
    assert "Cost a month      $0  $7,096 + ?  +$7,096 + ?" in told(found)


@pytest.mark.parametrize("hours", [1 / 3, 7.77, 243.3333])
def test_sums_are_those_of_the_lines_that_people_see(hours: float) -> None:
    pools = "".join(
        pool(name=f"p{index}", accelerator="v4-8", zones="{us-central2-b: 1}", capacity="spot") for index in range(3)
    )
    windows = {f"p{index}": hours for index in range(3)}
    money = meaning(stack_text(pools="[]\n"), stack_text(pools=pools), window_hours=windows).money
    lines = [line.after.amount for line in money.lines]
    assert len(lines) == 3
    assert money.total.after.month.exact == sum(round(each.month.known, 2) for each in lines)


def test_a_budget_of_just_what_is_shown_is_kept() -> None:
    spot = pool(accelerator="v4-8", zones="{us-central2-b: 1}", capacity="spot")  # $3.686 an hour: $14.744 of four
    four_hours = {"other": 4.0}
    kept = meaning(None, stack_text(pools=spot, budget="usd_per_month: 14.74\n"), window_hours=four_hours)
    assert kept.money.total.after.month.exact == Decimal("14.74")
    assert not kept.stops
    over = meaning(None, stack_text(pools=spot, budget="usd_per_month: 14.73\n"), window_hours=four_hours)
    assert "$14.74 a month, over the $14.73 allowed" in over.findings[0].reason
