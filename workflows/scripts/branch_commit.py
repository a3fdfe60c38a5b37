"""Fails unless a commit is one of a branch's own. Told by BRANCH and COMMIT."""

from __future__ import annotations

import os

from workflows.scripts.branch import branch_commits
from workflows.scripts.hub import ask


def main() -> None:
    branch, commit = os.environ["BRANCH"], os.environ["COMMIT"]
    if commit not in branch_commits(branch, lambda path: ask("GET", path)):
        raise SystemExit(
            f"::error::{commit}: not among the newest commits of branch {branch}; a tag may have the branch's name. "
            f"Fix: run the workflow again for a commit of {branch}."
        )


if __name__ == "__main__":
    main()
