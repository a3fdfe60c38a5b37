"""Whose each node is: a slot's, an orphan of ours, made for one run, another stack's, or a stranger's.

Owns the sorting, by labels and names, and whose VM a name alone says, as that of a runner. Does not own what follows
(`judge`) nor how names are made (`infra.model.names`, `infra.model.runner_names`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from infra.fleet.controller.desired import Desired, DesiredSlot
from infra.fleet.controller.memory import Memory
from infra.fleet.controller.observed import NodeSeen, Observed
from infra.fleet.controller.rules import DEAD, stuck_row
from infra.model import run_labels
from infra.model.fleet import owns

MANAGED: Final = "tidepool-managed"
STACK: Final = "tidepool-stack"
POOL: Final = "tidepool-pool"


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetNodes:
    """Every node that was seen, sorted. slots: the node of each declared slot, None where it has none.

    taken: nodes that are not ours and bear a slot's name where that slot may be, by slot.
    """

    slots: Mapping[str, NodeSeen | None]
    orphans: tuple[NodeSeen, ...]
    run_vms: tuple[NodeSeen, ...]
    siblings: tuple[NodeSeen, ...]
    strangers: tuple[NodeSeen, ...]
    taken: Mapping[str, NodeSeen]

    @property
    def ours(self) -> tuple[NodeSeen, ...]:
        return (*(node for node in self.slots.values() if node is not None), *self.orphans)


def sort(desired: Desired, observed: Observed) -> FleetNodes:
    """Sort what was seen. Of two nodes of one slot one that lives stays, then a READY one, then the one at home.

    Last comes one in a state that no call of ours ends: what can be replaced is replaced.
    """
    wanted = {slot.name: slot for slot in desired.slots}
    candidates: dict[str, list[NodeSeen]] = {name: [] for name in wanted}
    taken: dict[str, NodeSeen] = {}
    orphans, run_vms, siblings, strangers = [], [], [], []
    for node in sorted(observed.nodes, key=lambda node: node.key):
        slot = wanted.get(node.name)
        at_its_place = slot is not None and slot.place_in(node.zone) is not None
        if owns(desired.stack, node.labels):
            (candidates[node.name] if at_its_place else orphans).append(node)
            continue
        if at_its_place:
            taken[node.name] = node
        elif run_labels.read(node.labels) is not None and node.labels.get(MANAGED) != "true":
            run_vms.append(node)
        elif node.labels.get(MANAGED) == "true":
            siblings.append(node)
        else:
            strangers.append(node)
    slots: dict[str, NodeSeen | None] = {}
    for name, nodes in candidates.items():
        nodes.sort(key=lambda node: _standing(wanted[node.name], node))
        slots[name] = nodes[0] if nodes else None
        orphans += nodes[1:]
    return FleetNodes(
        slots=slots,
        orphans=tuple(orphans),
        run_vms=tuple(run_vms),
        siblings=tuple(siblings),
        strangers=tuple(strangers),
        taken=taken,
    )


def pool_of(node: NodeSeen) -> str:
    return node.labels.get(POOL, "")


def _standing(slot: DesiredSlot, node: NodeSeen) -> tuple[bool, bool, bool, int, str]:
    """Smaller is better. Which of two nodes of one name its runner and its report are of, nobody says."""
    zones = [place.zone for place in slot.places]
    stuck = stuck_row(node.state) is not None
    return stuck, node.state in DEAD, node.state != "READY", zones.index(node.zone), node.created


@dataclass(frozen=True, slots=True, kw_only=True)
class VmNames:
    """Names of VMs as one sweep knows them: what is declared, was declared, or could be in a pool and zone of ours."""

    desired: Desired
    fleet: FleetNodes
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
