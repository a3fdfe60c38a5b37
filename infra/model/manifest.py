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
from infra.model.node import node_spec
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
    broker: str | None = None,
) -> dict[str, Any]:
    """The desired fleet, whatever part of it exists; equal inputs give equal documents.

    bundle: digest (`sha256:...`) of the start-up bundle that VMs fetch, None while none is recorded.
    startup_script: the stub that every VM carries in its metadata.
    registries: Docker paths by `<region>/<repository>`, where images are pulled from.
    siblings: other stacks of the repository, whose VMs draw on the same limits.
    broker: the URL by which VMs reach the token broker, which is its audience too; None while there is none.
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
        "broker": broker,
        "controller": _controller(config),
        "slots": [_slot(config, slot, startup_script) for slot in fleet.slots(config)],
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


def _controller(config: StackConfig) -> dict[str, Any]:
    runners, controller = config.runners, config.controller
    return {
        "every_minutes": controller.every_minutes,
        "boot_minutes": runners.boot_minutes,
        "job_minutes": runners.job_minutes,
        "grace_minutes": controller.grace_minutes,
        "replacements_per_hour": controller.replacements_per_hour,
        "share": controller.share,
        "groups": None if runners.groups is None else {trust.value: group for trust, group in runners.groups.items()},
    }


def _slot(config: StackConfig, slot: Slot, startup_script: str) -> dict[str, Any]:
    pool = slot.pool
    node = node_spec(config, slot, startup_script=startup_script)
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
        **_capacity(slot),
        "trust": pool.trust.value,
        "serves": list(pool.serves),
        "runner_labels": list(pool.runner_labels),
        "external_ip": slot.external_ip,
        "service_account": node.service_account_email,
        "node": node.to_api(),
        "fallbacks": [
            {
                "zone": place.zone,
                "region": place.region,
                **_capacity(place),
                "node": node_spec(config, place, startup_script=startup_script).to_api(),
            }
            for place in fleet.fallbacks(slot)
        ],
    }


def _capacity(slot: Slot) -> dict[str, Any]:
    reservation = slot.capacity.reservation if isinstance(slot.capacity, Reserved) else None
    return {"capacity": slot.capacity.kind.value, "reservation": reservation}
