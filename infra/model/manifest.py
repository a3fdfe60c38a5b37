"""The manifest: the desired fleet of a stack as one JSON document (docs/manifest.md), version 1; what VMs read when
they start; and what of a manifest a plan tells.

Owns the shape of these documents. Does not own where they are kept (`infra.program.records`) nor a VM's values (node).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from infra.model import fleet, names
from infra.model.bounds import Bound
from infra.model.capacity import Reserved
from infra.model.catalogue import CapacityKind
from infra.model.fleet import Slot
from infra.model.ledger import account
from infra.model.node import node_spec
from infra.model.schema import Freeze, Pool, Quota, Reservation, StackConfig, Window

VERSION = 1
NO_VM = "the stack file declares no VM"
IN_WINDOWS_ALONE = "the stack file declares VMs in windows alone"


def manifest(
    config: StackConfig,
    *,
    bundle: str,
    startup_script: str,
    registry: StackConfig | None = None,
    siblings: Sequence[StackConfig] = (),
    broker: str | None = None,
) -> dict[str, Any]:
    """The desired fleet, whatever part of it exists; equal inputs give equal documents.

    bundle: SHA-256 (hexadecimal) of the start-up bundle that VMs fetch.
    startup_script: the stub that every VM carries in its metadata.
    registry: the stack whose repositories this one pulls from (`registry_stack`), None where they are its own.
    siblings: other stacks of the repository, whose VMs draw on the same limits.
    broker: the URL by which VMs reach the token broker, which is its audience too; None while there is none.
    """
    slots = [_slot(config, slot, startup_script) for slot in fleet.slots(config)]
    by_hour = [_slot(config, slot, startup_script) for slot in fleet.window_slots(config)]
    return {
        "version": VERSION,
        "stack": config.stack,
        "project": config.project,
        "owner": config.owner,
        "bucket": config.bucket.name,
        "bundle": f"sha256:{bundle}",
        "registries": _docker_paths(registry or config),
        "limits": [
            _limit(limit, config, siblings)
            for limit in (*config.reservations, *config.quotas)
            if limit.project == config.project
        ],
        "freezes": [_freeze(freeze) for freeze in config.freezes],
        "run_zones": _run_zones(config, siblings),
        "broker": broker,
        "controller": _controller(config),
        "slots": slots,
        **({} if slots else {"empty": NO_VM if not by_hour else IN_WINDOWS_ALONE}),
        "windows": [_window(window) | {"pool": pool.name} for pool in config.pools for window in pool.windows],
        "window_slots": by_hour,
    }


def emptied(document: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """A manifest's document that declares no VM, for that reason."""
    return {**document, "slots": [], "empty": reason, "windows": [], "window_slots": []}


def in_transition(document: Mapping[str, Any], wanted: Mapping[str, Any], staying: Collection[str]) -> dict[str, Any]:
    """What is wanted, but VMs that stay as a published document has them, with the limits of their zones.

    wanted: the manifest of the end, of a bundle and a broker that are there already. The owner stays: the VMs that stay
    are found by it. Raises ValueError for a document that cannot be read.
    """
    kept = [slot for slot in declared_slots(document) if slot.get("name") in staying]
    if not kept:
        return dict(wanted)
    known = {slot["name"] for slot in kept}
    slots = (*kept, *(slot for slot in wanted["slots"] if slot["name"] not in known))
    zones, limited = {slot["zone"] for slot in kept}, {limit["name"] for limit in wanted["limits"]}
    limits = [each for each in document["limits"] if each["zone"] in zones and each["name"] not in limited]
    return {
        **{key: value for key, value in wanted.items() if key != "empty"},
        "owner": document["owner"],
        "limits": [*wanted["limits"], *limits],
        "slots": sorted(slots, key=lambda slot: (slot["pool"], slot["zone"], slot["index"])),
    }


def declared_slots(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The slots of a manifest's document as they stand in it. Raises ValueError, whose text says what is the matter.

    Whoever deletes what is not declared must not take damage for an empty fleet: one says that it is, and why.
    """
    if "slots" not in document:
        raise ValueError("the manifest lacks 'slots'")
    slots, reason = document["slots"], document.get("empty")
    if not isinstance(slots, list) or not all(isinstance(each, Mapping) for each in slots):
        raise ValueError("the manifest's slots must be a list of objects")
    if reason is not None and (slots or not isinstance(reason, str) or not reason):
        raise ValueError(f"the manifest's empty is {reason!r}, and it must be the reason why slots is an empty list")
    if not slots and reason is None:
        raise ValueError("the manifest declares no VM and does not say why: `empty` must be the reason")
    return tuple(slots)


def possible_slots(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The slots that stand, and those that windows open, whether they are open or not. Raises as `declared_slots`."""
    by_hour = document.get("window_slots", [])
    if not isinstance(by_hour, list) or not all(isinstance(each, Mapping) for each in by_hour):
        raise ValueError("the manifest's window_slots must be a list of objects")
    return (*declared_slots(document), *by_hour)


def startup(config: StackConfig, *, bundle: str, broker: str | None = None) -> dict[str, Any]:
    """What every VM of a stack reads when it starts. bundle, broker: as for the manifest."""
    return {
        "version": VERSION,
        "bundle": bundle,
        "broker": broker,
        "serves": {pool.name: list(pool.serves) for pool in config.pools},
    }


def told(config: StackConfig, document: Mapping[str, Any]) -> dict[str, Any]:
    """What a stack's manifest says beside what its VMs' own resources show, small enough to stand in a plan.

    A VM more or less changes nothing of it. What is not set is left out, so that it can be an input of a resource.
    """
    return {
        "bundle": document["bundle"],
        **({"broker": document["broker"]} if document["broker"] else {}),
        "registries": dict(document["registries"]),
        "limits": {each["name"]: _told(each) for each in document["limits"]},
        "freezes": {each["name"]: _told(each) for each in document["freezes"]},
        "controller": _told(document["controller"]),
        "pools": {pool.name: _pool_told(pool) for pool in config.pools},
    }


def _pool_told(pool: Pool) -> dict[str, Any]:
    return {
        "trust": pool.trust.value,
        "serves": list(pool.serves),
        "runner_labels": list(pool.runner_labels),
        "fallbacks": [f"{each.zone} {each.capacity}" for each in pool.fallback],
        **({"windows": {each.name: _told(_window(each)) for each in pool.windows}} if pool.windows else {}),
    }


def _told(section: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in section.items() if key != "name" and value is not None}


def _docker_paths(config: StackConfig) -> dict[str, str]:
    """Where images are pulled from, by `<region>/<repository>`."""
    if config.registries is None:
        return {}
    found = {
        f"{region}/{repository.name}": names.docker_path(config.project, region, repository.name)
        for region in config.registries.regions
        for repository in config.registries.repositories
    }
    return dict(sorted(found.items()))


def _run_zones(config: StackConfig, siblings: Sequence[StackConfig]) -> list[str]:
    """Where VMs for runs may stand: in the zones of `runs`, and where workflows that the stack lets in may make them.

    These make them as any pool of the project, of other stacks too: those pools need have no VM of their own, nor
    their stacks a controller.
    """
    own = set(config.runs.zones) if config.runs else set[str]()
    if config.github is None or not config.github.run_makers:
        return sorted(own)
    stacks = [each for each in (config, *siblings) if each.project == config.project]
    declared = {zone for each in stacks if each.runs for zone in each.runs.zones}
    return sorted(own | declared | {zone for each in stacks for pool in each.pools for zone in pool.zones})


def _limit(limit: Reservation | Quota, config: StackConfig, siblings: Sequence[StackConfig]) -> dict[str, Any]:
    drawn = account(limit, siblings)
    others = drawn.used + account(limit, [config]).runs
    covers = limit.covers if isinstance(limit, Quota) else lambda kind: kind is CapacityKind.RESERVED
    return {
        "name": str(Bound(limit=limit, others=others)),
        "zone": limit.zone,
        "generation": limit.generation.name,
        "chips": limit.chips,
        "covers": [kind.value for kind in CapacityKind if covers(kind)],
        "reservation": limit.name if isinstance(limit, Reservation) else None,
        "held_elsewhere": drawn.held_elsewhere,
        "siblings": others - drawn.held_elsewhere,
        **(
            {"windows": [_window(each.window) | {"chips": each.chips} for each in drawn.windows]}
            if drawn.windows
            else {}
        ),
    }


def _window(window: Window) -> dict[str, Any]:
    """As the stack file has it, so that one reading serves both."""
    return window.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


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
