"""Commands: what GitHub's webhook and a worker of Cloud Build tell the real service.

A build is a `Build` of the first version of its API.
"""

from __future__ import annotations

import re

from bench.cloud.clock import seconds_of, timestamp
from bench.cloud.cloud import Cloud, obeys
from bench.cloud.errors import JsonObject, failed_precondition, invalid, not_found
from bench.cloud.services.cloudbuild import firing
from bench.cloud.services.cloudbuild.builds import KIND, end, queued, shown
from bench.cloud.store import Resource

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")


@obeys
def push(
    cloud: Cloud, repository: str, changed: list[str], *, branch: str = "", tag: str = "", commit: str = ""
) -> JsonObject:
    """Do what GitHub's webhook does when commits come to a branch or a tag is made.

    repository: `owner/name`. changed: paths from its top. commit: a made-up one where left out.
    The answer has repository, commit, branch, tag, changed, `builds` (QUEUED), and `triggers`: of each push trigger of
    the repository its name, resourceName, build (an id or None) and the reason.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise invalid(f"'{repository}' is not a repository: write OWNER/NAME.")
    _check_commit(commit)
    commit = commit or firing.made_up(f"{repository} {cloud.store.next_number('push')}")
    push = firing.PushedCommits(repository=repository, commit=commit, changed=tuple(changed), branch=branch, tag=tag)
    outcomes = firing.on_push(cloud, push)
    return {
        "repository": repository,
        "commit": commit,
        "branch": branch or None,
        "tag": tag or None,
        "changed": changed,
        "builds": [shown(build) for _, build, _ in outcomes if build],
        "triggers": [
            {
                "name": trigger.body["name"],
                "resourceName": trigger.name,
                "build": build.body["id"] if build else None,
                "reason": reason,
            }
            for trigger, build, reason in outcomes
        ],
    }


@obeys
def pushed(cloud: Cloud, repository: str, branch: str, *, commit: str = "") -> list[tuple[str, int]]:
    """Every commit that a branch was at by a push here, oldest first, and the second since 1970 that it came.

    commit: one that came to it just now, for which no trigger is asked.
    """
    _check_commit(commit)
    if commit:
        firing.note(cloud, repository, branch, commit)
    return firing.history(cloud, repository, branch)


def _check_commit(commit: str) -> None:
    """Raises 400 for what is neither a commit nor empty."""
    if not re.fullmatch(r"([0-9a-f]{40})?", commit):
        raise invalid(f"'{commit}' is not a commit: write its forty hexadecimal digits.")


@obeys
def take(cloud: Cloud, name: str | None = None) -> JsonObject | None:
    """Take the oldest QUEUED build, or the one of this id or full name: it is WORKING from now on.

    None where the queue is empty. Raises 400 for a named one that does not wait in it.
    """
    for held in queued(cloud):
        if name is None or name in (held.name, held.body["id"]):
            begun = {**held.body, "status": "WORKING", "startTime": timestamp(cloud.now)}
            return shown(cloud.store.replace(held, begun, now=cloud.now))
    if name is not None:
        held = _named(cloud, name)
        raise failed_precondition(f"Build '{held.body['id']}' is {held.body['status']} and not in the queue.")
    return None


@obeys
def report(cloud: Cloud, name: str, *, status: str, steps: JsonObject | None = None, **more: str) -> JsonObject:
    """Say how a build that was taken ended; the answer is the build as it is now.

    status: SUCCESS, FAILURE, TIMEOUT, INTERNAL_ERROR, CANCELLED. steps: by their id (or place, from "0", where they
    have none) `status` and `seconds`. more: statusDetail. A build that was cancelled meanwhile is answered as it is,
    CANCELLED, and takes nothing.
    """
    held = _named(cloud, name)
    if held.body["status"] == "CANCELLED":
        return shown(held)
    if held.body["status"] != "WORKING":
        raise failed_precondition(f"Build '{held.body['id']}' is {held.body['status']}: nobody runs it.")
    after, ended_steps = held.body["startTime"], []
    for at, step in enumerate(held.body["steps"]):
        if told := (steps or {}).get(step.get("id") or str(at)):
            ended = timestamp(seconds_of(after) + told.get("seconds", 0))
            step = {**step, "status": told["status"], "timing": {"startTime": after, "endTime": ended}}
            after = ended
        ended_steps.append(step)
    return shown(end(cloud, held, {"status": status, "steps": ended_steps, **more}))


@obeys
def builds(cloud: Cloud, *status: str) -> list[JsonObject]:
    """Every build of every project, the oldest first; only those in these states, where any is named."""
    held = sorted(cloud.store.each(KIND), key=lambda each: each.body["number"])
    return [shown(each) for each in held if not status or each.body["status"] in status]


def _named(cloud: Cloud, name: str) -> Resource:
    """By full name or by id. Raises 404."""
    for held in cloud.store.each(KIND):
        if name in (held.name, held.body["id"]):
            return held
    raise not_found(name)
