"""Artifact Registry: repositories with clean-up policies, and their IAM policies.

Clean-up policies are kept, and nothing here acts on them. What lies in a repository is `images`' to say. Sources:
cloud.google.com/artifact-registry/docs/reference/rest/v1/projects.locations.repositories, read 2026-11.
"""

from __future__ import annotations

from types import MappingProxyType

from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject, invalid
from bench.cloud.services import bodies, places
from bench.cloud.services.collection import Collection
from bench.cloud.store import Resource

_METADATA = {"@type": "type.googleapis.com/google.devtools.artifactregistry.v1.OperationMetadata"}


class _Repositories(Collection):
    api = "artifactregistry.projects.locations.repositories"
    kind = "artifactregistry.repository"
    locations = frozenset({*places.MULTI_REGIONS, *places.REGIONS})
    new_id = "repositoryId"
    seconds = MappingProxyType({"create": 8.0, "delete": 5.0})
    message = "type.googleapis.com/google.devtools.artifactregistry.v1.Repository"
    adds = ("createTime", "updateTime")
    has_policy = True

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        """The body as it is kept: durations in seconds, no empty dockerConfig."""
        if "format" not in body:
            raise invalid("Repository format must be specified.")
        cleanup = {key: {"id": key, **_in_seconds(policy)} for key, policy in body.get("cleanupPolicies", {}).items()}
        given = {key: value for key, value in body.items() if key != "dockerConfig" or value}
        return {"mode": "STANDARD_REPOSITORY", **given, **({"cleanupPolicies": cleanup} if cleanup else {})}

    def metadata(self, method: str, name: str) -> JsonObject:
        return _METADATA

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "registryUri": place(held), "satisfiesPzi": True}


REPOSITORIES = _Repositories()


def place(held: Resource) -> str:
    """Where clients of the repository find what is in it: `us-central1-docker.pkg.dev/P/R`."""
    _, project, _, location, _, identity = held.name.split("/")
    return f"{location}-{held.body['format'].lower()}.pkg.dev/{project}/{identity}"


def _in_seconds(policy: JsonObject) -> JsonObject:
    """A clean-up policy whose ages are whole seconds, as the service gives them back."""
    condition = dict(policy.get("condition", {}))
    for age in condition.keys() & {"olderThan", "newerThan"}:
        condition[age] = f"{bodies.seconds(condition[age]):.0f}s"
    return {**policy, "condition": condition} if condition else policy
