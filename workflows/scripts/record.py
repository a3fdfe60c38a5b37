"""Adds results to their history, a file of each commit and run, drops what is too old, and writes the page of health.

Told by RESULTS (a folder of results), DAYS (after which one is dropped), and as `branch` and `board`. The page is
README.md of the branch and in the run's summary. Puts out `budget`: failure where the cost is over it, else success.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from workflows.scripts.board import page
from workflows.scripts.branch import GitError, fetched, git, made, remote
from workflows.scripts.results import history, name_of, read

TRIES = 5
SECONDS_OF_DAY = 86_400


def main() -> None:
    told = os.environ
    text, over = recorded(made())
    with Path(told["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as summary:
        summary.write(text)
    with Path(told["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as output:
        output.write(f"budget={'failure' if over else 'success'}\n")
    if over:
        print("::warning::the TPU VMs of these tests cost more than their budget")


def recorded(folder: Path) -> tuple[str, bool]:
    """The page and whether the budget is over, once the branch has both the results and the page."""
    told, said = os.environ, ""
    found = [each for each in map(read, sorted(Path(told["RESULTS"]).rglob("*.json"))) if each]
    for left in reversed(range(TRIES)):
        try:
            return added(folder, found)
        except GitError as refusal:
            # Somebody else's results may have come first: then theirs are fetched, and these are added to them.
            said = str(refusal)
            time.sleep(left and float(told.get("PAUSE_SECONDS", "3")))
    sys.exit(f"::error::the results could not be pushed to branch {told['BRANCH']} in {TRIES} tries: {said}")


def added(folder: Path, found: list[dict[str, Any]]) -> tuple[str, bool]:
    """The page and whether the budget is over, with these results on the branch; GitError where git is."""
    told = os.environ
    fetched(folder)
    for result in found:
        path = folder / name_of(result)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    for result in history(folder):
        if result["at"] < time.time() - int(told["DAYS"]) * SECONDS_OF_DAY:
            (folder / name_of(result)).unlink(missing_ok=True)
    text, over = page(folder)
    (folder / "README.md").write_text(text, encoding="utf-8")
    git(folder, "add", "--all")
    if git(folder, "status", "--porcelain").stdout:
        git(folder, "commit", "--quiet", "-m", f"Results of {told['GITHUB_SHA'][:12]}")
        git(folder, "push", "--quiet", remote(), f"HEAD:refs/heads/{told['BRANCH']}")
    return text, over


if __name__ == "__main__":
    main()
