"""What each Google API does here, one module a service; importing this package registers all of them."""

from infra.local.cloud.services import (
    artifact_registry,
    compute_networks,
    compute_places,
    compute_routers,
    compute_subnetworks,
    iam,
    iam_pools,
    kms,
    operations,
    resource_manager,
    secret_manager,
    service_usage,
    storage_buckets,
    storage_objects,
    tpu_nodes,
    tpu_places,
)

__all__ = [
    "artifact_registry",
    "compute_networks",
    "compute_places",
    "compute_routers",
    "compute_subnetworks",
    "iam",
    "iam_pools",
    "kms",
    "operations",
    "resource_manager",
    "secret_manager",
    "service_usage",
    "storage_buckets",
    "storage_objects",
    "tpu_nodes",
    "tpu_places",
]
