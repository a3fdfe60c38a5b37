"""The ids under which existing resources are imported, by type, and the types that need no import.

Owns the table for every type that the program declares. Both engines adopt the types of the table that the state lacks
and the cloud has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from infra.model.errors import EngineError
from infra.model.planned_capacity import VM_TYPE

IMPORT_IDS: Final[Mapping[str, str]] = {
    "gcp:artifactregistry/repository:Repository": "projects/{project}/locations/{location}/repositories/{repositoryId}",
    # The service takes a trigger's name in the place of the id that it gave it.
    "gcp:cloudbuild/trigger:Trigger": "projects/{project}/locations/{location}/triggers/{name}",
    "gcp:cloudbuildv2/connection:Connection": "projects/{project}/locations/{location}/connections/{name}",
    "gcp:cloudbuildv2/repository:Repository": "{parentConnection}/repositories/{name}",
    "gcp:cloudrunv2/job:Job": "projects/{project}/locations/{location}/jobs/{name}",
    "gcp:cloudrunv2/service:Service": "projects/{project}/locations/{location}/services/{name}",
    "gcp:cloudscheduler/job:Job": "projects/{project}/locations/{region}/jobs/{name}",
    "gcp:compute/firewall:Firewall": "projects/{project}/global/firewalls/{name}",
    "gcp:compute/network:Network": "projects/{project}/global/networks/{name}",
    "gcp:compute/resourcePolicy:ResourcePolicy": "projects/{project}/regions/{region}/resourcePolicies/{name}",
    "gcp:compute/router:Router": "projects/{project}/regions/{region}/routers/{name}",
    "gcp:compute/routerNat:RouterNat": "projects/{project}/regions/{region}/routers/{router}/{name}",
    "gcp:compute/subnetwork:Subnetwork": "projects/{project}/regions/{region}/subnetworks/{name}",
    "gcp:container/cluster:Cluster": "projects/{project}/locations/{location}/clusters/{name}",
    "gcp:container/nodePool:NodePool": "{project}/{location}/{cluster}/{name}",
    "gcp:firestore/database:Database": "projects/{project}/databases/{name}",
    "gcp:iam/workloadIdentityPool:WorkloadIdentityPool": (
        "projects/{project}/locations/global/workloadIdentityPools/{workloadIdentityPoolId}"
    ),
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider": (
        "projects/{project}/locations/global/workloadIdentityPools/{workloadIdentityPoolId}/providers/"
        "{workloadIdentityPoolProviderId}"
    ),
    "gcp:logging/metric:Metric": "{project} {name}",
    "gcp:pubsub/topic:Topic": "projects/{project}/topics/{name}",
    "gcp:redis/instance:Instance": "projects/{project}/locations/{region}/instances/{name}",
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
        "gcp:cloudrunv2/jobIamMember:JobIamMember",
        "gcp:cloudrunv2/serviceIamMember:ServiceIamMember",
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

_LAST_PART_ONLY: Final = frozenset({"cluster", "region", "router", "network"})

_LABELS: Final = ("labels", "resourceLabels")


def is_repeatable(kind: str, inputs: Mapping[str, Any]) -> bool:
    """Whether creating it again is right in any case.

    What several stacks declare (`createIgnoreAlreadyExists`) is created again by each of them.
    """
    return kind in REPEATABLE or bool(inputs.get("createIgnoreAlreadyExists"))


def is_looked_for(kind: str, inputs: Mapping[str, Any]) -> bool:
    """Whether a declared resource that the state lacks is looked for in the cloud, to import it.

    VMs are looked for by zone (`infra.engines.standing`).
    """
    return kind in IMPORT_IDS and kind != VM_TYPE and not is_repeatable(kind, inputs)


def is_anothers(declared: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether a resource of a declared name belongs to another stack or to nobody, by the label `tidepool-stack`.

    declared: its inputs. found: its properties in the cloud. A type without labels is told by its name alone.
    """
    for key in _LABELS:
        wanted = (declared.get(key) or {}).get("tidepool-stack")
        if wanted is not None:
            has = found.get("effectiveLabels") or found.get(key) or {}
            return has.get("tidepool-stack") != wanted
    return False


def import_id(kind: str, name: str, inputs: Mapping[str, Any]) -> str:
    """What the provider imports a resource by, from its inputs; empty where creating it again is right in any case.

    Raises EngineError, by name, for inputs and types that do not give one.
    """
    if is_repeatable(kind, inputs) or not kind.startswith("gcp:"):
        return ""
    parts = {key: _part(key, value) for key, value in inputs.items()}
    try:
        return IMPORT_IDS[kind].format_map(parts)
    except KeyError:
        raise EngineError(
            f"{name} ({kind}) was being created when an earlier run was killed, and its inputs do not give its id; "
            f"look whether it exists, adopt it with `pulumi import {kind} {name} ID` or delete it, "
            "then clear the operation with `pulumi refresh --clear-pending-creates`"
        ) from None


def _part(key: str, value: Any) -> Any:
    """Inputs may be full links; an id takes their last part."""
    return value.rsplit("/", 1)[-1] if key in _LAST_PART_ONLY and isinstance(value, str) else value
