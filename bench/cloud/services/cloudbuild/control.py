"""`/_tidepool/builds/...`: what GitHub's webhook and a worker of Cloud Build tell the real service.

Owns the shapes of these bodies and which report a build takes. The Python client of it is `builds.control`, whose
docstrings say what each does.
"""

from __future__ import annotations

import re

from bench.cloud.clock import seconds_of, timestamp
from bench.cloud.cloud import Cloud, Order, obeys
from bench.cloud.errors import ApiError, JsonObject, failed_precondition, invalid
from bench.cloud.services.cloudbuild import builds, firing
from bench.cloud.store import Resource

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@obeys("POST builds/push")
def push(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    repository, branch, tag = body.text("repository"), body.get("branch", ""), body.get("tag", "")
    if not _REPOSITORY.fullmatch(repository):
        raise invalid(f"'{repository}' is not a repository: write OWNER/NAME.", field="repository")
    if bool(branch) == bool(tag):
        raise invalid("The push names neither a branch nor a tag, or both; name one.", field="branch")
    number = cloud.store.next_number("push")
    commit = body.get("commit") or firing.made_up(f"{repository} {number}")
    if not _COMMIT.fullmatch(commit):
        raise invalid(f"'{commit}' is not a commit: write its forty hexadecimal digits.", field="commit")
    push = firing.PushedCommits(
        repository=repository, commit=commit, changed=tuple(body.get("changed", [])), branch=branch, tag=tag
    )
    outcomes = firing.on_push(cloud, push)
    return {
        "repository": repository,
        "commit": commit,
        "branch": branch or None,
        "tag": tag or None,
        "changed": list(push.changed),
        "builds": [builds.shown(each.build) for each in outcomes if each.build],
        "triggers": [_told(each) for each in outcomes],
    }


@obeys("POST builds/pushed")
def pushed(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    repository, branch = body.text("repository"), body.text("branch")
    if commit := body.get("commit"):
        firing.note(cloud, repository, branch, commit)
    return {"commits": [list(each) for each in firing.history(cloud, repository, branch)]}


@obeys("POST builds/take")
def take(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    name = body.get("name")
    for held in builds.queued(cloud):
        if name is None or name in (held.name, held.body["id"]):
            begun = {**held.body, "status": "WORKING", "startTime": timestamp(cloud.now)}
            return {"build": builds.shown(cloud.store.replace(held, begun, now=cloud.now))}
    if name is not None:
        held = _named(cloud, name)
        raise failed_precondition(f"Build '{held.body['id']}' is {held.body['status']} and not in the queue.")
    return {"build": None}


@obeys("POST builds/report")
def report(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    held = _named(cloud, body.text("name"))
    if held.body["status"] == "CANCELLED":
        return {"build": builds.shown(held)}
    if held.body["status"] != "WORKING":
        raise failed_precondition(f"Build '{held.body['id']}' is {held.body['status']}: nobody runs it.")
    status = body.text("status")
    if status not in builds.ENDS:
        raise invalid(f"{status!r} is not an end of a build; ends: {', '.join(builds.ENDS)}.", field="status")
    reported, after, steps = body.get("steps", {}), held.body["startTime"], []
    for at, step in enumerate(held.body["steps"]):
        if told := reported.get(step.get("id") or str(at)):
            ended = timestamp(seconds_of(after) + told.get("seconds", 0))
            step = {**step, "status": told["status"], "timing": {"startTime": after, "endTime": ended}}
            after = ended
        steps.append(step)
    changes = {
        "status": status,
        "steps": steps,
        **({"statusDetail": body["statusDetail"]} if "statusDetail" in body else {}),
    }
    return {"build": builds.shown(builds.end(cloud, held, changes))}


@obeys("POST builds/list")
def list_builds(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    states = body.get("status")
    held = sorted(cloud.store.each(builds.KIND), key=lambda each: each.body["number"])
    return {"builds": [builds.shown(each) for each in held if not states or each.body["status"] in states]}


def _named(cloud: Cloud, name: str) -> Resource:
    """By full name or by id. Raises 404."""
    for held in cloud.store.each(builds.KIND):
        if name in (held.name, held.body["id"]):
            return held
    raise ApiError(404, f"There is no build '{name}'.")


def _told(outcome: firing.TriggerOutcome) -> JsonObject:
    return {
        "name": outcome.trigger.body["name"],
        "resourceName": outcome.trigger.name,
        "build": outcome.build.body["id"] if outcome.build else None,
        "reason": outcome.reason,
    }
