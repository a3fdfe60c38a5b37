"""What GKE calls a slice: its machine type, nodes, node labels, and how its nodes are placed together.

Owns the way from an accelerator type to GKE's words. Key on (generation, topology, machine type): tools disagree on
what `v4-8` or `v5litepod-8` is. Does not own how many slices a stack has (slices) nor a pool's resource (components).
https://cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus, read 2026-08.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

from infra.model.catalogue import AcceleratorType, Generation, MachineType, Topology, accelerator_types

ACCELERATOR_LABEL: Final = "cloud.google.com/gke-tpu-accelerator"
TOPOLOGY_LABEL: Final = "cloud.google.com/gke-tpu-topology"
NODE_POOL_LABEL: Final = "cloud.google.com/gke-nodepool"
"""Labels that GKE gives to TPU nodes by itself; all nodes of a multi-host pool are one slice."""
TPU_RESOURCE: Final = "google.com/tpu"
"""The resource that pods ask chips by, and the key of the taint that GKE puts on every TPU node."""
TPU_TAINT_VALUE: Final = "present"
BATCH_TAINT: Final = "tidepool/batch"
"""The key of the taint of CPU pools for batch work: only pods that tolerate it come there, so that they scale down."""
MULTI_HOST_PODS: Final = 15
"""The most pods of a node of a multi-host slice."""


class Placement(StrEnum):
    """How GKE is told that the nodes of a pool are one slice."""

    NONE = "none"
    """A single-host pool: each node is a slice and GKE derives the topology from the machine type."""
    COMPACT = "compact"
    POLICY = "policy"
    """By a workload policy; these machine types refuse compact placement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GkeShape:
    """One accelerator type as GKE sees it: `v4-32` is 4 nodes of ct4p-hightpu-4t, shaped 2x2x4."""

    accelerator: AcceleratorType
    machine: MachineType

    @property
    def generation(self) -> Generation:
        return self.accelerator.generation

    @property
    def machine_type(self) -> str:
        return self.machine.name

    @property
    def topology(self) -> Topology:
        return self.accelerator.topology

    @property
    def gke_accelerator(self) -> str:
        """The value of ACCELERATOR_LABEL."""
        return self.generation.gke_accelerator

    @property
    def nodes(self) -> int:
        """Nodes of one slice, one VM each; as many pods."""
        return self.accelerator.hosts

    @property
    def chips_per_node(self) -> int:
        return self.machine.chips

    @property
    def chips(self) -> int:
        """Chips of one slice."""
        return self.accelerator.chips

    @property
    def multi_host(self) -> bool:
        return self.accelerator.multi_host

    @property
    def placement(self) -> Placement:
        return Placement(self.generation.gke_placement) if self.multi_host else Placement.NONE

    @property
    def boot_disk(self) -> str | None:
        """The disk type that its nodes must boot from; None where Google's default serves."""
        return self.generation.gke_boot_disk

    @property
    def node_labels(self) -> Mapping[str, str]:
        """What selects the nodes of this shape, for node selectors and resource flavors."""
        return {ACCELERATOR_LABEL: self.gke_accelerator, TOPOLOGY_LABEL: str(self.topology)}

    def __str__(self) -> str:
        return self.accelerator.name


def gke_shape(accelerator: AcceleratorType) -> GkeShape | None:
    """The GKE shape of an accelerator type; None where Google publishes no machine type for its hosts."""
    machine = accelerator.machine_type
    return GkeShape(accelerator=accelerator, machine=machine) if machine else None


@cache
def gke_shapes() -> Mapping[str, GkeShape]:
    """Every shape that GKE has, by accelerator type."""
    shapes = {name: gke_shape(accelerator) for name, accelerator in accelerator_types().items()}
    return {name: shape for name, shape in shapes.items() if shape is not None}
