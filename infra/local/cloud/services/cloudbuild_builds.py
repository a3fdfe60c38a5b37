"""Cloud Build v1: builds, from the queue to their end.

Owns the record of a build and its states: QUEUED (PENDING where a person must approve), WORKING, and one of the ends.
Nothing here runs a step: whoever does takes the next build of the queue and reports (`infra.local.cloud.builds`). A
build waits for that for ever, where the real service gives up after `queueTtl`.
Source: https://cloud.google.com/build/docs/api/reference/rest/v1/projects.builds, read 2026-11-21.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from infra.local.cloud.clock import timestamp
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import failed_precondition, invalid
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, cloudbuild_names, cloudbuild_rules, listings
from infra.local.cloud.services import cloudbuild_substitutions as substitutions
from infra.local.cloud.store import Resource

KIND = "cloudbuild.build"
ENDS = ("SUCCESS", "FAILURE", "INTERNAL_ERROR", "TIMEOUT", "CANCELLED", "EXPIRED")
_METADATA = "type.googleapis.com/google.devtools.cloudbuild.v1.BuildOperationMetadata"
_BUILD = "type.googleapis.com/google.devtools.cloudbuild.v1.Build"
_DEFAULTS = {"timeout": "3600s", "queueTtl": "3600s"}
# What is known of any build; triggers and their events add to it.
_OF_EVERY_BUILD = frozenset({"PROJECT_ID", "PROJECT_NUMBER", "BUILD_ID", "LOCATION"})
# cloud.google.com/build/docs/view-build-results#filtering_build_results_using_queries: a name of filters alone.
_OTHER_NAMES = {"triggerId": "buildTriggerId"}


@handles("cloudbuild.projects.builds.create", "cloudbuild.projects.locations.builds.create")
def create_build(call: Call) -> JsonObject:
    parent = cloudbuild_names.parent(call)
    template = bodies.without_unset(call.body)
    cloudbuild_rules.check_build(template)
    cloudbuild_rules.check_account(call.cloud, cloudbuild_names.project_of(parent), template.get("serviceAccount", ""))
    if template.get("options", {}).get("substitutionOption") != "ALLOW_LOOSE":
        _check_match(template)
    return operation(add(call.cloud, parent, template, own=template.get("substitutions", {})))


@handles("cloudbuild.projects.builds.get", "cloudbuild.projects.locations.builds.get")
def get_build(call: Call) -> JsonObject:
    return shown(_found(call))


@handles("cloudbuild.projects.builds.list", "cloudbuild.projects.locations.builds.list")
def list_builds(call: Call) -> JsonObject:
    found = cloudbuild_names.newest_first(call.cloud, KIND, f"{cloudbuild_names.parent(call)}/builds/")
    return listings.page(call, "builds", [shown(held) for held in found], identity="id", others=_OTHER_NAMES)


@handles("cloudbuild.projects.builds.cancel", "cloudbuild.projects.locations.builds.cancel")
def cancel_build(call: Call) -> JsonObject:
    held = _found(call)
    if held.body["status"] in ENDS:
        raise failed_precondition(f"Build '{held.body['id']}' is {held.body['status']} and cannot be cancelled.")
    return shown(end(call.cloud, held, {"status": "CANCELLED"}))


def add(
    cloud: Cloud,
    parent: str,
    template: JsonObject,
    *,
    own: Mapping[str, str],
    builtin: Mapping[str, str] | None = None,
    heard: substitutions.Heard | None = None,
    more: JsonObject | None = None,
) -> Resource:
    """Put a build into the queue of `parent` (`projects/P/locations/L`).

    template: its configuration, with variables. own: a person's substitutions. builtin: what a trigger and its event
    know. heard: the message that started it. more: fields that only the service sets.
    """
    identity = cloudbuild_names.new_id(cloud, KIND)
    project = cloud.project(cloudbuild_names.project_of(parent))
    builtin = builtin or {}
    of_build = {
        "PROJECT_ID": project.id,
        "PROJECT_NUMBER": str(project.number),
        "BUILD_ID": identity,
        "LOCATION": cloudbuild_names.location_of(parent),
    }
    values = substitutions.resolved(own, {**builtin, **of_build}, heard)
    body = {
        **_DEFAULTS,
        **substitutions.applied(template, {**builtin, **of_build, **values}),
        "substitutions": {**builtin, **values},
        "status": "QUEUED",
        **(more or {}),
    }
    body["tags"] = [*body.get("tags", []), *body.pop("serviceTags", [])]
    body = {key: value for key, value in body.items() if value not in ([], {})}
    body |= {"id": identity, "projectId": project.id, "number": cloud.store.next_number(f"{KIND} order")}
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
    url = f"https://console.cloud.google.com/cloud-build/builds;region={cloudbuild_names.location_of(held.name)}"
    return {
        "name": held.name,
        "createTime": timestamp(held.created),
        "logUrl": f"{url}/{held.body['id']}?project={project}",
        **{key: value for key, value in held.body.items() if key != "number"},
    }


def operation(held: Resource) -> JsonObject:
    """The operation of a build, which is done when the build is; its name holds the build's id, as Google's does."""
    name = (
        f"{held.name.partition('/builds/')[0]}/operations/{base64.urlsafe_b64encode(held.body['id'].encode()).decode()}"
    )
    build, status = shown(held), held.body["status"]
    begun = {"name": name, "metadata": {"@type": _METADATA, "build": build}, "done": status in ENDS}
    if status == "SUCCESS":
        return {**begun, "response": {"@type": _BUILD, **build}}
    if status in ENDS:
        return {**begun, "error": {"code": 2, "message": build.get("statusDetail", f"Build ended as {status}.")}}
    return begun


def operation_named(cloud: Cloud, name: str) -> JsonObject | None:
    """The operation of that name when it is a build's."""
    parent, _, identity = name.rpartition("/operations/")
    try:
        build = base64.urlsafe_b64decode(identity).decode()
    except ValueError:
        return None
    held = cloud.store.find(KIND, f"{parent}/builds/{build}")
    return None if held is None else operation(held)


def _found(call: Call) -> Resource:
    name = f"{cloudbuild_names.parent(call)}/builds/{call.ids.get('buildsId') or call.ids['id']}"
    return call.cloud.store.get(KIND, name)


def _check_match(template: JsonObject) -> None:
    """Raises 400 where the variables of a build and the values given for them are not the same."""
    given = template.get("substitutions", {})
    named = {*substitutions.names_in(template), *substitutions.names_in(list(given.values()))}
    for name in sorted(named):
        if name not in given and name not in _OF_EVERY_BUILD:
            raise invalid(f'key in the template "{name}" is not a valid built-in substitution', field="build")
    automatic = template.get("options", {}).get("automapSubstitutions") or any(
        step.get("automapSubstitutions") for step in template["steps"]
    )
    for name in sorted(given):
        if name not in named and not automatic:
            raise invalid(f'key "{name}" in the substitution data is not matched in the template', field="build")
