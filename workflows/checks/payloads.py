"""Which parts of `github.event` an event has, so that what it has not is null and not unknown.

Owns the keys of payloads: https://docs.github.com/en/webhooks/webhook-events-and-payloads (read 2026-11-21), and of
`schedule` what https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows says.
An event that is not in the table may have anything.
"""

from __future__ import annotations

from collections.abc import Mapping

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
