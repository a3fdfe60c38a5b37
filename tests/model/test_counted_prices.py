"""An edit of a list price is named by each test that fails with it."""

from __future__ import annotations

from pathlib import Path

from tests.counted_prices import CATALOGUE, changed_prices


def test_figures_in_tests_are_counted_with_the_prices_of_the_catalogue() -> None:
    changed = changed_prices()
    assert not changed, "count figures again, then copy the table to tests/prices.yaml:\n" + "\n".join(changed)


def test_a_price_that_was_edited_is_named_with_both_dates(tmp_path: Path) -> None:
    edited = tmp_path / "prices.yaml"
    text = CATALOGUE.read_text()
    assert text.count("spot: 0.9215") == 1
    edited.write_text(text.replace("spot: 0.9215", "spot: 0.93").replace('as_of: "2026-08"', 'as_of: "2026-12"'))
    (said,) = changed_prices(catalogue=edited)
    assert said.startswith("v4 us-central2-b spot: 0.93 dollars a chip-hour as of 2026-12; ")
    assert said.endswith("are counted with 0.9215 of 2026-08")
