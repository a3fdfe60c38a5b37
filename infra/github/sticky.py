"""One comment of ours on a pull request, found by a hidden marker and edited in place.

Owns that there is one: whoever finds more, after two jobs raced or an answer was lost on the way, keeps the oldest and
removes the others. A comment with the marker that somebody else wrote is never touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import github
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest

from infra.github.client import Place, failures_told, is_missing

MARKER = "<!-- tidepool:preview -->"
LONGEST = 65_536
"""Characters of a comment; GitHub refuses one more."""


@dataclass(frozen=True, slots=True)
class Posted:
    """What became of the comment. removed: how many others of ours there were."""

    outcome: Literal["created", "edited", "unchanged"]
    comment: int
    removed: int = 0


def post(place: Place, pull: PullRequest, text: str) -> Posted:
    """Let `text` be our comment of the pull request. Raises ValueError where it is too long for GitHub."""
    body = f"{MARKER}\n{text}"
    if len(body) > LONGEST:
        raise ValueError(f"the comment has {len(body):,} characters, GitHub takes {LONGEST:,}")
    with failures_told(f"writing the comment of pull request {pull.number}"):
        ours = _ours(place, pull)
        if not ours:
            pull.create_issue_comment(body)
            # Another job may have created one too, or this call may have been repeated by the client.
            created, ours = True, _ours(place, pull)
        else:
            created = False
        kept, *others = ours
        edited = kept.body != body
        if edited:
            kept.edit(body)
        for other in others:
            _remove(other)
    outcome = "created" if created else "edited" if edited else "unchanged"
    return Posted(outcome, kept.id, len(others))


def _ours(place: Place, pull: PullRequest) -> list[IssueComment]:
    """Oldest first, from every page."""
    found = (
        comment
        for comment in pull.get_issue_comments()
        if comment.user is not None and comment.user.login == place.me and comment.body.startswith(MARKER)
    )
    return sorted(found, key=lambda comment: comment.id)


def _remove(comment: IssueComment) -> None:
    try:
        comment.delete()
    except github.GithubException as refusal:
        # The other job removes the same ones.
        if not is_missing(refusal):
            raise
