"""One comment of ours on the pull requests of a commit, found by a hidden marker and edited in place.

Owns that there is one: whoever finds more, after two jobs raced or an answer was lost on the way, keeps the oldest and
removes the others. A comment with the marker that somebody else wrote is never touched. One that shows an engine's plan
of a commit gives way to newer commits and newer plans, not to the smaller comment of the same commit: their jobs end in
any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from pydantic import BaseModel

from infra.github.client import Author, PostingPlace, failures_told

MARKER = "<!-- tidepool:preview -->"
LONGEST = 65_536
"""Characters of a comment; GitHub refuses one more."""


class _Repository(BaseModel):
    default_branch: str


class _Branch(BaseModel):
    ref: str
    sha: str


class _Pull(BaseModel):
    number: int
    state: str
    head: _Branch
    base: _Branch


class _Comment(BaseModel):
    id: int
    body: str
    user: Author | None


@dataclass(frozen=True, slots=True)
class Posted:
    """What became of the comment; `kept` had the plan of the same commit. removed: how many others of ours went."""

    outcome: Literal["created", "edited", "unchanged", "kept"]
    comment: int
    removed: int = 0


def mark_of_plan(head: str) -> str:
    """The hidden line below the marker of a comment that shows an engine's plan of this commit."""
    return f"<!-- tidepool:plan {head} -->"


def post(place: PostingPlace, pull: int, text: str, *, head: str = "", planned: bool = False) -> Posted:
    """Let `text` be our comment of the pull request. Raises ValueError where it is too long for GitHub.

    head: the commit that it speaks of. planned: whether it shows an engine's plan of that commit.
    """
    with_plan = f"{MARKER}\n{mark_of_plan(head)}\n"
    body = f"{with_plan}{text}" if planned else f"{MARKER}\n{text}"
    if len(body) > LONGEST:
        raise ValueError(f"the comment has {len(body):,} characters, GitHub takes {LONGEST:,}")

    def unless_overtaken(ours: Sequence[_Comment]) -> str | None:
        return None if ours and not planned and ours[0].body.startswith(with_plan) else body

    return _edited(place, pull, MARKER, unless_overtaken)


def amend(place: PostingPlace, pull: int, marker: str, decide: Callable[[Sequence[str]], str]) -> Posted:
    """Let our comment of a subject be what `decide` makes of all that ours say by then, oldest first, without their
    markers: there are several where two jobs raced."""
    return _edited(place, pull, marker, lambda ours: f"{marker}\n{decide([_said(each, marker) for each in ours])}")


def _edited(place: PostingPlace, pull: int, marker: str, decide: Callable[[Sequence[_Comment]], str | None]) -> Posted:
    """decide: what ours shall be, by all that there are; None for what stays as it is."""
    with failures_told(f"writing the comment of pull request {pull}"):
        ours = _ours(place, pull, marker)
        created = not ours
        if created:
            place.ask("POST", f"issues/{pull}/comments", {"body": decide(())})
            # Another job may have created one too.
            ours = _ours(place, pull, marker)
        kept, *others = ours
        body = decide(ours)
        edited = body is not None and kept.body != body
        if edited:
            place.ask("PATCH", f"issues/comments/{kept.id}", {"body": body})
        for other in others:
            # 404: the other job removes the same ones.
            place.ask("DELETE", f"issues/comments/{other.id}", takes=frozenset({404}))
    if body is None:
        return Posted("kept", kept.id, len(others))
    outcome = "created" if created else "edited" if edited else "unchanged"
    return Posted(outcome, kept.id, len(others))


def standing(place: PostingPlace, pull: int, marker: str) -> str:
    """What our comment of a subject says, without its marker; empty where there is none."""
    with failures_told(f"reading the comment of pull request {pull}"):
        ours = _ours(place, pull, marker)
    return _said(ours[0], marker) if ours else ""


def _said(comment: _Comment, marker: str) -> str:
    return comment.body.removeprefix(f"{marker}\n")


def of_head(place: PostingPlace, head: str) -> tuple[int, ...]:
    """The open pull requests into the default branch whose newest commit is `head`.

    None where they have moved on or are closed. GitHub's look-up by commit knows no commit of a fork, so where it finds
    nothing the open pull requests are read.
    """
    with failures_told(f"looking for the pull request of {head}"):
        into = _Repository.model_validate(place.ask("GET", "").body).default_branch
        wanted = ("open", head, into)
        for path in (f"commits/{head}/pulls", f"pulls?state=open&base={quote(into, safe='')}"):
            pulls = place.listed(path, _Pull)
            found = sorted(each.number for each in pulls if (each.state, each.head.sha, each.base.ref) == wanted)
            if found:
                break
    return tuple(found)


def _ours(place: PostingPlace, pull: int, marker: str) -> list[_Comment]:
    """Oldest first, from every page."""
    found = (
        comment
        for comment in place.listed(f"issues/{pull}/comments", _Comment)
        if comment.user is not None and comment.user.login == place.me and comment.body.startswith(marker)
    )
    return sorted(found, key=lambda comment: comment.id)
