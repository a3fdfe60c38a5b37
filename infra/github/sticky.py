"""One comment of ours on a pull request, found by a hidden marker and edited in place.

Owns that there is one: whoever finds more, after two jobs raced or an answer was lost on the way, keeps the oldest and
removes the others. A comment with the marker that somebody else wrote is never touched. One that shows an engine's plan
of a commit gives way to newer commits and newer plans, not to the smaller comment of the same commit: their jobs end in
any order.
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
    """What became of the comment; `kept` had the plan of the same commit. removed: how many others of ours went."""

    outcome: Literal["created", "edited", "unchanged", "kept"]
    comment: int
    removed: int = 0


def mark_of_plan(head: str) -> str:
    """The hidden line below the marker of a comment that shows an engine's plan of this commit."""
    return f"<!-- tidepool:plan {head} -->"


def post(place: Place, pull: PullRequest, text: str, *, head: str = "", planned: bool = False) -> Posted:
    """Let `text` be our comment of the pull request. Raises ValueError where it is too long for GitHub.

    head: the commit that it speaks of. planned: whether it shows an engine's plan of that commit.
    """
    with_plan = f"{MARKER}\n{mark_of_plan(head)}\n"
    body = f"{with_plan}{text}" if planned else f"{MARKER}\n{text}"
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
        overtaken = not planned and kept.body.startswith(with_plan)
        edited = kept.body != body and not overtaken
        if edited:
            kept.edit(body)
        for other in others:
            _remove(other)
    if overtaken:
        return Posted("kept", kept.id, len(others))
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
