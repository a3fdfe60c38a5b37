"""Starts tests of one commit of a pull request for whoever may write to the repository, and for nobody else.

Told by NUMBER, SHA (the head when the label was set), LABEL, SENDER (who set it), FILE and BRANCH (what is started).
Nothing of the pull request is read but its number and that commit's name.
"""

from __future__ import annotations

import os
import re
import urllib.parse

from workflows.scripts.hub import ask

MAY = {"admin", "write"}


def main() -> None:
    told = os.environ
    number, sha = int(told["NUMBER"]), told["SHA"]
    if not re.fullmatch(r"[0-9a-f]{40}", sha):
        raise SystemExit("::error::the event names no commit")
    label = f"/issues/{number}/labels/{urllib.parse.quote(told['LABEL'], safe='')}"
    held = ask("GET", f"/collaborators/{urllib.parse.quote(told['SENDER'], safe='')}/permission", absent=True) or {}
    if held.get("permission") not in MAY:
        ask("DELETE", label, absent=True)
        raise SystemExit(
            "::error::whoever set the label may not write to this repository: the label is removed, and no tests start"
        )
    inputs = {"pull_request": str(number), "sha": sha}
    try:
        ask("POST", f"/actions/workflows/{told['FILE']}/dispatches", {"ref": told["BRANCH"], "inputs": inputs})
    except SystemExit:
        # A label that stays would say that tests are on their way.
        ask("DELETE", label, absent=True)
        raise
    print(f"asked for tests of {sha}")


if __name__ == "__main__":
    main()
