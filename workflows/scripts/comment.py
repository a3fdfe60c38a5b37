"""One comment of a pull request, made once and changed in place.

Told by KEY (which comment), NUMBER (the pull request), TEXT, and REPORT, a file whose text follows where it is there.
"""

from __future__ import annotations

import os
from pathlib import Path

from workflows.scripts.hub import OWN_LOGIN, ask, each

LONGEST = 65_536


def main() -> None:
    marker = f"<!-- tidepool-comment: {os.environ['KEY']} -->"
    report = Path(os.environ.get("REPORT", "") or os.devnull)
    text = report.read_text(encoding="utf-8") if report.is_file() else ""
    body = "\n".join((marker, os.environ["TEXT"], "", text)).strip()[:LONGEST]
    number = int(os.environ["NUMBER"])
    mine = [
        one
        for one in each(f"/issues/{number}/comments")
        if one["user"]["login"] == OWN_LOGIN and marker in (one["body"] or "")
    ]
    # The one that is there may go between two questions.
    if not mine or ask("PATCH", f"/issues/comments/{mine[0]['id']}", {"body": body}, absent=True) is None:
        ask("POST", f"/issues/{number}/comments", {"body": body})
    for twice in mine[1:]:
        ask("DELETE", f"/issues/comments/{twice['id']}", absent=True)


if __name__ == "__main__":
    main()
