"""The situations that a file's own triggers can bring about: what is known in each, and what is not.

Owns which values a context can have at an event, under the trigger's filters, and the keys of payloads:
https://docs.github.com/en/webhooks/webhook-events-and-payloads (read 2026-11-21), and of `schedule` what
https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows says. An event that is
not in that table may have anything. Leaves expressions to `workflows.checks.possible`. Where a filter leaves many
values open, so does the situation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from workflows.checks.plain import listed, mapping, text
from workflows.checks.views import WorkflowView
from workflows.triggering import PatternError, included

ALL_EVENTS = ("push", "pull_request")
_PULLS = frozenset(("pull_request", "pull_request_target"))
_DEFAULT_TYPES = ("opened", "synchronize", "reopened")
_LABELS = frozenset(("labeled", "unlabeled"))
FOREIGN = "a-stranger/a-fork"
FOREIGN_OWNER = "a-stranger"
FOREIGN_ID = -1
_EVERY = frozenset(("repository", "sender", "organization", "enterprise", "installation"))
_PULL_REQUEST = _EVERY | {
    "action", "number", "pull_request", "before", "after", "changes", "label", "assignee", "milestone", "reason",
    "requested_reviewer", "requested_team",
}  # fmt: skip
KEYS: Mapping[str, frozenset[str]] = {
    "push": _EVERY
    | {
        "ref", "before", "after", "created", "deleted", "forced", "base_ref", "compare", "commits", "head_commit",
        "pusher",
    },
    "pull_request": _PULL_REQUEST,
    "pull_request_target": _PULL_REQUEST,
    "pull_request_review": _EVERY | {"action", "pull_request", "review", "changes"},
    "pull_request_review_comment": _EVERY | {"action", "pull_request", "comment", "changes"},
    "workflow_run": _EVERY | {"action", "workflow_run", "workflow"},
    "schedule": _EVERY | {"schedule", "workflow"},
    "workflow_dispatch": _EVERY | {"inputs", "ref", "workflow"},
    "issue_comment": _EVERY | {"action", "issue", "comment", "changes"},
    "merge_group": _EVERY | {"action", "merge_group"},
}  # fmt: skip
OBJECTS: Mapping[str, frozenset[str]] = {
    "push": frozenset(("repository", "sender", "pusher")),
    "pull_request": frozenset(("repository", "sender", "pull_request")),
    "pull_request_target": frozenset(("repository", "sender", "pull_request")),
    "pull_request_review": frozenset(("repository", "sender", "pull_request", "review")),
    "pull_request_review_comment": frozenset(("repository", "sender", "pull_request", "comment")),
    "workflow_run": frozenset(("repository", "sender", "workflow_run", "workflow")),
    "schedule": frozenset(("repository",)),
    "workflow_dispatch": frozenset(("repository", "sender")),
    "issue_comment": frozenset(("repository", "sender", "issue", "comment")),
    "merge_group": frozenset(("repository", "sender", "merge_group")),
}
"""Objects that are always there, which is true in a condition."""
HEADS: Mapping[str, tuple[str, ...]] = {
    "pull_request": ("github.event.pull_request.head.repo",),
    "pull_request_target": ("github.event.pull_request.head.repo",),
    "pull_request_review": ("github.event.pull_request.head.repo",),
    "pull_request_review_comment": ("github.event.pull_request.head.repo",),
    "workflow_run": ("github.event.workflow_run.head_repository",),
}
"""Where an event says which repository a change comes from."""
CONCLUSIONS = ("success", "failure", "cancelled", "skipped", "timed_out", "action_required", "neutral", "stale",
               "startup_failure")  # fmt: skip
"""How a run can end: https://docs.github.com/en/rest/checks/runs (read 2026-11-21)."""


class Unknown:
    """A value that nobody can know before it is there; `prefix` is what a text is known to begin with."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix


UNKNOWN = Unknown()


class Own:
    """What is the repository's own and not known: its name, its owner, its number; only equal to itself."""


OWN = Own()
OWN_OWNER = Own()
OWN_ID = Own()


@dataclass(frozen=True, eq=False)
class Situation:
    """One event with what its filters let through. facts: paths in lower case. choices: closed lists of values.

    allowed: which of the values that a condition names a path can have.
    """

    event: str
    fork: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    allowed: Mapping[str, Callable[[str], bool]] = field(default_factory=dict)

    def value(self, path: str) -> Any:
        """What a path holds: a value, None where the event has no such thing, or Unknown."""
        if path in self.facts:
            return self.facts[path]
        parts = path.split(".")
        if parts[0] == "inputs":
            return UNKNOWN if self.event == "workflow_call" or path in self.choices else None
        if parts[:2] != ["github", "event"] or len(parts) < 3 or self.event not in KEYS:
            return UNKNOWN
        if parts[2] not in KEYS[self.event]:
            return None
        return {} if len(parts) == 3 and parts[2] in OBJECTS[self.event] else UNKNOWN

    def knowing(self, path: str, value: Any) -> Situation:
        """The same with one more fact."""
        return replace(self, facts={**self.facts, path: value})


def situations(workflow: WorkflowView, repository: str, upstreams: Mapping[str, WorkflowView]) -> tuple[Situation, ...]:
    """Every situation of a file. upstreams: workflows by name, for what started a run that this one follows."""
    return tuple(found for event in workflow.triggers for found in _of_event(workflow, event, repository, upstreams))


def _of_event(
    workflow: WorkflowView, event: str, repository: str, upstreams: Mapping[str, WorkflowView]
) -> Iterator[Situation]:
    own: Any = repository or OWN
    owner: Any = repository.partition("/")[0] or OWN_OWNER
    if event == "workflow_call":
        # The github context is the caller's, whatever started that.
        yield Situation(event, facts={"github.repository": own})
        return
    facts: dict[str, Any] = {
        "github.event_name": event,
        "github.repository": own,
        "github.repository_owner": owner,
        "github.repository_id": OWN_ID,
        "github.event.repository.full_name": own,
    }
    choices: dict[str, tuple[Any, ...]] = {}
    allowed: dict[str, Callable[[str], bool]] = {}
    filters = workflow.filters(event)
    if event not in _PULLS:
        facts |= {"github.head_ref": "", "github.base_ref": ""}
    if types := listed(filters.get("types")) or (_DEFAULT_TYPES if event in _PULLS else ()):
        choices["github.event.action"] = types
        if event in _PULLS and not _LABELS & set(types):
            facts["github.event.label.name"] = None
        if event in _PULLS and "closed" not in types:
            facts["github.event.pull_request.merged"] = False
    if event == "push":
        _pushed(filters, facts, choices, allowed)
    elif event in _PULLS:
        _pulled(event, filters, facts, allowed)
    elif event == "workflow_run":
        _followed(filters, choices, upstreams)
    elif event == "workflow_dispatch":
        _dispatched(filters, choices)
    elif event == "schedule":
        crons = workflow.triggers[event]
        entries = crons if isinstance(crons, list) else []
        choices["github.event.schedule"] = tuple(text(mapping(entry).get("cron")) for entry in entries) or ("",)
    base = Situation(event, facts=facts, choices=choices, allowed=allowed)
    heads = HEADS.get(event, ())
    if not heads:
        yield base
        return
    for fork in (False, True):
        origin = {f"{head}.full_name": FOREIGN if fork else own for head in heads}
        origin |= {f"{head}.fork": fork for head in heads}
        origin |= {f"{head}.owner.login": FOREIGN_OWNER if fork else owner for head in heads}
        origin |= {f"{head}.id": FOREIGN_ID if fork else OWN_ID for head in heads}
        here = dict(choices)
        if event == "workflow_run" and fork:
            events = tuple(each for each in here.get("github.event.workflow_run.event", ()) if each in _PULLS)
            if "github.event.workflow_run.event" in here and not events:
                continue  # nothing that a stranger starts is followed
            if events:
                here["github.event.workflow_run.event"] = events
        yield replace(base, fork=fork, facts={**facts, **origin}, choices=here)


def _pushed(
    filters: Mapping[str, Any],
    facts: dict[str, Any],
    choices: dict[str, tuple[Any, ...]],
    allowed: dict[str, Callable[[str], bool]],
) -> None:
    branches = "branches" in filters or "branches-ignore" in filters
    tags = "tags" in filters or "tags-ignore" in filters
    if branches and not tags:
        facts["github.ref_type"] = "branch"
        facts["github.ref"] = Unknown("refs/heads/")
        names = listed(filters.get("branches"))
        if names and not any(set(name) & set("*?+[!") for name in names):
            del facts["github.ref"]
            choices["github.ref"] = tuple(f"refs/heads/{name}" for name in names)
            choices["github.ref_name"] = names
        elif names:
            allowed["github.ref"] = lambda ref: _lets(ref.removeprefix("refs/heads/"), names)
            allowed["github.ref_name"] = lambda name: _lets(name, names)
    elif tags and not branches:
        facts["github.ref_type"] = "tag"
        facts["github.ref"] = Unknown("refs/tags/")


def _pulled(
    event: str, filters: Mapping[str, Any], facts: dict[str, Any], allowed: dict[str, Callable[[str], bool]]
) -> None:
    facts["github.ref_type"] = "branch"
    if event == "pull_request":
        facts["github.ref"] = Unknown("refs/pull/")
    if names := listed(filters.get("branches")):
        for path in ("github.base_ref", "github.event.pull_request.base.ref"):
            allowed[path] = lambda name: _lets(name, names)


def _followed(
    filters: Mapping[str, Any], choices: dict[str, tuple[Any, ...]], upstreams: Mapping[str, WorkflowView]
) -> None:
    names = listed(filters.get("workflows"))
    if names:
        choices["github.event.workflow_run.name"] = names
    if names and all(name in upstreams for name in names):
        # Whoever knows all the workflows knows what started them.
        events = {event for name in names for event in upstreams[name].triggers}
        choices["github.event.workflow_run.event"] = tuple(sorted(events)) or ALL_EVENTS
    if listed(filters.get("types")) == ("completed",):
        choices["github.event.workflow_run.conclusion"] = CONCLUSIONS


def _dispatched(filters: Mapping[str, Any], choices: dict[str, tuple[Any, ...]]) -> None:
    for name, declared in mapping(filters.get("inputs")).items():
        kind = text(mapping(declared).get("type")) or "string"
        path = f"inputs.{name.lower()}"
        if kind == "boolean":
            choices[path] = (True, False)
            choices[f"github.event.{path}"] = ("true", "false")
        elif kind == "choice":
            options = listed(mapping(declared).get("options"))
            choices[path] = choices[f"github.event.{path}"] = options
        else:
            choices[path] = (UNKNOWN,)


def _lets(name: str, patterns: tuple[str, ...]) -> bool:
    try:
        return included(name, patterns)
    except PatternError:
        return True
