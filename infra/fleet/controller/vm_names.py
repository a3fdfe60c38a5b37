"""Whose VM a name is, as that of a runner: one that is declared, was declared, or could be in a pool and zone of ours.

Owns what a name alone says. Does not own how names are made (`infra.model.names`, `infra.model.runner_names`).
"""

from __future__ import annotations

from dataclasses import dataclass

from infra.fleet.controller.desired import Desired
from infra.fleet.controller.memory import Memory
from infra.fleet.controller.sorting import Fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class VmNames:
    """Names of VMs as one sweep knows them."""

    desired: Desired
    fleet: Fleet
    memory: Memory

    def is_ours(self, vm: str) -> bool:
        """Whether a VM of that name is, was or could be one of this stack."""
        if vm in self.memory.vms or any(node.name == vm for node in self.fleet.ours):
            return True
        return self._zone_in(vm) is not None

    def zones(self, vm: str) -> frozenset[str]:
        """Zones in which a VM of that name may be."""
        slot, known, named = self.desired.slot(vm), self.memory.vms.get(vm), self._zone_in(vm)
        zones = {zone for zone in (named, slot.home.zone if slot else None) if zone is not None}
        return frozenset({*zones, *(known.tried if known else ())}) or frozenset(self.memory.zones)

    def _zone_in(self, vm: str) -> str | None:
        """The zone that a VM's name says; None where it is not made by our rule of a pool and zone that were ours."""
        pool_and_zone, _, index = vm.rpartition("-")
        known = ((pool, zone) for pool in self.memory.pools for zone in self.memory.zones)
        return next((zone for pool, zone in known if index.isdecimal() and pool_and_zone == f"{pool}-{zone}"), None)
