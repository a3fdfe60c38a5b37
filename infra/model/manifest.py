"""The manifest: the desired fleet of a stack as one JSON document (docs/manifest.md), version 1.

Owns the document's shape. Does not own where it is kept (fleet) nor a VM's values (node).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.model import fleet
from infra.model.capacity import Reserved
from infra.model.fleet import Slot
from infra.model.node import NodeSpec, node_spec
from infra.model.schema import StackConfig

VERSION = 1


def manifest(
    config: StackConfig,
    *,
    bundle: str | None,
    startup_script: str,
    registries: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The desired fleet, whatever part of it exists; equal inputs give equal documents.

    bundle: digest (`sha256:...`) of the start-up bundle that VMs fetch, None while none is recorded.
    startup_script: the stub that every VM carries in its metadata.
    registries: Docker paths by `<region>/<repository>`, where images are pulled from.
    """
    return {
        "version": VERSION,
        "stack": config.stack,
        "project": config.project,
        "owner": config.owner,
        "bucket": config.bucket.name,
        "bundle": bundle,
        "registries": dict(sorted((registries or {}).items())),
        "slots": [_slot(slot, node_spec(config, slot, startup_script=startup_script)) for slot in fleet.slots(config)],
    }


def _slot(slot: Slot, node: NodeSpec) -> dict[str, Any]:
    pool = slot.pool
    return {
        "name": slot.name,
        "project": node.project,
        "zone": slot.zone,
        "region": slot.region,
        "pool": pool.name,
        "index": slot.index,
        "accelerator": slot.accelerator.name,
        "chips": slot.accelerator.chips,
        "hosts": slot.accelerator.hosts,
        "runtime_version": slot.runtime_version,
        "capacity": pool.capacity.kind.value,
        "reservation": pool.capacity.reservation if isinstance(pool.capacity, Reserved) else None,
        "trust": pool.trust.value,
        "serves": list(pool.serves),
        "runner_labels": list(pool.runner_labels),
        "external_ip": slot.external_ip,
        "service_account": node.service_account_email,
        "node": node.to_api(),
    }
