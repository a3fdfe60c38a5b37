"""What groups of workers ask of the queues: which chips Kueue admits at once, and whether they can ever be admitted.

Kueue 0.19 (https://kueue.sigs.k8s.io/docs/tasks/run/statefulset and .../leaderworkerset, 2026-11) admits a StatefulSet
as a whole and each slice of a LeaderWorkerSet by itself, and gives all pods of either one flavor. It has no workload
that spans two queues, so that the roles of a group are admitted one by one. Owns these numbers; `group_objects` spells
groups for Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from infra.model.catalogue import AcceleratorType
from infra.model.schema import WorkerGroup


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods that start together or not at all. queue: of whose chips."""

    role: str
    queue: str
    chips: int


def gangs(group: WorkerGroup) -> Iterator[Gang]:
    """All of a group that asks for chips."""
    yield from _of_role("train", group.train.accelerator, 1)
    yield from _of_role("rollout", group.rollout.accelerator, group.rollout.slices)


def _of_role(role: str, accelerator: AcceleratorType, slices: int) -> Iterator[Gang]:
    if accelerator.multi_host:
        yield from (Gang(role, accelerator.name, accelerator.chips) for _ in range(slices))
    else:
        yield Gang(role, accelerator.name, accelerator.chips * slices)


def chips_of(groups: Iterable[WorkerGroup]) -> Mapping[str, int]:
    """The chips that groups hold while they stand, by queue."""
    sums: dict[str, int] = {}
    for gang in (each for group in groups for each in gangs(group)):
        sums[gang.queue] = sums.get(gang.queue, 0) + gang.chips
    return sums


def can_be_admitted(flavors: Mapping[str, int], asked: Iterable[Gang]) -> bool:
    """Whether a queue's flavors, with their chips, hold all of these gangs at once, each within one flavor.

    The largest first, each where it leaves the least. That misses nothing for what a group has on one queue: gangs of
    one size, or two of any size.
    """
    left = list(flavors.values())
    for chips in sorted((gang.chips for gang in asked), reverse=True):
        fitting = [index for index, room in enumerate(left) if room >= chips]
        if not fitting:
            return False
        left[min(fitting, key=lambda index: left[index])] -= chips
    return True
