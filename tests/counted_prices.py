"""The list prices that figures in tests are counted with, beside those of the catalogue.

An edit of a price breaks every test that says what something costs; each then names the price, for none of them can be
read from a sum. Who edits one counts the figures again and copies the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

COUNTED: Final = Path(__file__).with_name("prices.yaml")
CATALOGUE: Final = Path(__file__).parents[1] / "infra" / "model" / "facts" / "prices.yaml"


def changed_prices(counted: Path = COUNTED, catalogue: Path = CATALOGUE) -> tuple[str, ...]:
    """A line each price that differs, with the dates of both tables."""
    before, after = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in (counted, catalogue))
    old, new = dict(_prices(before)), dict(_prices(after))
    return tuple(
        f"{' '.join(key)}: {_said(new, key)} dollars a chip-hour as of {after['as_of']}; figures in tests are counted "
        f"with {_said(old, key)} of {before['as_of']}"
        for key in sorted(old.keys() | new.keys())
        if _said(old, key) != _said(new, key)
    )


def _prices(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str, str], Any]]:
    for generation, rows in table["usd_per_chip_hour"].items():
        for row in rows:
            for zone in row["zones"]:
                for kind in ("on_demand", "spot"):
                    yield (generation, zone, kind), row[kind]


def _said(prices: Mapping[tuple[str, str, str], Any], key: tuple[str, str, str]) -> str:
    found = prices.get(key)
    return "none" if found is None else str(found)
