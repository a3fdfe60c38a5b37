"""Finds the commit that images of tested sources are built from: one of the branch's own, with green tests.

Told by TESTS (a workflow's name), BRANCH and REVISION (the commit that was asked for, or empty). The output `commit` is
the one that was asked for, else the newest. It is empty, with a warning, where no such commit has green tests.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlencode

from workflows.scripts.branch import branch_commits
from workflows.scripts.hub import PER_PAGE, ask


def main() -> None:
    tests, branch, revision = os.environ["TESTS"], os.environ["BRANCH"], os.environ["REVISION"]
    if revision and not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise SystemExit("::error::the revision is not a whole commit of 40 hexadecimal digits")
    green = tested(tests, branch, revision)
    found = next((one for one in branch_commits(branch, lambda path: ask("GET", path)) if one in green), "")
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as outputs:
        print(f"commit={found}", file=outputs)
    if not found:
        wanted = revision or "any commit"
        print(f"::warning::no green run of {tests} for {wanted} of {branch}: no image of tested sources is built")


def tested(tests: str, branch: str, revision: str) -> set[str]:
    """Commits of the newest green runs of a workflow, for pushes; of one revision alone where there is one."""
    query = {"branch": branch, "event": "push", "status": "success", "per_page": PER_PAGE}
    if revision:
        query["head_sha"] = revision
    workflows = ask("GET", f"/actions/workflows?per_page={PER_PAGE}")["workflows"]
    return {
        run["head_sha"]
        for workflow in workflows
        if workflow["name"] == tests
        for run in ask("GET", f"/actions/workflows/{workflow['id']}/runs?{urlencode(query)}")["workflow_runs"]
        if revision in ("", run["head_sha"])
    }


if __name__ == "__main__":
    main()
