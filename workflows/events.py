"""What happens in a repository, as GitHub tells a workflow of it: name, activity, refs, changed paths and payload.

Owns the shape of events. Leaves which workflow an event starts to `workflows.triggering`, and which of its jobs to
`workflows.runs`. Payloads are those of https://docs.github.com/en/webhooks/webhook-events-and-payloads (read
2026-11-21), cut to what workflows ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

REPOSITORY = "lab/monorepo"
"""The repository of an event of which none is said."""
_HEAD = "f00dfeed" * 5
_BASE = "ba5eba11" * 5


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubEvent:
    """One event. `title` is how people say it.

    activity: one of the `types` of its trigger, empty where it has none. branch: what a `branches` filter looks at: the
    pushed one, a pull request's base, or the head of the run that ended. paths: what changed; None for whatever a
    filter asks for. subject: the workflow that ended, or the time of a schedule; empty for any. message: what the
    pushed or the pull request's newest commit says. by_token: whether a job's own GITHUB_TOKEN caused it.
    """

    title: str
    name: str
    activity: str = ""
    branch: str = "main"
    tag: str = ""
    paths: tuple[str, ...] | None = None
    subject: str = ""
    message: str = ""
    by_token: bool = False
    inputs: Mapping[str, Any] = field(default_factory=dict)
    payload: Mapping[str, Any] = field(default_factory=dict)
    github: Mapping[str, Any] = field(default_factory=dict)
    """What the github context has besides the payload: ref, sha and so on."""


def push(
    branch: str = "main",
    *,
    title: str = "",
    tag: str = "",
    paths: tuple[str, ...] | None = None,
    message: str = "",
    by_token: bool = False,
    repository: str = REPOSITORY,
) -> GitHubEvent:
    ref = f"refs/tags/{tag}" if tag else f"refs/heads/{branch}"
    commit = {"id": _HEAD, "message": message}
    payload = {"ref": ref, "after": _HEAD, "before": _BASE, "head_commit": commit, **_repository(repository)}
    return GitHubEvent(
        title=title or f"push of {tag or branch}", name="push", branch=branch, tag=tag, paths=paths, payload=payload,
        github=_refs(ref), message=message, by_token=by_token,
    )  # fmt: skip


def pull_request(
    *,
    title: str = "",
    fork: bool = False,
    activity: str = "synchronize",
    labels: Iterable[str] = (),
    label: str = "",
    base: str = "main",
    draft: bool = False,
    target: bool = False,
    conflict: bool = False,
    paths: tuple[str, ...] | None = None,
    message: str = "",
    repository: str = REPOSITORY,
) -> GitHubEvent:
    """A pull request of a branch or a fork.

    label: the one that a `labeled` activity adds. target: as pull_request_target, which runs the base branch, tells it.
    conflict: it cannot be merged.
    """
    names = [*labels, *([label] if label else [])]
    source = _fork(repository) if fork else repository
    payload = {
        "action": activity,
        "number": 12,
        "pull_request": {
            "number": 12,
            "draft": draft,
            "merged": False,
            "mergeable": not conflict,
            "title": "A title",
            "labels": [{"name": name} for name in names],
            "head": {"ref": "change", "sha": _HEAD, "repo": {"full_name": source, "fork": fork}},
            "base": {"ref": base, "sha": _BASE, "repo": {"full_name": repository, "fork": False}},
            "user": {"login": source.partition("/")[0]},
        },
        **({"label": {"name": label}} if label else {}),
        **_repository(repository),
    }
    where = "a fork" if fork else "a branch"
    ref = f"refs/heads/{base}" if target else "refs/pull/12/merge"
    return GitHubEvent(
        title=title or f"pull request from {where}", name="pull_request_target" if target else "pull_request",
        activity=activity, branch=base, paths=paths, payload=payload,
        github={**_refs(ref), "head_ref": "change", "base_ref": base}, message=message,
    )  # fmt: skip


def schedule(cron: str = "", *, repository: str = REPOSITORY) -> GitHubEvent:
    """A time of a workflow's schedule; any of them without one."""
    return GitHubEvent(
        title=f"schedule {cron}".rstrip(), name="schedule", subject=cron, github=_refs("refs/heads/main"),
        payload={"schedule": cron, **_repository(repository)},
    )  # fmt: skip


def dispatch(
    inputs: Mapping[str, Any] | None = None,
    *,
    branch: str = "main",
    title: str = "dispatch",
    by_token: bool = False,
    repository: str = REPOSITORY,
) -> GitHubEvent:
    """A run started by hand or by another's token; inputs that are not given have their defaults."""
    given = dict(inputs or {})
    payload = {"inputs": given, "ref": f"refs/heads/{branch}", **_repository(repository)}
    return GitHubEvent(
        title=title, name="workflow_dispatch", branch=branch, inputs=given, payload=payload,
        github=_refs(f"refs/heads/{branch}"), by_token=by_token,
    )  # fmt: skip


def workflow_run(
    conclusion: str,
    workflow: str = "",
    *,
    of: str = "push",
    fork: bool = False,
    activity: str = "completed",
    repository: str = REPOSITORY,
) -> GitHubEvent:
    """The end of another workflow, of any that the trigger names without one; `of` is the event that had started it."""
    head = "change" if of == "pull_request" else "main"
    source = _fork(repository) if fork else repository
    ended = {
        "id": 1, "name": workflow, "event": of, "status": "completed", "conclusion": conclusion, "head_branch": head,
        "head_sha": _HEAD, "head_repository": {"full_name": source, "fork": fork}, "pull_requests": [],
    }  # fmt: skip
    payload = {"action": activity, "workflow_run": ended, "workflow": {"name": workflow}, **_repository(repository)}
    origin = {"push": "", "pull_request": " of a fork" if fork else " of a pull request"}.get(of, f" of {of}")
    return GitHubEvent(
        title=f"workflow_run {conclusion}{origin}", name="workflow_run", activity=activity, branch=head,
        subject=workflow, payload=payload,
        github=_refs("refs/heads/main"),
    )  # fmt: skip


def issue_comment(
    body: str = "/test",
    *,
    on_pull_request: bool = True,
    association: str = "MEMBER",
    repository: str = REPOSITORY,
) -> GitHubEvent:
    """A comment; on a pull request its issue has a `pull_request`, and its number is the pull request's."""
    issue = {"number": 12, "labels": [], **({"pull_request": {"url": "pulls/12"}} if on_pull_request else {})}
    comment = {"body": body, "user": {"login": "someone"}, "author_association": association}
    where = "a pull request" if on_pull_request else "an issue"
    return GitHubEvent(
        title=f"comment on {where}", name="issue_comment", activity="created",
        payload={"action": "created", "issue": issue, "comment": comment, **_repository(repository)},
        github=_refs("refs/heads/main"),
    )  # fmt: skip


def merge_group(base: str = "main", *, repository: str = REPOSITORY) -> GitHubEvent:
    ref = f"refs/heads/gh-readonly-queue/{base}/pr-12-{_BASE}"
    group = {"head_ref": ref, "head_sha": _HEAD, "base_ref": f"refs/heads/{base}", "base_sha": _BASE}
    return GitHubEvent(
        title="merge group", name="merge_group", activity="checks_requested", branch=base,
        payload={"action": "checks_requested", "merge_group": group, **_repository(repository)}, github=_refs(ref),
    )  # fmt: skip


def _fork(repository: str) -> str:
    return f"someone/{repository.partition('/')[2]}"


def _repository(repository: str) -> dict[str, Any]:
    return {
        "repository": {"full_name": repository, "default_branch": "main", "fork": False},
        "sender": {"login": "someone"},
    }


def _refs(ref: str) -> dict[str, Any]:
    kind = "tag" if ref.startswith("refs/tags/") else "branch"
    short = ref.removeprefix("refs/heads/").removeprefix("refs/tags/").removeprefix("refs/")
    return {"ref": ref, "ref_name": short, "ref_type": kind, "sha": _HEAD, "head_ref": "", "base_ref": ""}
