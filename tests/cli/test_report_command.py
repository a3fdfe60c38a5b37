"""`./tidepool report`: the page of what stands, and what is said of it to people and to programs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from infra.operations.report import site
from infra.operations.report.site import Site
from tests.cli.conftest import Checkout

MADE = datetime(2026, 11, 23, 6, tzinfo=UTC)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Site:
    lacks: dict[str, tuple[str, ...]] = {
        "results": ("No results are kept yet. `./tidepool results publish` keeps the first.",)
    }
    made = Site(path=tmp_path / "index.html", bytes=420_000, made=MADE, sections=("overview",), lacks=lacks)
    monkeypatch.setattr(site, "write_site", lambda *_: made)
    return made


def test_people_are_told_where_it_is_and_what_is_not_known(checkout: Checkout, written: Site) -> None:
    assert checkout.ok("report").stdout.splitlines() == [
        f"wrote {written.page}, 420 kB",
        "  results: No results are kept yet. `./tidepool results publish` keeps the first.",
    ]
