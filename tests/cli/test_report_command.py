"""`./tidepool report`: the page of what stands, and what is said of it to people and to programs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from infra.operations.report import site
from infra.operations.report.site import Site
from tests.cli.conftest import Checkout
from tests.pages.html_seen import Seen, assert_sound

MADE = datetime(2026, 11, 23, 6, tzinfo=UTC)


@pytest.mark.end_to_end
def test_after_an_up_the_page_tells_the_fleet_and_names_what_is_lacking(upped: Checkout) -> None:
    told = upped.json("report", "--out", str(upped.root / "site"))
    page = upped.root / "site" / "index.html"
    shown = Seen(page.read_text())
    assert_sound(shown)
    assert (told["page"], told["bytes"], told["exit"]) == (str(page), page.stat().st_size, 0)
    assert told["bytes"] < 2_000_000
    assert [each["id"] for each in shown.of("section")] == told["sections"]
    assert {"tpu-ci", "us-west4-a", "v5litepod-4", "■ 2 READY"} <= set(shown.words)
    assert "chips stand, in " in shown.said
    assert "up: " in shown.said
    assert {"images", "results"} <= told["lacks"].keys()
    assert not {"risks", "capacity", "calendar", "changes"} & told["lacks"].keys()


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
