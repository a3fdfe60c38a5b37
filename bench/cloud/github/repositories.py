"""Repositories, who asks, statuses of commits; workflow runs and their jobs, and workflows that are started."""

from __future__ import annotations

from bench.cloud.errors import JsonObject
from bench.cloud.github import records
from bench.cloud.github.routes import Ask, GitHubAnswer, GitHubError, Made, Paged, serves

_REPO = "/repos/{owner}/{name}"
_ACTIONS = "/repos/{owner}/{name}/actions"
# https://docs.github.com/rest/commits/statuses, read 2026-11-23.
_LONGEST_DESCRIPTION = 140


@serves("GET", "/user")
def get_user(ask: Ask) -> GitHubAnswer:
    """A token of a workflow run belongs to an app, which is no user and is refused."""
    if ask.user.app:
        raise GitHubError(403, "Resource not accessible by integration")
    return records.user_json(ask.user.login)


@serves("GET", _REPO)
def get_repository(ask: Ask) -> GitHubAnswer:
    body = records.get(ask.cloud, records.REPOSITORY, records.key(ask.where)).body
    return {**body, "name": ask.where.partition("/")[2], "url": f"{ask.base}/repos/{ask.where}"}


@serves("GET", _REPO + "/collaborators/{login}/permission")
def get_permission(ask: Ask) -> GitHubAnswer:
    """What somebody may do here; anybody may read a public repository."""
    found = ask.cloud.store.find(records.COLLABORATOR, records.key(ask.where, ask.ids["login"]))
    return {"permission": found.body["permission"] if found else "read"}


@serves("GET", _ACTIONS + "/runs")
def list_runs(ask: Ask) -> GitHubAnswer:
    """A run has one job, and stands as it does."""
    status = ask.query.get("status")
    jobs = (found.body for found in records.each(ask.cloud, records.JOB, ask.where))
    told = ("name", "status", "conclusion", "created_at")
    runs = [
        {"id": job["run_id"], **{name: job[name] for name in told}}
        for job in jobs
        if status in (None, job["status"], job["conclusion"])
    ]
    return Paged(runs[::-1], key="workflow_runs")


@serves("GET", _ACTIONS + "/runs/{id}/jobs")
def list_run_jobs(ask: Ask) -> GitHubAnswer:
    jobs = (_job_json(ask, job.body) for job in records.each(ask.cloud, records.JOB, ask.where))
    return Paged([job for job in jobs if job["run_id"] == ask.number("id")], key="jobs")


@serves("GET", _ACTIONS + "/jobs/{id}")
def get_job(ask: Ask) -> GitHubAnswer:
    return _job_json(ask, records.get(ask.cloud, records.JOB, records.key(ask.where, ask.number("id"))).body)


def _job_json(ask: Ask, body: JsonObject) -> JsonObject:
    site = ask.base.removesuffix("/api/v3")
    return {**body, "html_url": f"{site}/{ask.where}/actions/runs/{body['run_id']}/job/{body['id']}"}


@serves("POST", _ACTIONS + "/workflows/{workflow}/dispatches")
def dispatch_workflow(ask: Ask) -> GitHubAnswer:
    """Remembers what was started with which inputs; no workflow runs here."""
    ask.demand("actions")
    content = {"workflow": ask.ids["workflow"], "ref": ask.body["ref"], "inputs": ask.body.get("inputs", {})}
    records.add(ask.cloud, records.DISPATCH, ask.where, content)
    return None


@serves("POST", _REPO + "/statuses/{sha}")
def create_status(ask: Ask) -> GitHubAnswer:
    """A status of a commit; of one context the newest counts, and the older ones stay."""
    ask.demand("statuses")
    if len(ask.body.get("description", "")) > _LONGEST_DESCRIPTION:
        raise GitHubError(422, f"Validation Failed: description is too long (maximum is {_LONGEST_DESCRIPTION})")
    content = {"sha": ask.ids["sha"], "context": "default", **ask.body}
    return Made(records.add(ask.cloud, records.STATUS, ask.where, content))


@serves("GET", _REPO + "/commits/{sha}/statuses")
def list_statuses(ask: Ask) -> GitHubAnswer:
    """The newest first."""
    statuses = (each.body for each in records.each(ask.cloud, records.STATUS, ask.where))
    return Paged([each for each in statuses if each["sha"] == ask.ids["sha"]][::-1])
