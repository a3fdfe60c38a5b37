"""Creates that were in flight when a run was killed: what they are and how they are adopted.

Owns reading them from an exported state, the ids under which the official Google provider imports them, the import file
and the state without them. Does not own running the CLI (`recovery`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from infra.engines.official.steps import type_and_name
from infra.engines.protocol import EngineError

IMPORT_IDS: Final[Mapping[str, str]] = {
    "gcp:artifactregistry/repository:Repository": "projects/{project}/locations/{location}/repositories/{repositoryId}",
    # The service takes a trigger's name in the place of the id that it gave it.
    "gcp:cloudbuild/trigger:Trigger": "projects/{project}/locations/{location}/triggers/{name}",
    "gcp:cloudbuildv2/connection:Connection": "projects/{project}/locations/{location}/connections/{name}",
    "gcp:cloudbuildv2/repository:Repository": "{parentConnection}/repositories/{name}",
    "gcp:cloudscheduler/job:Job": "projects/{project}/locations/{region}/jobs/{name}",
    "gcp:compute/firewall:Firewall": "projects/{project}/global/firewalls/{name}",
    "gcp:compute/network:Network": "projects/{project}/global/networks/{name}",
    "gcp:compute/router:Router": "projects/{project}/regions/{region}/routers/{name}",
    "gcp:compute/routerNat:RouterNat": "projects/{project}/regions/{region}/routers/{router}/{name}",
    "gcp:compute/subnetwork:Subnetwork": "projects/{project}/regions/{region}/subnetworks/{name}",
    "gcp:iam/workloadIdentityPool:WorkloadIdentityPool": (
        "projects/{project}/locations/global/workloadIdentityPools/{workloadIdentityPoolId}"
    ),
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider": (
        "projects/{project}/locations/global/workloadIdentityPools/{workloadIdentityPoolId}/providers/"
        "{workloadIdentityPoolProviderId}"
    ),
    "gcp:pubsub/topic:Topic": "projects/{project}/topics/{name}",
    "gcp:secretmanager/secret:Secret": "projects/{project}/secrets/{secretId}",
    "gcp:serviceaccount/account:Account": (
        "projects/{project}/serviceAccounts/{accountId}@{project}.iam.gserviceaccount.com"
    ),
    "gcp:storage/bucket:Bucket": "{project}/{name}",
    "gcp:tpu/v2Vm:V2Vm": "projects/{project}/locations/{zone}/nodes/{name}",
}
"""Types whose second creation Google refuses with 409, with the id that each one's import takes (import sections of
the provider's pages at pulumi.com/registry/packages/gcp, 2026-11)."""

REPEATABLE: Final = frozenset(
    {
        "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember",
        "gcp:cloudbuildv2/connectionIAMMember:ConnectionIAMMember",
        "gcp:projects/iAMMember:IAMMember",
        "gcp:projects/service:Service",
        "gcp:pubsub/topicIAMMember:TopicIAMMember",
        "gcp:secretmanager/secretIamMember:SecretIamMember",
        "gcp:serviceaccount/iAMMember:IAMMember",
        "gcp:storage/bucketIAMMember:BucketIAMMember",
        "gcp:storage/bucketObject:BucketObject",
    }
)
"""Types whose creation does no harm and fails with nothing when it is done twice: the next `up` simply creates them."""

_LAST_PART_ONLY: Final = frozenset({"region", "router", "network"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A create that had begun and whose end nobody recorded.

    import_id: what the provider imports it by; empty where creating it again is right in any case.
    """

    urn: str
    type: str
    name: str
    parent: str
    provider: str
    import_id: str


def pending_creates(deployment: Mapping[str, Any]) -> tuple[Pending, ...]:
    """The creates in flight of an exported state, except those that the state meanwhile has as resources.

    Raises EngineError for a type that is neither importable nor repeatable here, by name.
    """
    known = {resource["urn"] for resource in deployment.get("resources") or ()}
    creating = [
        operation["resource"]
        for operation in deployment.get("pending_operations") or ()
        if operation["type"] == "creating" and operation["resource"]["urn"] not in known
    ]
    return tuple(_pending(resource) for resource in creating)


def without_pending(exported: Mapping[str, Any]) -> dict[str, Any]:
    """An exported state with no operation in flight, ready for `pulumi stack import`."""
    deployment = {key: value for key, value in exported["deployment"].items() if key != "pending_operations"}
    return {**exported, "deployment": deployment}


def has_pending(deployment: Mapping[str, Any]) -> bool:
    """Whether a killed run left anything in flight, deletes and updates too."""
    return bool(deployment.get("pending_operations"))


def import_file(wanted: Sequence[Pending]) -> dict[str, Any]:
    """The content of a file for `pulumi import --file`: each resource below its parent, under its own provider."""
    relatives = sorted({urn for each in wanted for urn in (each.parent, each.provider) if urn})
    names = {urn: f"relative{number}" for number, urn in enumerate(relatives)}
    resources = []
    for each in wanted:
        entry = {"type": each.type, "name": each.name, "logicalName": each.name, "id": each.import_id}
        if each.parent:
            entry["parent"] = names[each.parent]
        if each.provider:
            entry["provider"] = names[each.provider]
        resources.append(entry)
    return {"nameTable": {name: urn for urn, name in names.items()}, "resources": resources}


def missing(wanted: Collection[Pending], output: str) -> tuple[Pending, ...]:
    """Those that the CLI's import said the cloud does not have."""
    return tuple(each for each in wanted if f"resource '{each.import_id}' does not exist" in output)


def _pending(resource: Mapping[str, Any]) -> Pending:
    kind, name = type_and_name(resource["urn"])
    return Pending(
        urn=resource["urn"],
        type=kind,
        name=name,
        parent=_importable_parent(resource.get("parent", "")),
        provider=resource.get("provider", "").rpartition("::")[0],
        import_id=_import_id(kind, name, resource.get("inputs") or {}),
    )


def _importable_parent(urn: str) -> str:
    """The stack itself is every resource's parent unless another is named, and cannot be named."""
    return "" if "::pulumi:pulumi:Stack::" in urn else urn


def _import_id(kind: str, name: str, inputs: Mapping[str, Any]) -> str:
    if kind in REPEATABLE or not kind.startswith("gcp:"):
        return ""
    if kind not in IMPORT_IDS:
        raise EngineError(
            f"{name} ({kind}) was being created when an earlier run was killed, and how to adopt one is not known; "
            f"look whether it exists, adopt it with `pulumi import {kind} {name} ID` or delete it, "
            "then clear the operation with `pulumi refresh --clear-pending-creates`"
        )
    parts = {key: _part(key, value) for key, value in inputs.items()}
    return IMPORT_IDS[kind].format_map(parts)


def _part(key: str, value: Any) -> Any:
    """Inputs may be full links; an id takes their last part."""
    return value.rsplit("/", 1)[-1] if key in _LAST_PART_ONLY and isinstance(value, str) else value
