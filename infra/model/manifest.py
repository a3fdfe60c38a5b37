"""The manifest: the desired fleet of a stack as one JSON document (docs/manifest.md), version 1.

Owns the document's shape. Does not own where it is kept (fleet) nor a VM's values (node).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from infra.model import fleet
from infra.model.capacity import Reserved
from infra.model.catalogue import CapacityKind
from infra.model.fleet import Slot
from infra.model.ledger import account
from infra.model.node import NodeSpec, node_spec
from infra.model.phases import Bound
from infra.model.schema import Freeze, Quota, Reservation, StackConfig

VERSION = 1


def manifest(
    config: StackConfig,
    *,
    bundle: str | None,
    startup_script: str,
    registries: Mapping[str, str] | None = None,
    siblings: Sequence[StackConfig] = (),
) -> dict[str, Any]:
    """The desired fleet, whatever part of it exists; equal inputs give equal documents.

    bundle: digest (`sha256:...`) of the start-up bundle that VMs fetch, None while none is recorded.
    startup_script: the stub that every VM carries in its metadata.
    registries: Docker paths by `<region>/<repository>`, where images are pulled from.
    siblings: other stacks of the repository, whose VMs draw on the same limits.
    """
    return {
        "version": VERSION,
        "stack": config.stack,
        "project": config.project,
        "owner": config.owner,
        "bucket": config.bucket.name,
        "bundle": bundle,
        "registries": dict(sorted((registries or {}).items())),
        "limits": [
            _limit(limit, siblings)
            for limit in (*config.reservations, *config.quotas)
            if limit.project == config.project
        ],
        "freezes": [_freeze(freeze) for freeze in config.freezes],
        "slots": [_slot(slot, node_spec(config, slot, startup_script=startup_script)) for slot in fleet.slots(config)],
    }


def _limit(limit: Reservation | Quota, siblings: Sequence[StackConfig]) -> dict[str, Any]:
    drawn = account(limit, siblings)
    covers = limit.covers if isinstance(limit, Quota) else lambda kind: kind is CapacityKind.RESERVED
    return {
        "name": str(Bound(limit=limit, others=drawn.used)),
        "zone": limit.zone,
        "generation": limit.generation.name,
        "chips": limit.chips,
        "covers": [kind.value for kind in CapacityKind if covers(kind)],
        "reservation": limit.name if isinstance(limit, Reservation) else None,
        "held_elsewhere": drawn.held_elsewhere,
        "siblings": drawn.used - drawn.held_elsewhere,
    }


def _freeze(freeze: Freeze) -> dict[str, Any]:
    override = freeze.override
    return {
        "name": freeze.name,
        "time_zone": freeze.time_zone,
        "from": _moment(freeze.start),
        "to": _moment(freeze.end),
        **({"override": {"until": override.until.isoformat(), "reason": override.reason}} if override else {}),
    }


def _moment(moment: date | datetime) -> str:
    return moment.isoformat(timespec="minutes") if isinstance(moment, datetime) else moment.isoformat()


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
