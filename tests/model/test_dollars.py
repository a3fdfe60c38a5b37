"""Amounts of which a part is unknown: a sum with one is unknown, and equal unknown parts cancel."""

from __future__ import annotations

from decimal import Decimal

import pytest

from infra.model.dollars import NOTHING, Dollars, dearest
from infra.model.json_shape import plain

TEN, FIVE = Dollars(Decimal(10)), Dollars(Decimal(5))
GAP = Dollars.missing("tpu7x on-demand in us-central1-c has no list price", Decimal(8))


@pytest.mark.parametrize(
    ("amount", "told", "json"),
    [
        (NOTHING, "$0.00", 0.0),
        (TEN + FIVE, "$15.00", 15.0),
        (FIVE - TEN, "-$5.00", -5.0),
        (Dollars(Decimal("1234.567")), "$1,234.57", 1234.567),
        (GAP, "?", None),
        (sum((TEN, GAP, FIVE), NOTHING), "$15.00 + ?", None),
        (GAP * Decimal(2) / Decimal(4), "?", None),
        ((TEN + GAP) - (FIVE + GAP), "$5.00", 5.0),
        (GAP - GAP * Decimal(2), "?", None),
        (GAP * Decimal(0), "$0.00", 0.0),
        (dearest([TEN, FIVE]), "$10.00", 10.0),
        (dearest([TEN, GAP]), "$10.00 + ?", None),
        (dearest([]), "$0.00", 0.0),
    ],
    ids=str,
)
def test_an_amount_is_known_only_where_every_part_of_it_is(amount: Dollars, told: str, json: float | None) -> None:
    assert (str(amount), plain(amount)) == (told, json)
    assert (amount.exact is None) is (json is None)
    assert bool(amount.reasons) is (json is None)


@pytest.mark.parametrize(
    ("amount", "limit", "over"),
    [
        (TEN, 9, True),
        (TEN, 10, False),
        (TEN + GAP, 9, True),
        (TEN + GAP, 10, None),
        (GAP, 0, None),
        (NOTHING, 0, False),
    ],
    ids=str,
)
def test_there_is_a_verdict_only_where_the_known_part_gives_it(amount: Dollars, limit: int, over: bool | None) -> None:
    assert amount.over(Decimal(limit)) is over
