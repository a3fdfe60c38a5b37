"""The pictures of docs/results.md, docs/report.md and the README: pages in a browser without a window.

`python -m tests.pages.pictures` writes them anew, and fails where the browser has anything to say of a page. It needs
Chromium. They are looked at and not compared: letters differ between machines.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, sync_playwright

from infra.pages.health import results_page
from infra.results.board import board
from tests.pages import sample_estate
from tests.pages.sample_results import NOW, QUARANTINE, sample_runs

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "pictures"
SIZES: Final[dict[str, tuple[int, int, Literal["light", "dark"]]]] = {
    "wide": (1440, 1300, "light"),
    "narrow": (375, 2000, "dark"),
}
"""Width, height, and what the browser prefers: dark on the telephone."""


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("the pictures need Chromium, which is not installed here")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, page in (("results", _results(Path(folder))), ("report", _report(Path(folder)))):
            _take(browser, name, page)


def _results(folder: Path) -> Path:
    page = folder / "results.html"
    page.write_text(results_page(board(sample_runs(), QUARANTINE, NOW)), encoding="utf-8")
    return page


def _report(folder: Path) -> Path:
    home = folder / "home"
    try:
        sample_estate.make(home)
        sample_estate.command(home, "report", "--out", str(folder))
    finally:
        sample_estate.command(home, "cloud", "stop")
    return folder / "index.html"


def _take(browser: Browser, name: str, page: Path) -> None:
    for size, (width, height, scheme) in SIZES.items():
        shown = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        told: list[str] = []
        shown.on("console", lambda message, told=told: told.append(message.text))
        shown.on("pageerror", lambda error, told=told: told.append(str(error)))
        shown.goto(page.as_uri())
        picture = FOLDER / f"{name}-{size}.png"
        shown.screenshot(path=picture)
        if told:
            sys.exit("the browser says of the page:\n" + "\n".join(told))
        sys.stdout.write(f"wrote {picture}\n")


if __name__ == "__main__":
    main()
