"""One open issue for what fails: opened, brought up to date in place, and closed when it is green.

Told by KEY (which issue), TITLE, LABELS (joined by commas), OUTCOME and TEXT. A job that was `cancelled` in a run that
goes on was ended by its time limit, which is a failure: who cancels a run cancels the job that tells. An outcome that
says neither, such as skipped, changes nothing.
"""

from __future__ import annotations

import os
import re
from typing import Any

from workflows.scripts.hub import OWN_LOGIN, ask, each, run_url

FAILED = ("failure", "cancelled")
KEPT = 20
"""How many runs the issue lists."""


def main() -> None:
    marker = f"<!-- tidepool-issue: {os.environ['KEY']} -->"
    open_ones = opened(marker)
    if os.environ["OUTCOME"] in FAILED:
        keep_open(marker, open_ones)
    elif os.environ["OUTCOME"] == "success":
        for found in open_ones:
            close(found, f"This no longer happens: {run_url()}.")
    else:
        print(f"{os.environ['OUTCOME']}: the outcome says nothing, so the issue is not changed")


def opened(marker: str) -> list[Any]:
    """Its open issues, the oldest first; of this script's own alone, since anybody can write a marker.

    Not asked for by its labels: somebody may have taken one off.
    """
    found = each("/issues", state="open", creator=OWN_LOGIN, sort="created", direction="asc")
    return [one for one in found if "pull_request" not in one and marker in (one["body"] or "")]


def keep_open(marker: str, open_ones: list[Any]) -> None:
    line = f"- {run_url()} at {os.environ['GITHUB_SHA'][:12]}"
    before = re.findall(r"^- https?://\S+ at [0-9a-f]+$", open_ones[0]["body"], re.MULTILINE) if open_ones else []
    lines = [line, *(each_one for each_one in before if each_one != line)][:KEPT]
    body = "\n".join((marker, os.environ["TEXT"], "", "Runs in which this happened, the latest first:", "", *lines))
    labels = os.environ["LABELS"].split(",")
    if not open_ones:
        made = ask("POST", "/issues", {"title": os.environ["TITLE"], "body": body, "labels": labels})
        print(f"opened #{made['number']}")
        return
    first, *others = open_ones
    ask("PATCH", f"/issues/{first['number']}", {"title": os.environ["TITLE"], "body": body})
    ask("POST", f"/issues/{first['number']}/labels", {"labels": labels})
    print(f"updated #{first['number']}")
    for found in others:
        close(found, f"Duplicate of #{first['number']}.")


def close(found: Any, why: str) -> None:
    ask("POST", f"/issues/{found['number']}/comments", {"body": why})
    ask("PATCH", f"/issues/{found['number']}", {"state": "closed"})
    print(f"closed #{found['number']}")


if __name__ == "__main__":
    main()
