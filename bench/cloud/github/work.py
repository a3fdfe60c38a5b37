"""What a runner's program tells GitHub, and the jobs it is given: connect, take one job, end it.

GitHub's own protocol between the two is not public; these calls of the control surface take its place. What the program
presents is the just-in-time configuration, as it got it.
"""

from __future__ import annotations

import base64
import json

from bench.cloud.clock import DueEvent, whole_seconds
from bench.cloud.cloud import Cloud, obeys, reacts
from bench.cloud.errors import ApiError, JsonObject, failed_precondition
from bench.cloud.github import records, runners
from bench.cloud.github.apps import token_digest
from bench.cloud.store import Resource

CONCLUSIONS = ("success", "failure", "cancelled")
LOST_AFTER = 600.0
"""Seconds after which GitHub gives up the job of a runner that it hears nothing of. It publishes no figure."""


@obeys
def connect(cloud: Cloud, jit: str) -> JsonObject:
    """Come online; once within the hour, and again as long as no job was taken."""
    found = _presented(cloud, jit)
    if not found.body["connected"] and found.body["connect_by"] < cloud.now:
        raise failed_precondition("The just-in-time configuration has expired.")
    return runners.shown(records.save(cloud, found, status="online", os="linux", connected=True).body)


@obeys
def disconnect(cloud: Cloud, jit: str) -> JsonObject:
    """Go offline without having ended anything, as a VM that is taken away does. A job is given up after a while."""
    found = records.save(cloud, _presented(cloud, jit), status="offline")
    if found.body["busy"]:
        cloud.timeline.add(cloud.now + LOST_AFTER, "github.runner.lost", found.name)
    return runners.shown(found.body)


@reacts("github.runner.lost")
def _lost(cloud: Cloud, event: DueEvent) -> None:
    """The job of a runner that is offline still has failed, and the runner is gone, since it served for one."""
    runner = cloud.store.find(records.RUNNER, event.subject)
    if runner is not None and runner.body["status"] == "offline" and runner.body["busy"]:
        _over(cloud, runner, "failure")


@obeys
def take_work(cloud: Cloud, jit: str) -> JsonObject | None:
    """Begin the oldest job that waits for labels which this runner has, where it serves the repository; or None."""
    runner = _presented(cloud, jit)
    if runner.body["status"] != "online" or runner.body["busy"]:
        raise failed_precondition(f"Runner {runner.body['name']} is {runner.body['status']} or has a job.")
    for job in _jobs(cloud):
        if job.body["status"] == "queued" and _serves(runner, job):
            changes = {"status": "in_progress", "runner_id": runner.body["id"], "runner_name": runner.body["name"]}
            records.save(cloud, runner, busy=True, job=job.name)
            return records.save(cloud, job, **changes, started_at=whole_seconds(cloud.now)).body
    return None


@obeys
def end_job(cloud: Cloud, jit: str, conclusion: str = "success") -> JsonObject:
    """The job is over, and with it the runner."""
    runner = _presented(cloud, jit)
    if not runner.body["busy"]:
        raise failed_precondition(f"Runner {runner.body['name']} has no job.")
    return _over(cloud, runner, conclusion)


@obeys
def queue_job(
    cloud: Cloud, repository: str, labels: list[str], *, name: str = "Tests", seconds: float | None = None
) -> JsonObject:
    """A run with one job that waits for a runner with these labels. seconds: how long it takes, for guests of VMs."""
    job = {
        "run_id": records.next_id(cloud),
        "name": name,
        "status": "queued",
        "conclusion": None,
        "labels": labels,
        "seconds": seconds,
        "created_at": whole_seconds(cloud.now),
        **dict.fromkeys(("runner_id", "runner_name", "started_at", "completed_at")),
    }
    return records.add(cloud, records.JOB, records.place(cloud, repository), job)


@obeys
def jobs(cloud: Cloud) -> list[JsonObject]:
    """Every job there was, the oldest first, each with its `repository`."""
    return [{**job.body, "repository": job.name.rpartition("/")[0]} for job in _jobs(cloud)]


def _jobs(cloud: Cloud) -> list[Resource]:
    return sorted(cloud.store.each(records.JOB), key=lambda each: each.body["id"])


def _over(cloud: Cloud, runner: Resource, conclusion: str) -> JsonObject:
    """The runner's job has ended, and with it the runner."""
    held, ended = cloud.store.get(records.JOB, runner.body["job"]), {"status": "completed", "conclusion": conclusion}
    cloud.store.delete(records.RUNNER, runner.name)
    return records.save(cloud, held, **ended, completed_at=whole_seconds(cloud.now)).body


def _presented(cloud: Cloud, jit: str) -> Resource:
    """The runner whose configuration this is; one that was removed is unknown. Raises 401."""
    files = json.loads(base64.b64decode(jit))
    digest = token_digest(json.loads(base64.b64decode(files[".credentials"]))["data"]["secret"])
    for found in cloud.store.each(records.RUNNER):
        if found.body.get("secret") == digest:
            return found
    raise ApiError(401, "There is no runner of this configuration: it has served its job, or was removed.")


def _serves(runner: Resource, job: Resource) -> bool:
    where, repo = runner.name.rpartition("/")[0], job.name.rpartition("/")[0]
    near = repo.partition("/")[0] == where[1:] if where.startswith("@") else repo == where
    held = {label["name"].lower() for label in runner.body["labels"]}
    return near and {label.lower() for label in job.body["labels"]} <= held
