"""One issue of ours for one subject: opened, updated in place, reopened and closed as what it tells comes and goes.

Owns the life of the issue, and that there is one. A hidden marker at the start of its body finds it; an issue with the
marker that somebody else wrote is never touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from infra.github import labels
from infra.github.client import Author, PostingPlace
from infra.github.labels import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueText:
    """What an issue shall say. body: starts with the marker."""

    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Told:
    """What became of the issue; `number` is None where none was needed."""

    outcome: Literal["created", "updated", "reopened", "unchanged", "closed", "clean"]
    number: int | None


class _Issue(BaseModel):
    number: int
    state: str
    body: str | None
    user: Author | None
    pull_request: Any = None


def follow(
    place: PostingPlace, marker: str, looks: Mapping[str, Look], text: IssueText | None, *, unsure: bool = False
) -> Told:
    """Let the subject's issue say this; None closes it. looks: its labels, of which the first finds it.

    unsure: nothing is known of a part of what was told last, so that an open issue stays open.
    """
    known = _only(place, marker, next(iter(looks)))
    if text is None:
        return Told("unchanged", known[0].number) if unsure and _is_open(known) else _close(place, known)
    if not known:
        for label, look in looks.items():
            labels.make(place, label, look)
        issue = {"title": text.title, "body": text.body, "labels": list(looks)}
        made = _Issue.model_validate(place.ask("POST", "issues", issue).body).number
        # Another job may have opened one too; GitHub's list may be late, and then the next report closes one.
        first = next((each.number for each in _only(place, marker, next(iter(looks)))), made)
        return Told("created", first)
    return _update(place, known[0], text)


def _edit(place: PostingPlace, issue: _Issue, **changes: str) -> None:
    place.ask("PATCH", f"issues/{issue.number}", changes)


def _is_open(known: list[_Issue]) -> bool:
    return bool(known) and known[0].state == "open"


def _close(place: PostingPlace, known: list[_Issue]) -> Told:
    if not _is_open(known):
        return Told("clean", known[0].number if known else None)
    _edit(place, known[0], state="closed", state_reason="completed")
    return Told("closed", known[0].number)


def _update(place: PostingPlace, issue: _Issue, text: IssueText) -> Told:
    if issue.state == "open" and issue.body == text.body:
        return Told("unchanged", issue.number)
    outcome = "updated" if issue.state == "open" else "reopened"
    _edit(place, issue, title=text.title, body=text.body, state="open")
    return Told(outcome, issue.number)


def _only(place: PostingPlace, marker: str, label: str) -> list[_Issue]:
    """Ours of a subject, of which the first alone stays open."""
    known = _ours(place, marker, label)
    for extra in known[1:]:
        if extra.state == "open":
            _edit(place, extra, state="closed", state_reason="not_planned")
    return known


def _ours(place: PostingPlace, marker: str, label: str) -> list[_Issue]:
    """Ours of a subject: an open one first, then the newest, so that what is reopened is what people saw last."""
    found = [
        issue
        for issue in place.listed(f"issues?state=all&labels={label}", _Issue)
        if issue.pull_request is None
        and issue.user is not None
        and issue.user.login == place.me
        and (issue.body or "").startswith(marker)
    ]
    return sorted(found, key=lambda issue: (issue.state != "open", -issue.number))
