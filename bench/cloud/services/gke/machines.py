"""Machine types as GKE knows them: which zone has one, what it offers, and the shapes of TPU slices made of it.

Owns the families of ordinary machine types and the zones that lack one. TPU machines, their zones and the limits of a
slice are the catalogue's. Sources, read 2026-11: cloud.google.com/compute/docs/general-purpose-machines,
cloud.google.com/compute/docs/regions-zones (us-central2-b, the zone of v4, has no E2), and of shapes
cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from bench.cloud.errors import invalid
from bench.cloud.services import places
from infra.model import catalogue
from infra.model.catalogue import Generation, Topology

# Memory in GB for one vCPU, by the second word of a name.
_MEMORY = {"standard": 4.0, "highmem": 8.0, "highcpu": 1.0}
_MEMORY_OF_N1 = {"standard": 3.75, "highmem": 6.5, "highcpu": 0.9}
_SHARED = {"e2-micro": (2, 1.0), "e2-small": (2, 2.0), "e2-medium": (2, 4.0)}
_FAMILIES = frozenset(
    ("c2", "c2d", "c3", "c3d", "c4", "c4a", "c4d", "e2", "m1", "m3", "n1", "n2", "n2d", "n4", "n4d", "t2a", "t2d")
)
_ORDINARY = re.compile(r"([a-z]\d[a-z]?)-(standard|highmem|highcpu)-(\d{1,3})")
_CUSTOM = re.compile(r"(?:([a-z]\d[a-z]?)-)?custom-(\d{1,3})-(\d{3,7})(?:-ext)?")
# The families that a zone has, where it does not have all.
_ONLY = {"us-central2-b": frozenset({"n1", "n2", "n2d", "n4", "t2d"})}
# Above 32 chips every side of a slice in three dimensions is a multiple of 4.
_LOOSE_CHIPS = 32
_STEP = 4


@dataclass(frozen=True, slots=True)
class NodeMachine:
    """What one node has. generation: of its TPU chips; None for a machine without."""

    name: str
    vcpus: int
    memory_gb: float
    generation: Generation | None = None
    chips: int = 0

    @property
    def boot_disk(self) -> str:
        """The type of boot disk where nobody says one."""
        own = self.generation.gke_boot_disk if self.generation else None
        return own or "pd-balanced"

    @property
    def needs_hyperdisk(self) -> bool:
        return self.boot_disk.startswith("hyperdisk")

    def hosts(self, topology: str) -> int:
        """How many of them make a slice of this topology. Raises 400 for one that this machine has none of."""
        generation = self.generation
        if generation is None:
            raise invalid(f"Machine type '{self.name}' has no TPU chips: it takes no TPU topology.")
        shape = _shape(topology)
        if shape is None or not _is_sold(generation, shape) or shape.chips % self.chips:
            raise invalid(f"Topology '{topology}' is not valid for machine type '{self.name}'.")
        return shape.chips // self.chips


def machine_in(zone: str, name: str) -> NodeMachine:
    """The machine type of that name in a zone. Raises 400."""
    found = _tpu_machines().get(name) or _ordinary(name)
    if found is not None and _has(zone, found):
        return found
    raise invalid(f"Machine type with name '{name}' does not exist in zone '{zone}'.")


@cache
def _tpu_machines() -> dict[str, NodeMachine]:
    return {
        each.name: NodeMachine(each.name, each.vcpus, float(each.memory_gb), generation, each.chips)
        for generation in catalogue.generations()
        for each in generation.machine_types
    }


def _ordinary(name: str) -> NodeMachine | None:
    if name in _SHARED:
        return NodeMachine(name, *_SHARED[name])
    if hit := _ORDINARY.fullmatch(name):
        family, kind, vcpus = hit[1], hit[2], int(hit[3])
        memory = (_MEMORY_OF_N1 if family == "n1" else _MEMORY)[kind]
        return NodeMachine(name, vcpus, vcpus * memory) if family in _FAMILIES else None
    if hit := _CUSTOM.fullmatch(name):
        return NodeMachine(name, int(hit[2]), int(hit[3]) / 1024) if (hit[1] or "n1") in _FAMILIES else None
    return None


def _has(zone: str, machine: NodeMachine) -> bool:
    if machine.generation is not None:
        return zone in machine.generation.zones
    family = "n1" if machine.name.startswith("custom-") else machine.name.partition("-")[0]
    return zone in places.ZONES and family in _ONLY.get(zone, _FAMILIES)


def _shape(text: str) -> Topology | None:
    try:
        return Topology.parse(text)
    except ValueError:
        return None


def _is_sold(generation: Generation, shape: Topology) -> bool:
    if any(each.generation is generation and each.topology == shape for each in catalogue.accelerator_types().values()):
        return True
    return (
        len(shape.sides) == generation.dimensions == 3
        and _LOOSE_CHIPS < shape.chips <= generation.max_slice_chips
        and all(side % _STEP == 0 for side in shape.sides)
        and list(shape.sides) == sorted(shape.sides)
    )
