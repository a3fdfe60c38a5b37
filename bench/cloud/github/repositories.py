"""Repositories, pull requests, who asks; workflow runs and their jobs, and workflows that are started."""

from __future__ import annotations

from bench.cloud.clock import whole_seconds
from bench.cloud.errors import JsonObject
from bench.cloud.github import records
from bench.cloud.github.routes import (
    Ask,
    GitHubAnswer,
    GitHubError,
    Made,
    Paged,
    missing,
    serves,
    unprocessable,
)
from bench.cloud.store import Resource

_REPO = "/repos/{owner}/{name}"
_ACTIONS = "/repos/{owner}/{name}/actions"


@serves("GET", "/user")
def get_user(ask: Ask) -> GitHubAnswer:
    """A token of a workflow run belongs to an app, which is no user and is refused."""
    if ask.user.app:
        raise GitHubError(403, "Resource not accessible by integration")
    return records.user_json(ask.user.login)


@serves("GET", _REPO)
def get_repository(ask: Ask) -> GitHubAnswer:
    return records.repository_json(ask.base, records.repository(ask.cloud, ask.repo))


@serves("GET", _REPO + "/collaborators/{login}/permission")
def get_permission(ask: Ask) -> GitHubAnswer:
    """What somebody may do here; anybody may read a public repository."""
    found = ask.cloud.store.find(records.COLLABORATOR, records.key(ask.repo, ask.ids["login"]))
    permission = found.body["permission"] if found else "read"
    return {"permission": permission}


@serves("GET", _REPO + "/pulls")
def list_pulls(ask: Ask) -> GitHubAnswer:
    state, base = ask.query.get("state", "open"), ask.query.get("base")
    shown = [
        records.pull_json(ask.cloud, ask.base, ask.repo, found)
        for found in _pulls(ask)
        if state in ("all", found.body["state"]) and base in (None, found.body["pull"]["base"]["branch"])
    ]
    return Paged(shown[::-1])


@serves("GET", _REPO + "/pulls/{number}")
def get_pull(ask: Ask) -> GitHubAnswer:
    found = records.issue(ask.cloud, ask.repo, ask.number("number"))
    if not found.body["pull"]:
        raise missing()
    return records.pull_json(ask.cloud, ask.base, ask.repo, found)


@serves("GET", _REPO + "/commits/{sha}/pulls")
def list_pulls_of_commit(ask: Ask) -> GitHubAnswer:
    """Empty for the pull request of a fork: its commits are not in this repository's tree.

    Seen by many who relied on it: https://github.com/learningequality/kolibri/pull/14719 (2026-05-15).
    """
    own = [
        found
        for found in _pulls(ask)
        if found.body["pull"]["head"]["sha"] == ask.ids["sha"]
        and found.body["pull"]["head"]["repository"].lower() == ask.repo.lower()
    ]
    return Paged([records.pull_json(ask.cloud, ask.base, ask.repo, found) for found in own])


def _pulls(ask: Ask) -> list[Resource]:
    return [found for found in records.each(ask.cloud, records.ISSUE, ask.repo) if found.body["pull"]]


@serves("GET", _ACTIONS + "/runs")
def list_runs(ask: Ask) -> GitHubAnswer:
    status = ask.query.get("status")
    runs = [
        {**found.body, "created_at": whole_seconds(found.created)}
        for found in records.each(ask.cloud, records.RUN, ask.repo)
        if status in (None, found.body["status"], found.body["conclusion"])
    ]
    return Paged(runs[::-1], key="workflow_runs")


@serves("GET", _ACTIONS + "/runs/{id}/jobs")
def list_run_jobs(ask: Ask) -> GitHubAnswer:
    run = records.named(ask, records.RUN).body["id"]
    jobs = records.each(ask.cloud, records.JOB, ask.repo)
    return Paged([_job_json(ask, job) for job in jobs if job.body["run_id"] == run], key="jobs")


@serves("GET", _ACTIONS + "/jobs/{id}")
def get_job(ask: Ask) -> GitHubAnswer:
    return _job_json(ask, records.named(ask, records.JOB))


@serves("POST", _ACTIONS + "/workflows/{workflow}/dispatches")
def dispatch_workflow(ask: Ask) -> GitHubAnswer:
    """Remembers what was started with which inputs; no workflow runs here."""
    ask.demand("actions")
    content = {"workflow": ask.ids["workflow"], "ref": ask.body["ref"], "inputs": ask.body.get("inputs", {})}
    name = records.key(ask.repo, records.next_id(ask.cloud))
    ask.cloud.store.insert(records.DISPATCH, name, content, now=ask.cloud.now)
    return None


def _job_json(ask: Ask, found: Resource) -> JsonObject:
    site = ask.base.removesuffix("/api/v3")
    return {
        **found.body,
        "html_url": f"{site}/{ask.repo}/actions/runs/{found.body['run_id']}/job/{found.body['id']}",
    }


# https://docs.github.com/rest/commits/statuses, read 2026-11-23.
_LONGEST_DESCRIPTION = 140


@serves("POST", _REPO + "/statuses/{sha}")
def create_status(ask: Ask) -> GitHubAnswer:
    """A status of a commit; of one context the newest counts, and the older ones stay."""
    ask.demand("statuses")
    content = {"id": records.next_id(ask.cloud), "sha": ask.ids["sha"], "context": "default", **ask.body}
    if len(ask.body.get("description", "")) > _LONGEST_DESCRIPTION:
        raise unprocessable("description", "custom", message="description is too long (maximum is 140)")
    return Made(ask.cloud.store.insert(
        records.STATUS, records.key(ask.repo, content["id"]), content, now=ask.cloud.now
    ).body)  # fmt: skip


@serves("GET", _REPO + "/commits/{sha}/statuses")
def list_statuses(ask: Ask) -> GitHubAnswer:
    """The newest first."""
    statuses = (each.body for each in records.each(ask.cloud, records.STATUS, ask.repo))
    return Paged([each for each in statuses if each["sha"] == ask.ids["sha"]][::-1])
