"""What a machine without chips offers to pods: its size, less what GKE keeps on every node.

https://cloud.google.com/compute/docs/general-purpose-machines, read 2026-09, and
https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes, read 2026-11. GB are of 10^9 bytes; GKE
counts binary ones, so that a node has a little more than is said here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_N1, _N2, _N4 = (2, 4, 8, 16, 32, 64, 96), (2, 4, 8, 16, 32, 48, 64, 80, 96), (2, 4, 8, 16, 32, 48, 64, 80)
_E2: Final = (2, 4, 8, 16, 32)
_SIZES: Final[Mapping[str, Mapping[str, tuple[int, ...]]]] = {
    "e2": {"standard": _E2, "highmem": _E2[:-1], "highcpu": _E2},
    "n1": {"standard": (1, *_N1), "highmem": _N1, "highcpu": _N1},
    "n2": {"standard": (*_N2, 128), "highmem": (*_N2, 128), "highcpu": _N2},
    "n2d": {"standard": (*_N2, 128, 224), "highmem": _N2, "highcpu": (*_N2, 128, 224)},
    "n4": {"standard": _N4, "highmem": _N4, "highcpu": _N4},
    "t2d": {"standard": (1, 2, 4, 8, 16, 32, 48, 60)},
}
"""CPUs of the machines that a family has, by kind; families that are not here are not judged."""
_GB_PER_CPU: Final = {"standard": 4.0, "highmem": 8.0, "highcpu": 1.0}
_GB_PER_CPU_N1: Final = {"standard": 3.75, "highmem": 6.5, "highcpu": 0.9}
_KEPT_CPU: Final = ((1, 60), (1, 10), (2, 5), (None, 2.5))
"""Of so many cores, so many thousandths of each."""
_KEPT_MEMORY: Final = ((4, 0.25), (4, 0.20), (8, 0.10), (112, 0.06), (None, 0.02))
"""Of so many GB, such a share."""
_EVICTION_MB: Final = 100
_AGENTS_CPU, _AGENTS_MB = 500, 1000
"""An allowance for the cluster's own pods on every node: network, logs, metrics and image streaming."""


@dataclass(frozen=True, slots=True)
class MachineSize:
    """cpus: in thousandths of a core. memory: in MB."""

    cpus: int
    memory: int

    def holds(self, part: MachineSize) -> int:
        """How many such parts fit in it."""
        return min(self.cpus // part.cpus, self.memory // part.memory)

    def quantities(self) -> dict[str, str]:
        """As Kubernetes is told."""
        return {"cpu": f"{self.cpus}m", "memory": f"{self.memory}M"}

    def __str__(self) -> str:
        return f"{self.cpus / 1000:g} CPUs and {self.memory / 1000:g} GB"


def sizes(machine_type: str) -> tuple[int, ...] | None:
    """The CPUs that machines of a type's family and kind come with; None where that is not known here."""
    family, kind, _ = machine_type.split("-")
    return _SIZES[family].get(kind, ()) if family in _SIZES else None


def machine_size(machine_type: str) -> MachineSize:
    """The whole machine of a general-purpose type such as n2-standard-16."""
    family, kind, cpus = machine_type.split("-")
    per_cpu = (_GB_PER_CPU_N1 if family == "n1" else _GB_PER_CPU).get(kind, _GB_PER_CPU["standard"])
    return MachineSize(cpus=int(cpus) * 1000, memory=int(int(cpus) * per_cpu * 1000))


def room_for_pods(machine_type: str) -> MachineSize:
    """What pods of ours may ask of one node."""
    whole = machine_size(machine_type)
    cpus = _kept(whole.cpus / 1000, _KEPT_CPU) + _AGENTS_CPU
    memory = _kept(whole.memory / 1000, _KEPT_MEMORY) * 1000 + _EVICTION_MB + _AGENTS_MB
    return MachineSize(cpus=max(0, int(whole.cpus - cpus)), memory=max(0, int(whole.memory - memory)))


def _kept(amount: float, steps: tuple[tuple[int | None, float], ...]) -> float:
    kept = 0.0
    for size, share in steps:
        here = amount if size is None else min(amount, size)
        kept, amount = kept + here * share, amount - here
    return kept
