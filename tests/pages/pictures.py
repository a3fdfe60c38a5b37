"""The pictures of docs/results.md: the page of the made-up results, in a browser without a window.

`python -m tests.pages.pictures` writes them anew, and fails where the browser has anything to say of the page. It needs
Chromium. They are looked at and not compared: letters differ between machines.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from infra.pages.health import results_page
from infra.results.board import board
from tests.pages.sample_results import NOW, QUARANTINE, sample_runs

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "pictures"
SIZES: Final = {"results-wide.png": (1440, 1500, ()), "results-narrow.png": (375, 1500, ("preferredColorScheme=0",))}
"""Width, height, and what the browser prefers: dark on the telephone."""


def main() -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("the pictures need Chromium, which is not installed here")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        shown = Path(folder) / "results.html"
        shown.write_text(results_page(board(sample_runs(), QUARANTINE, NOW)), encoding="utf-8")
        for name, (width, height, settings) in SIZES.items():
            _take(browser, shown, FOLDER / name, width, height, settings, Path(folder) / "profile")
            sys.stdout.write(f"wrote {FOLDER / name}\n")


def _take(
    browser: str, shown: Path, picture: Path, width: int, height: int, settings: tuple[str, ...], profile: Path
) -> None:
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
        f"--user-data-dir={profile}", f"--window-size={width},{height}", f"--screenshot={picture}",
        *(f"--blink-settings={each}" for each in settings), shown.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    told = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    if told:
        sys.exit("the browser says of the page:\n" + "\n".join(told))


if __name__ == "__main__":
    main()
