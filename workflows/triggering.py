"""Whether an event starts a workflow, and why not.

Owns the filters of `on`: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#on and
https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows (read 2026-11-21).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workflows.events import Event
from workflows.globs import any_included, any_kept, included
from workflows.inputs import refused

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


def started(on: Any, event: Event) -> Started:
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


def _schedule(entries: Sequence[Mapping[str, str]], event: Event) -> Started:
    crons = [entry["cron"] for entry in entries]
    wanted = event.subject or next(iter(crons), "")
    if wanted not in crons:
        return Started(starts=False, why=f"no schedule {wanted}".rstrip())
    return Started(starts=True, subject=wanted)


def _caused(_: Mapping[str, Any], event: Event) -> str:
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


def _inputs(filters: Mapping[str, Any], event: Event) -> str:
    return refused(filters.get("inputs") or {}, event.inputs) if event.name == "workflow_dispatch" else ""


def _types(filters: Mapping[str, Any], event: Event) -> str:
    types = listed(filters.get("types")) or _DEFAULT_TYPES.get(event.name, ())
    return f"types has no {event.activity}" if event.activity and types and event.activity not in types else ""


def _workflows(filters: Mapping[str, Any], event: Event) -> str:
    if event.name != "workflow_run" or not event.subject or event.subject in listed(filters.get("workflows")):
        return ""
    return f"workflows has no {event.subject}"


def _refs(filters: Mapping[str, Any], event: Event) -> str:
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


def _paths(filters: Mapping[str, Any], event: Event) -> str:
    if event.paths is None or event.tag:
        return ""
    if filters.get("paths") is not None and not any_included(event.paths[:MOST_FILES], listed(filters["paths"])):
        return "paths has none of what changed"
    if filters.get("paths-ignore") is not None and not any_kept(
        event.paths[:MOST_FILES], listed(filters["paths-ignore"])
    ):
        return "paths-ignore has all of what changed"
    return ""
