"""Workflow runs, their jobs and their artifacts: what is read of them, and workflows that are started."""

from __future__ import annotations

from infra.local.cloud.errors import JsonObject
from infra.local.cloud.github import records
from infra.local.cloud.github.routes import Answer, Ask, Listing, Moved, missing, serves, unprocessable
from infra.local.cloud.store import Resource

_ACTIONS = "/repos/{owner}/{name}/actions"


@serves("GET", _ACTIONS + "/runs")
def list_runs(ask: Ask) -> Answer:
    head, event, status = ask.query.get("head_sha"), ask.query.get("event"), ask.query.get("status")
    runs = [
        _run_json(ask, found)
        for found in records.each(ask.cloud, records.RUN, ask.repo)
        if head in (None, found.body["head_sha"])
        and event in (None, found.body["event"])
        and status in (None, found.body["status"], found.body["conclusion"])
    ]
    return Listing(runs[::-1], key="workflow_runs")


@serves("GET", _ACTIONS + "/runs/{id}")
def get_run(ask: Ask) -> Answer:
    return _run_json(ask, _found(ask, records.RUN))


@serves("GET", _ACTIONS + "/runs/{id}/jobs")
def list_run_jobs(ask: Ask) -> Answer:
    run = _found(ask, records.RUN).body["id"]
    jobs = records.each(ask.cloud, records.JOB, ask.repo)
    return Listing([_job_json(ask, job) for job in jobs if job.body["run_id"] == run], key="jobs")


@serves("GET", _ACTIONS + "/jobs/{id}")
def get_job(ask: Ask) -> Answer:
    return _job_json(ask, _found(ask, records.JOB))


@serves("GET", _ACTIONS + "/runs/{id}/artifacts")
def list_run_artifacts(ask: Ask) -> Answer:
    run = _found(ask, records.RUN).body["id"]
    name = ask.query.get("name")
    artifacts = [
        _artifact_json(ask, found)
        for found in records.each(ask.cloud, records.ARTIFACT, ask.repo)
        if found.body["run"] == run and name in (None, found.body["name"])
    ]
    return Listing(artifacts, key="artifacts")


@serves("GET", _ACTIONS + "/artifacts/{id}")
def get_artifact(ask: Ask) -> Answer:
    return _artifact_json(ask, _found(ask, records.ARTIFACT))


@serves("GET", _ACTIONS + "/artifacts/{id}/zip")
def download_artifact(ask: Ask) -> Answer:
    found = _found(ask, records.ARTIFACT)
    return Moved(f"{ask.base}/repos/{ask.repo}/actions/artifacts/{found.body['id']}/zip/content")


@serves("GET", _ACTIONS + "/artifacts/{id}/zip/content")
def get_artifact_content(ask: Ask) -> Answer:
    """Where the download leads; on GitHub this is another host."""
    return ask.cloud.store.data(records.ARTIFACT, _found(ask, records.ARTIFACT).name)


@serves("POST", _ACTIONS + "/workflows/{workflow}/dispatches")
def dispatch_workflow(ask: Ask) -> Answer:
    """Remembers what was started with which inputs; no workflow runs here."""
    ask.demand("actions")
    inputs = ask.body.get("inputs", {})
    if not isinstance(inputs, dict) or not all(isinstance(value, str) for value in inputs.values()):
        raise unprocessable("WorkflowDispatch", "inputs", "invalid")
    content = {"workflow": ask.ids["workflow"], "ref": ask.text("WorkflowDispatch", "ref"), "inputs": inputs}
    name = records.key(ask.repo, records.next_id(ask.cloud))
    ask.cloud.store.insert(records.DISPATCH, name, content, now=ask.cloud.now)
    return None


def _found(ask: Ask, kind: str) -> Resource:
    found = ask.cloud.store.find(kind, records.key(ask.repo, ask.number("id")))
    if found is None:
        raise missing()
    return found


def _run_json(ask: Ask, found: Resource) -> JsonObject:
    url = f"{ask.base}/repos/{ask.repo}/actions/runs/{found.body['id']}"
    return {
        **found.body,
        "url": url,
        "artifacts_url": f"{url}/artifacts",
        # Empty for runs of forks' pull requests, so nobody may rely on it.
        "pull_requests": [],
        "created_at": records.stamp(found.created),
    }


def _job_json(ask: Ask, found: Resource) -> JsonObject:
    site = ask.base.removesuffix("/api/v3")
    return {
        **found.body,
        "html_url": f"{site}/{ask.repo}/actions/runs/{found.body['run_id']}/job/{found.body['id']}",
    }


def _artifact_json(ask: Ask, found: Resource) -> JsonObject:
    url = f"{ask.base}/repos/{ask.repo}/actions/artifacts/{found.body['id']}"
    return {
        "id": found.body["id"],
        "name": found.body["name"],
        "size_in_bytes": found.body["size"],
        "expired": False,
        "url": url,
        "archive_download_url": f"{url}/zip",
        "workflow_run": {"id": found.body["run"]},
        "created_at": records.stamp(found.created),
    }
