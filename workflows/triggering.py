"""Whether an event starts a workflow, and why not: filters of `on`, their patterns, and inputs of a start by hand.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#on,
https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows (read 2026-11-21) and
https://docs.github.com/en/rest/actions/workflows#create-a-workflow-dispatch-event (read 2026-11-22). A pattern is no
shell's: `?` and `+` repeat the sign before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from workflows.events import GitHubEvent

_DEFAULT_TYPES = {
    "pull_request": ("opened", "synchronize", "reopened"),
    "pull_request_target": ("opened", "synchronize", "reopened"),
}
"""Activities that start a workflow whose trigger names none; of other events all do."""
_SKIPPING = ("[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[actions skip]")
_TRAILER = re.compile(r"\n\n(?:[^\n]+\n)*skip-checks: ?true\s*\Z", re.IGNORECASE)
"""What a commit says to start nothing.

https://docs.github.com/en/actions/how-tos/manage-workflow-runs/skip-workflow-runs (read 2026-11-22)
"""
_STARTED_BY_TOKEN = ("workflow_dispatch", "repository_dispatch")
"""What a job's token starts; all else that it does starts nothing, so that no run starts itself.

https://docs.github.com/en/actions/concepts/security/github_token (read 2026-11-22)
"""
MOST_FILES = 300
"""Changed files that a filter of paths looks at."""
Declared = Mapping[str, Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Started:
    """Whether, and what speaks against it; `subject` is the schedule or the workflow that it was."""

    starts: bool
    why: str = ""
    subject: str = ""


def triggers(on: Any) -> dict[str, Any]:
    """The events of an `on`, however it is written, with the filters of each."""
    if isinstance(on, str):
        return {on: {}}
    if isinstance(on, Mapping):
        return {name: filters or {} for name, filters in on.items()}
    return {name: {} for name in on or ()}


def started(on: Any, event: GitHubEvent) -> Started:
    """Whether an event starts a workflow with this `on`."""
    known = triggers(on)
    if event.name not in known:
        return Started(starts=False, why=f"no trigger {event.name}")
    filters = known[event.name]
    if event.name == "schedule":
        return _schedule(filters, event)
    asked = (_caused, _types, _workflows, _refs, _paths, _inputs)
    why = next(filter(None, (each(filters, event) for each in asked)), "")
    subject = event.subject or next(iter(listed(filters.get("workflows"))), "")
    return Started(starts=not why, why=why, subject=subject)


def listed(value: Any) -> tuple[str, ...]:
    """A value of a filter, one or a list, as a list of texts."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(str(each) for each in value)


def _schedule(entries: Sequence[Mapping[str, str]], event: GitHubEvent) -> Started:
    crons = [entry["cron"] for entry in entries]
    wanted = event.subject or next(iter(crons), "")
    if wanted not in crons:
        return Started(starts=False, why=f"no schedule {wanted}".rstrip())
    return Started(starts=True, subject=wanted)


def _caused(_: Mapping[str, Any], event: GitHubEvent) -> str:
    """What keeps an event from starting anything, whatever the filters say."""
    if event.by_token and event.name not in _STARTED_BY_TOKEN:
        return "a job's own token caused it"
    if event.name not in {"push", "pull_request"}:
        return ""
    if said := next((each for each in _SKIPPING if each in event.message.lower()), ""):
        return f"the commit says {said}"
    if _TRAILER.search(event.message):
        return "the commit says skip-checks: true"
    conflict = event.payload.get("pull_request", {}).get("mergeable") is False
    return "the pull request has a merge conflict" if event.name == "pull_request" and conflict else ""


def _inputs(filters: Mapping[str, Any], event: GitHubEvent) -> str:
    return refused(filters.get("inputs") or {}, event.inputs) if event.name == "workflow_dispatch" else ""


def _types(filters: Mapping[str, Any], event: GitHubEvent) -> str:
    types = listed(filters.get("types")) or _DEFAULT_TYPES.get(event.name, ())
    return f"types has no {event.activity}" if event.activity and types and event.activity not in types else ""


def _workflows(filters: Mapping[str, Any], event: GitHubEvent) -> str:
    if event.name != "workflow_run" or not event.subject or event.subject in listed(filters.get("workflows")):
        return ""
    return f"workflows has no {event.subject}"


def _refs(filters: Mapping[str, Any], event: GitHubEvent) -> str:
    branches = filters.get("branches") is not None or filters.get("branches-ignore") is not None
    tags = filters.get("tags") is not None or filters.get("tags-ignore") is not None
    if event.tag:
        # A push that filters branches alone is one of branches alone, and the other way round.
        return _filtered(filters, "tags", event.tag) if tags else "branches alone start it" if branches else ""
    if branches:
        return _filtered(filters, "branches", event.branch)
    return "tags alone start it" if tags else ""


def _filtered(filters: Mapping[str, Any], name: str, value: str) -> str:
    if filters.get(name) is not None and not included(value, listed(filters[name])):
        return f"{name} has no {value}"
    if filters.get(f"{name}-ignore") is not None and included(value, listed(filters[f"{name}-ignore"])):
        return f"{name}-ignore has {value}"
    return ""


def _paths(filters: Mapping[str, Any], event: GitHubEvent) -> str:
    if event.paths is None or event.tag:
        return ""
    if filters.get("paths") is not None and not any_included(event.paths[:MOST_FILES], listed(filters["paths"])):
        return "paths has none of what changed"
    if filters.get("paths-ignore") is not None and not any_kept(
        event.paths[:MOST_FILES], listed(filters["paths-ignore"])
    ):
        return "paths-ignore has all of what changed"
    return ""


class PatternError(ValueError):
    """A pattern that means nothing; says which and why."""


def included(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name is let through: the last pattern that matches decides, and one with `!` first takes away."""
    decided = False
    for pattern in patterns:
        if _regex(pattern.removeprefix("!")).fullmatch(name):
            decided = not pattern.startswith("!")
    return decided


def any_included(names: Iterable[str], patterns: Sequence[str]) -> bool:
    """`paths`: whether one of the names is let through."""
    return any(included(name, patterns) for name in names)


def any_kept(names: Iterable[str], ignored: Sequence[str]) -> bool:
    """`paths-ignore`: whether one of the names is not ignored."""
    return any(not included(name, ignored) for name in names)


@lru_cache(maxsize=1024)
def _regex(pattern: str) -> re.Pattern[str]:
    pieces: list[str] = []
    offset = 0
    while offset < len(pattern):
        rest = pattern[offset:]
        if rest.startswith("**/") and (not offset or pattern[offset - 1] == "/"):
            piece, length = "(?:.*/)?", 3  # any folders, and none
        elif rest.startswith("**"):
            piece, length = ".*", 2
        elif rest[0] == "*":
            piece, length = "[^/]*", 1
        elif rest[0] in "?+":
            if not pieces:
                raise PatternError(f"{pattern}: {rest[0]} repeats the sign before it, and there is none")
            piece, length = f"(?:{pieces.pop()}){rest[0]}", 1
        elif rest[0] == "[":
            end = rest.find("]")
            if end < 2:
                raise PatternError(f"{pattern}: [ opens a list of signs that ] closes")
            piece, length = f"[{re.sub(r'[^A-Za-z0-9-]', lambda sign: re.escape(sign[0]), rest[1:end])}]", end + 1
        elif rest[0] == "\\" and len(rest) > 1:
            piece, length = re.escape(rest[1]), 2
        else:
            piece, length = re.escape(rest[0]), 1
        pieces.append(piece)
        offset += length
    return re.compile("".join(pieces), re.DOTALL)


def refused(declared: Declared, given: Mapping[str, Any]) -> str:
    """Why GitHub answers 422 to these inputs and starts nothing; empty where it takes them."""
    known = {name.lower(): (name, each or {}) for name, each in declared.items()}
    here = {name.lower(): value for name, value in given.items()}
    for name in given:
        if name.lower() not in known:
            return f"no input {name} is declared"
    for key, (name, each) in known.items():
        if key not in here:
            if must_be_given(each):
                return f"the input {name} is required"
            continue
        said, kind = as_text(here[key]), each.get("type", "string")
        if kind == "boolean" and said not in {"true", "false"}:
            return f"the input {name} is a boolean, not {said}"
        if kind == "choice" and said not in [as_text(option) for option in each.get("options") or ()]:
            return f"the input {name} has no option {said}"
    return ""


def must_be_given(about: Mapping[str, Any]) -> bool:
    """Whether GitHub refuses to start without a value for this input."""
    return about.get("required") is True and about.get("default") is None


def least(declared: Declared) -> dict[str, Any]:
    """Some value for each input that somebody has to give."""
    kinds = {"boolean": "false", "number": "1"}
    return {
        name: next(iter((each or {}).get("options") or ()), kinds.get((each or {}).get("type", ""), "any"))
        for name, each in declared.items()
        if must_be_given(each or {})
    }


def texts(declared: Declared, given: Mapping[str, Any]) -> dict[str, str]:
    """`github.event.inputs`: all as text, with the defaults of those that are not given."""
    here = {name.lower(): value for name, value in given.items()}
    return {name: as_text(here.get(name.lower(), _default(each or {}))) for name, each in declared.items()}


def typed(declared: Declared, given: Mapping[str, Any]) -> dict[str, str | bool]:
    """`inputs`: the same, but that booleans are booleans."""
    return {
        name: said == "true" if (declared[name] or {}).get("type") == "boolean" else said
        for name, said in texts(declared, given).items()
    }


def _default(declared: Mapping[str, Any]) -> Any:
    default = declared.get("default")
    return False if default is None and declared.get("type") == "boolean" else default


def as_text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
