"""Which pull requests a head commit belongs to."""

from __future__ import annotations

from collections.abc import Iterable

from github.PullRequest import PullRequest

from infra.github.client import Place, failures_told


def of_head(place: Place, head: str) -> tuple[PullRequest, ...]:
    """The open pull requests into the default branch whose newest commit is `head`, by number.

    None where they have moved on or are closed. GitHub's look-up by commit knows no commit of a fork, so where it finds
    nothing the open pull requests are read.
    """
    with failures_told(f"looking for the pull request of {head}"):
        into = place.repository.default_branch
        found = _fitting(place.repository.get_commit(head).get_pulls(), head, into)
        return found or _fitting(place.repository.get_pulls(state="open", base=into), head, into)


def _fitting(pulls: Iterable[PullRequest], head: str, into: str) -> tuple[PullRequest, ...]:
    found = (pull for pull in pulls if (pull.state, pull.head.sha, pull.base.ref) == ("open", head, into))
    return tuple(sorted(found, key=lambda pull: pull.number))
