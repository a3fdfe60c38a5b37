"""The commits of a branch at GitHub: its tip, and what that tip reaches through first parents.

Neither a run's `head_branch` nor a `branches:` filter proves that a commit is of a branch. A tag of the branch's name
has both, and second parents of merges are commits that pull requests brought along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

COMMITS_PER_PAGE = 100
MOST_PAGES = 10
"""Pages of commits that are read: the newest thousand that the tip reaches."""


def branch_commits(branch: str, get: Callable[[str], Any]) -> Iterator[str]:
    """The commits of a branch, the newest first, as far as the newest thousand commits behind its tip go.

    get: the answer to a GET of a path below the repository. https://docs.github.com/en/rest/git/refs and
    https://docs.github.com/en/rest/commits/commits (read 2026-11-24).
    """
    tip = commit = get(f"/git/ref/heads/{quote(branch)}")["object"]["sha"]
    first_parents: dict[str, str] = {}
    for page in range(1, MOST_PAGES + 1):
        listed = get(f"/commits?sha={tip}&per_page={COMMITS_PER_PAGE}&page={page}")
        for one in listed:
            first_parents[one["sha"]] = one["parents"][0]["sha"] if one["parents"] else ""
        while commit in first_parents:
            yield commit
            commit = first_parents[commit]
        if not commit or len(listed) < COMMITS_PER_PAGE:
            return
