"""The full spec of a slot's TPU node, from which the Pulumi component, the manifest and the controller all take values.

Owns every value that a VM is created with, so that a VM that is made again over REST is the one that Pulumi declared.
Does not own the start-up script's text, which is handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.model import names
from infra.model.catalogue import CapacityKind
from infra.model.fleet import Slot
from infra.model.schema import DataDisk, DiskMode, StackConfig

CLOUD_PLATFORM_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
STARTUP_SCRIPT_KEY = "startup-script"

CHANGED_IN_PLACE = frozenset(("description", "labels", "metadata", "tags", "data_disks"))

# The words of the Cloud TPU API for a disk's mode.
_API_DISK_MODE = {DiskMode.READ_ONLY: "READ_ONLY", DiskMode.READ_WRITE: "READ_WRITE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDisk:
    """A data disk in the words of the Cloud TPU API."""

    source_disk: str
    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """Everything that the Cloud TPU API is told of one node. Field names are those of `gcp.tpu.V2Vm`.

    A change of a field in CHANGED_IN_PLACE updates the VM; any other replaces it.
    network and subnetwork are full paths: a short form would replace the VM after its next read.
    """

    name: str
    project: str
    zone: str
    accelerator_type: str
    runtime_version: str
    description: str
    labels: Mapping[str, str]
    metadata: Mapping[str, str]
    tags: tuple[str, ...]
    network: str
    subnetwork: str
    enable_external_ips: bool
    preemptible: bool
    reserved: bool
    spot: bool
    service_account_email: str
    service_account_scopes: tuple[str, ...]
    enable_secure_boot: bool
    data_disks: tuple[NodeDisk, ...]

    def to_api(self) -> dict[str, Any]:
        """The body of `projects.locations.nodes.create` (Cloud TPU API v2 and v2alpha1); false and empty are left out.

        The service drops false and empty values, and the Pulumi provider does not send them either.
        """
        network_config: dict[str, Any] = {"network": self.network, "subnetwork": self.subnetwork}
        if self.enable_external_ips:
            network_config["enableExternalIps"] = True
        scheduling = {"preemptible": self.preemptible, "reserved": self.reserved, "spot": self.spot}
        body = {
            "acceleratorType": self.accelerator_type,
            "runtimeVersion": self.runtime_version,
            "description": self.description,
            "labels": dict(self.labels),
            "metadata": dict(self.metadata),
            "tags": list(self.tags),
            "networkConfig": network_config,
            "schedulingConfig": {key: True for key, value in scheduling.items() if value},
            "serviceAccount": {"email": self.service_account_email, "scope": list(self.service_account_scopes)},
            "shieldedInstanceConfig": {"enableSecureBoot": self.enable_secure_boot},
            "dataDisks": [{"sourceDisk": disk.source_disk, "mode": disk.mode} for disk in self.data_disks],
        }
        return {key: value for key, value in body.items() if value}


def node_spec(config: StackConfig, slot: Slot, *, startup_script: str | None = None) -> NodeSpec:
    """The node of one slot. With `startup_script`, its text joins the metadata under `startup-script`."""
    pool, kind = slot.pool, slot.capacity.kind
    return NodeSpec(
        name=slot.name,
        project=config.project,
        zone=slot.zone,
        accelerator_type=slot.accelerator.name,
        runtime_version=slot.runtime_version,
        description=f"Tidepool stack {config.stack}, pool {pool.name}",
        labels=slot.labels,
        metadata=_metadata(config, slot, startup_script),
        tags=(names.network_name(config.stack), f"tidepool-trust-{pool.trust}"),
        network=names.network_path(config.project, config.stack),
        subnetwork=names.subnetwork_path(config.project, config.stack, slot.region),
        enable_external_ips=slot.external_ip,
        preemptible=kind is CapacityKind.PREEMPTIBLE,
        reserved=kind is CapacityKind.RESERVED,
        spot=kind is CapacityKind.SPOT,
        service_account_email=names.account_email(names.pool_account_id(config.stack, pool.name), config.project),
        service_account_scopes=(CLOUD_PLATFORM_SCOPE,),
        enable_secure_boot=True,
        data_disks=tuple(_disk(disk) for disk in pool.data_disks),
    )


def _metadata(config: StackConfig, slot: Slot, startup_script: str | None) -> dict[str, str]:
    """What a VM must know of itself. Nothing here changes with a bundle, an image or a runner version."""
    metadata = {
        # Without OS Login, every `gcloud ssh` adds a key to the metadata, which the next refresh plans to remove.
        "enable-oslogin": "TRUE",
        "tidepool-bucket": config.bucket.name,
        "tidepool-stack": config.stack,
        "tidepool-pool": slot.pool.name,
        "tidepool-region": slot.region,
    }
    if startup_script is not None:
        metadata[STARTUP_SCRIPT_KEY] = startup_script
    return metadata


def _disk(disk: DataDisk) -> NodeDisk:
    return NodeDisk(source_disk=disk.source_disk, mode=_API_DISK_MODE[disk.mode])
