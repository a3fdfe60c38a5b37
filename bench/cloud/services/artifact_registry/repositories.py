"""Artifact Registry: locations, repositories with clean-up policies, and their IAM policies.

Owns the rules that the service applies to a repository: format and mode never change, a clean-up policy has one of
condition and mostRecentVersions, a remote repository has an upstream. Leaves what lies in a repository to
`artifact_images`; clean-up policies are kept, and nothing here acts on them.
Sources: cloud.google.com/artifact-registry/docs/reference/rest/v1/projects.locations.repositories and
.../docs/repositories/cleanup-policy, read 2026-11.
"""

from __future__ import annotations

from types import MappingProxyType

from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject, invalid
from bench.cloud.services import bodies, places
from bench.cloud.services.collection import LOWERCASE_ID, LOWERCASE_RULE, Collection
from bench.cloud.store import Resource

_MODES_WITH_CONFIG = {
    "REMOTE_REPOSITORY": "remoteRepositoryConfig",
    "VIRTUAL_REPOSITORY": "virtualRepositoryConfig",
}
METADATA = {"@type": "type.googleapis.com/google.devtools.artifactregistry.v1.OperationMetadata"}
LOCATIONS = frozenset({*places.MULTI_REGIONS, *places.REGIONS})


class _Repositories(Collection):
    api = "artifactregistry.projects.locations.repositories"
    kind = "artifactregistry.repository"
    locations = LOCATIONS
    new_id = "repositoryId"
    id_form = LOWERCASE_ID
    id_rule = LOWERCASE_RULE
    mutable = frozenset(
        {"description", "labels", "cleanupPolicies", "cleanupPolicyDryRun", "dockerConfig", "mavenConfig",
         "virtualRepositoryConfig", "vulnerabilityScanningConfig", "remoteRepositoryConfig", "platformLogsConfig",
         "disallowUnspecifiedMode"}
    )  # fmt: skip
    fixed = None
    seconds = MappingProxyType({"create": 8.0, "delete": 5.0})
    message = "type.googleapis.com/google.devtools.artifactregistry.v1.Repository"
    adds = ("createTime", "updateTime")
    has_policy = True

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        """The body as it is kept: durations in seconds, no empty dockerConfig."""
        body = {"mode": "STANDARD_REPOSITORY", **body}
        if body.get("dockerConfig") == {}:
            del body["dockerConfig"]
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

    def check_change(self, cloud: Cloud, held: Resource, body: JsonObject) -> None:
        if body.get("remoteRepositoryConfig") and _upstream(body) != _upstream(held.body):
            raise invalid("The upstream of a remote repository cannot be changed.", field="remoteRepositoryConfig")

    def metadata(self, method: str, name: str) -> JsonObject:
        return METADATA

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "registryUri": place(held), "satisfiesPzi": True}


REPOSITORIES = _Repositories()


def place(held: Resource) -> str:
    """Where clients of the repository find what is in it: `us-central1-docker.pkg.dev/P/R`."""
    _, project, _, location, _, identity = held.name.split("/")
    return f"{location}-{held.body['format'].lower()}.pkg.dev/{project}/{identity}"


def _upstream(body: JsonObject) -> JsonObject:
    """The parts of a remote configuration that name where it pulls from."""
    return {key: value for key, value in body["remoteRepositoryConfig"].items() if key.endswith("Repository")}


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
