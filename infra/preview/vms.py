"""What becomes of every VM: made, deleted, replaced and by which property, or changed in place.

Owns the comparison of two fleets VM by VM. Does not own a VM's values (node): whatever they are, a difference in one
of them is found here, and nothing else is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from infra.model.fleet import Slot, pool_slots
from infra.model.node import CHANGED_IN_PLACE, NodeSpec, node_spec
from infra.model.schema import Pool, StackConfig

# The words of a stack file for what forces a replacement.
_SAID = {
    "accelerator_type": "accelerator",
    "runtime_version": "runtime",
    "network": "network",
    "subnetwork": "network",
    "enable_external_ips": "network (external IP)",
    "preemptible": "capacity",
    "reserved": "capacity",
    "spot": "capacity",
    "service_account_email": "service account",
    "service_account_scopes": "service account",
    "enable_secure_boot": "secure boot",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceChange:
    """The VMs of one pool in one zone, by name. forced_by and in_place name properties."""

    pool: str
    zone: str
    before: Pool | None
    after: Pool | None
    deleted: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    forced_by: tuple[str, ...] = ()
    in_place: tuple[str, ...] = ()

    @property
    def replaced(self) -> tuple[str, ...]:
        return self.kept if self.forced_by else ()

    @property
    def counts(self) -> tuple[int, int]:
        return len(self.deleted) + len(self.kept), len(self.created) + len(self.kept)


def changes(base: StackConfig, head: StackConfig) -> tuple[PlaceChange, ...]:
    """Every pool and zone of either side, unchanged ones too, sorted."""
    return tuple(_changes(base, head))


def _changes(base: StackConfig, head: StackConfig) -> Iterator[PlaceChange]:
    before = {pool.name: pool for pool in base.pools}
    after = {pool.name: pool for pool in head.pools}
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        standing, wanted = _by_zone(base, old), _by_zone(head, new)
        for zone in sorted(standing.keys() | wanted.keys()):
            stands, comes = standing.get(zone, []), wanted.get(zone, [])
            kept = min(len(stands), len(comes))
            differs = _differences(base, stands[0], head, comes[0]) if kept else frozenset[str]()
            yield PlaceChange(
                pool=name,
                zone=zone,
                before=old if zone in standing else None,
                after=new if zone in wanted else None,
                deleted=tuple(slot.name for slot in stands[kept:]),
                created=tuple(slot.name for slot in comes[kept:]),
                kept=tuple(slot.name for slot in comes[:kept]),
                forced_by=tuple(sorted({_SAID.get(each, each) for each in differs - CHANGED_IN_PLACE})),
                in_place=tuple(sorted(differs & CHANGED_IN_PLACE)),
            )


def _by_zone(config: StackConfig, pool: Pool | None) -> dict[str, list[Slot]]:
    """The pool's slots in each of its zones, those without a slot too."""
    zones: dict[str, list[Slot]] = {zone: [] for zone in pool.zones} if pool else {}
    for slot in pool_slots(config, pool) if pool else ():
        zones[slot.zone].append(slot)
    return zones


def _differences(base: StackConfig, old: Slot, head: StackConfig, new: Slot) -> frozenset[str]:
    """The fields in which two VMs of one name differ; all VMs of a pool and zone differ alike."""
    was, becomes = node_spec(base, old), node_spec(head, new)
    return frozenset(each.name for each in fields(NodeSpec) if getattr(was, each.name) != getattr(becomes, each.name))
