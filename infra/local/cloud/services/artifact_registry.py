"""Artifact Registry: locations, repositories with clean-up policies, and their IAM policies.

Owns the rules that the service applies to a repository: format and mode never change, a clean-up policy has one of
condition and mostRecentVersions, a remote repository has an upstream. Leaves what lies in a repository to
`artifact_images`; clean-up policies are kept, and nothing here acts on them.
Sources: cloud.google.com/artifact-registry/docs/reference/rest/v1/projects.locations.repositories and
.../docs/repositories/cleanup-policy, read 2026-11.
"""

from __future__ import annotations

import re

from infra.local.cloud.clock import timestamp
from infra.local.cloud.differences import asks_for_tpu
from infra.local.cloud.errors import already_exists, invalid, not_found
from infra.local.cloud.registry import Answer, Call, JsonObject, handles
from infra.local.cloud.services import bodies, listings, places, policies, tpu_places
from infra.local.cloud.store import Resource

_KIND = "artifactregistry.repository"
_ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
_MUTABLE = frozenset(
    {"description", "labels", "cleanupPolicies", "cleanupPolicyDryRun", "dockerConfig", "mavenConfig",
     "virtualRepositoryConfig", "vulnerabilityScanningConfig", "remoteRepositoryConfig", "platformLogsConfig",
     "disallowUnspecifiedMode"}
)  # fmt: skip
_MODES_WITH_CONFIG = {
    "REMOTE_REPOSITORY": "remoteRepositoryConfig",
    "VIRTUAL_REPOSITORY": "virtualRepositoryConfig",
}
# Realistic durations, in seconds.
_CREATE_SECONDS = 8.0
_DELETE_SECONDS = 5.0
METADATA = {"@type": "type.googleapis.com/google.devtools.artifactregistry.v1.OperationMetadata"}


@handles("artifactregistry.projects.locations.repositories.create")
def create_repository(call: Call) -> JsonObject:
    cloud, location = call.cloud, call.ids["locationsId"]
    project = cloud.project(call.ids["projectsId"]).id
    _check_location(location)
    identity = call.params.get("repositoryId", "")
    if not _ID.fullmatch(identity):
        raise invalid(
            f"Invalid repository id '{identity}': it must start with a lowercase letter, hold at most 63 lowercase "
            "letters, digits and dashes, and not end with a dash.",
            field="repository_id",
        )
    body = _checked({"mode": "STANDARD_REPOSITORY", **bodies.without_unset(call.body)})
    name = f"projects/{project}/locations/{location}/repositories/{identity}"
    if cloud.store.find(_KIND, name):
        raise already_exists(name)
    made = cloud.store.insert(_KIND, name, body, now=cloud.now)
    return cloud.operations.lro(
        f"projects/{project}/locations/{location}",
        seconds=_CREATE_SECONDS,
        metadata=METADATA,
        response={"@type": "type.googleapis.com/google.devtools.artifactregistry.v1.Repository", **_shown(made)},
    )


@handles("artifactregistry.projects.locations.repositories.get")
def get_repository(call: Call) -> JsonObject:
    return _shown(found(call))


@handles("artifactregistry.projects.locations.repositories.list")
def list_repositories(call: Call) -> JsonObject:
    return listings.stored(call, "repositories", _KIND, f"{_parent(call)}/repositories/", _shown)


@handles("artifactregistry.projects.locations.repositories.patch")
def patch_repository(call: Call) -> JsonObject:
    held = found(call)
    body = _checked(bodies.masked(held.body, call.body, call.params.get("updateMask"), mutable=_MUTABLE))
    if body.get("remoteRepositoryConfig", {}).keys() and _upstream(body) != _upstream(held.body):
        raise invalid("The upstream of a remote repository cannot be changed.", field="remoteRepositoryConfig")
    return _shown(call.cloud.store.replace(held, body, now=call.cloud.now))


@handles("artifactregistry.projects.locations.repositories.delete")
def delete_repository(call: Call) -> JsonObject:
    held = found(call)
    call.cloud.store.delete(_KIND, held.name)
    policies.forget(call.cloud, held.name)
    return call.cloud.operations.lro(_parent(call), seconds=_DELETE_SECONDS, metadata=METADATA)


@handles("artifactregistry.projects.locations.get")
def get_location(call: Call) -> Answer:
    if asks_for_tpu(call.headers):
        return tpu_places.get_location(call)
    _check_location(call.ids["locationsId"])
    return places.location(_parent(call))


@handles("artifactregistry.projects.locations.list")
def list_locations(call: Call) -> Answer:
    if asks_for_tpu(call.headers):
        return tpu_places.list_locations(call)
    project = call.cloud.project(call.ids["projectsId"]).id
    names = sorted([*places.MULTI_REGIONS, *places.REGIONS])
    return {"locations": [places.location(f"projects/{project}/locations/{name}") for name in names]}


policies.serve(
    "artifactregistry.projects.locations.repositories",
    lambda call: (found(call).name, call.cloud.project(call.ids["projectsId"]).id),
)


def _parent(call: Call) -> str:
    return f"projects/{call.cloud.project(call.ids['projectsId']).id}/locations/{call.ids['locationsId']}"


def found(call: Call) -> Resource:
    """The repository that a call names. Raises 404."""
    return call.cloud.store.get(_KIND, f"{_parent(call)}/repositories/{call.ids['repositoriesId']}")


def place(held: Resource) -> str:
    """Where clients of the repository find what is in it: `us-central1-docker.pkg.dev/P/R`."""
    _, project, _, location, _, identity = held.name.split("/")
    return f"{location}-{held.body['format'].lower()}.pkg.dev/{project}/{identity}"


def _shown(held: Resource) -> JsonObject:
    return {
        "name": held.name,
        "createTime": timestamp(held.created),
        "updateTime": timestamp(held.updated),
        "registryUri": place(held),
        "satisfiesPzi": True,
        **held.body,
    }


def _check_location(location: str) -> None:
    if location not in places.MULTI_REGIONS and location not in places.REGIONS:
        raise not_found(f"locations/{location}")


def _upstream(body: JsonObject) -> JsonObject:
    """The parts of a remote configuration that name where it pulls from."""
    return {key: value for key, value in body["remoteRepositoryConfig"].items() if key.endswith("Repository")}


def _checked(body: JsonObject) -> JsonObject:
    """The body as it is kept: durations in seconds, no empty dockerConfig. Raises 400 for what the service refuses."""
    if body.get("dockerConfig") == {}:
        body = {key: value for key, value in body.items() if key != "dockerConfig"}
    if "format" not in body:
        raise invalid("Repository format must be specified.", field="repository.format")
    bodies.check_labels(body.get("labels", {}), field="repository.labels")
    for mode, config in _MODES_WITH_CONFIG.items():
        if (body["mode"] == mode) != (config in body):
            raise invalid(f"{config} must be set exactly when the mode is {mode}.", field=f"repository.{config}")
    if body["mode"] == "REMOTE_REPOSITORY" and not _upstream(body):
        raise invalid("A remote repository must name its upstream.", field="repository.remoteRepositoryConfig")
    cleanup = {key: _checked_policy(key, policy) for key, policy in body.get("cleanupPolicies", {}).items()}
    return {**body, "cleanupPolicies": cleanup} if cleanup else body


def _checked_policy(key: str, policy: JsonObject) -> JsonObject:
    where = f"repository.cleanupPolicies[{key}]"
    if policy.get("id", key) != key:
        raise invalid(f"The policy's id '{policy['id']}' differs from its key '{key}'.", field=f"{where}.id")
    if policy.get("action") not in ("DELETE", "KEEP"):
        raise invalid("The action must be DELETE or KEEP.", field=f"{where}.action")
    if ("condition" in policy) == ("mostRecentVersions" in policy):
        raise invalid("Exactly one of condition and mostRecentVersions must be set.", field=where)
    if "mostRecentVersions" in policy:
        if policy["action"] != "KEEP":
            raise invalid("mostRecentVersions goes with the action KEEP only.", field=f"{where}.action")
        if policy["mostRecentVersions"].get("keepCount", 0) < 1:
            raise invalid("keepCount must be at least 1.", field=f"{where}.mostRecentVersions.keepCount")
        return {"id": key, **policy}
    condition = dict(policy["condition"])
    for age in ("olderThan", "newerThan"):
        if age in condition:
            condition[age] = bodies.duration(condition[age], field=f"{where}.condition.{age}")
    if condition.get("tagPrefixes") and condition.get("tagState") != "TAGGED":
        raise invalid("tagPrefixes need tagState TAGGED.", field=f"{where}.condition.tagPrefixes")
    return {"id": key, **policy, "condition": condition}
