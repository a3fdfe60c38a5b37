"""Cloud Build v1: builds, from the queue to their end, and what the service refuses of one before it keeps it.

Owns the record of a build and its states: QUEUED, WORKING, and one of the ends; and the ids of builds and triggers.
Nothing here runs a step: a runner takes the next build of the queue and reports (`control`). A build waits for that for
ever, where the real service gives up after `queueTtl`.
Sources: https://cloud.google.com/build/docs/api/reference/rest/v1/projects.builds, read 2026-11-21, and
https://cloud.google.com/build/docs/build-config-file-schema, read 2026-11.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, failed_precondition, invalid
from bench.cloud.services import places
from bench.cloud.services.cloudbuild import substitutions
from bench.cloud.services.collection import Collection
from bench.cloud.store import Resource

KIND = "cloudbuild.build"
ENDS = ("SUCCESS", "FAILURE", "INTERNAL_ERROR", "TIMEOUT", "CANCELLED", "EXPIRED")
_METADATA = "type.googleapis.com/google.devtools.cloudbuild.v1.BuildOperationMetadata"
_DEFAULTS = {"timeout": "3600s", "queueTtl": "3600s"}
_OWN_LOGGING = frozenset({"CLOUD_LOGGING_ONLY", "NONE"})


def made_id(cloud: Cloud, kind: str) -> str:
    """A UUID that no other has; the same requests give the same ones."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{kind} {cloud.store.next_number(kind)}"))


class _Builds(Collection):
    api = "cloudbuild.projects.locations.builds"
    kind = KIND
    methods = "create get list"
    locations = frozenset({"global", *places.REGIONS})
    identity = "id"

    def create(self, call: ApiCall) -> JsonObject:
        parent, template = self.parent(call), self.kept(call.body)
        check_build(template)
        return operation(add(call.cloud, parent, template, own=template.get("substitutions", {})))

    def listed(self, call: ApiCall) -> list[Resource]:
        """The newest first."""
        return sorted(super().listed(call), key=lambda each: each.body["number"], reverse=True)

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return shown(held)


_BUILDS = _Builds()


@handles("cloudbuild.projects.locations.builds.cancel")
def cancel_build(call: ApiCall) -> JsonObject:
    held = _BUILDS.found(call)
    if held.body["status"] in ENDS:
        raise failed_precondition(f"Build '{held.body['id']}' is {held.body['status']} and cannot be cancelled.")
    return shown(end(call.cloud, held, {"status": "CANCELLED"}))


def add(
    cloud: Cloud,
    parent: str,
    template: JsonObject,
    *,
    own: Mapping[str, str],
    builtin: Mapping[str, str] = MappingProxyType({}),
    **more: Any,
) -> Resource:
    """Put a build into the queue of `parent` (`projects/P/locations/L`).

    template: its configuration, with variables. own: a person's substitutions. builtin: what a trigger and its event
    know. more: fields that only the service sets.
    """
    identity = made_id(cloud, KIND)
    _, project_id, _, location = parent.split("/")
    project = cloud.project(project_id)
    known = {
        **builtin,
        "PROJECT_ID": project.id,
        "PROJECT_NUMBER": str(project.number),
        "BUILD_ID": identity,
        "LOCATION": location,
    }
    values = substitutions.resolved(own, known)
    body = {
        **_DEFAULTS,
        **substitutions.applied(template, {**known, **values}),
        **more,
        "substitutions": {**builtin, **values},
        "status": "QUEUED",
        "id": identity,
        "projectId": project.id,
        "number": cloud.store.next_number(f"{KIND} order"),
    }
    return cloud.store.insert(KIND, f"{parent}/builds/{identity}", body, now=cloud.now)


def end(cloud: Cloud, held: Resource, changes: JsonObject) -> Resource:
    """Let a build end now; `changes` holds its last status."""
    return cloud.store.replace(held, {**held.body, **changes, "finishTime": timestamp(cloud.now)}, now=cloud.now)


def queued(cloud: Cloud) -> list[Resource]:
    """Builds that wait to be run, the oldest first."""
    waiting = [held for held in cloud.store.each(KIND) if held.body["status"] == "QUEUED"]
    return sorted(waiting, key=lambda held: held.body["number"])


def shown(held: Resource) -> JsonObject:
    project = held.body["projectId"]
    url = f"https://console.cloud.google.com/cloud-build/builds;region={held.name.split('/')[3]}"
    return {
        "name": held.name,
        "createTime": timestamp(held.created),
        "logUrl": f"{url}/{held.body['id']}?project={project}",
        **{key: value for key, value in held.body.items() if key != "number"},
    }


def operation(held: Resource) -> JsonObject:
    """The operation of a build that has just begun; its name holds the build's id, as Google's does."""
    identity = base64.urlsafe_b64encode(held.body["id"].encode()).decode()
    name = f"{held.name.partition('/builds/')[0]}/operations/{identity}"
    return {"name": name, "metadata": {"@type": _METADATA, "build": shown(held)}, "done": False}


def check_build(build: JsonObject) -> None:
    """Raises 400 for a build without steps, and for one of an account of its own that has no place for its logs."""
    if not build.get("steps"):
        raise invalid("build.steps: at least one step is required.")
    if (
        build.get("serviceAccount")
        and not build.get("logsBucket")
        and build.get("options", {}).get("logging") not in _OWN_LOGGING
    ):
        raise invalid(
            "if 'build.service_account' is specified, the build must specify 'build.logs_bucket' or use either "
            "CLOUD_LOGGING_ONLY / NONE logging options"
        )
