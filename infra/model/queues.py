"""From `slices:` and `queues:` to what Kueue is told: flavors, quotas, queues. One derivation with node pools.

A ResourceFlavor is one shape obtained in one way, a ClusterQueue one shape, a cohort one generation. A quota is
slices x nodes x chips of the pools' maximum, with the CPUs and memory of the same nodes, because a job whose
pods ask for what no quota covers is never admitted. Owns these numbers and names; `queue_objects` spells them for
Kubernetes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from infra.model.capacity import FlexStart, OnDemand, Reserved, SliceCapacity, Spot
from infra.model.gke_shapes import NODE_POOL_LABEL
from infra.model.plain_machines import machine_size
from infra.model.schema import CpuPool, Queues, Slices, StackConfig
from infra.model.slices import entry_pools, node_pools

CPU: Final = "cpu"
"""The queue of work without chips."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorQuota:
    """The most of one flavor that its queue may use. node_labels: which nodes it is. memory_gb: GB of 10^9 bytes."""

    flavor: str
    node_labels: Mapping[str, str]
    chips: int
    cpus: int
    memory_gb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedQueue:
    """A ClusterQueue. cohort: the generation, empty where it lends and borrows nothing. teams: who may use it."""

    name: str
    cohort: str
    quotas: tuple[FlavorQuota, ...]
    teams: tuple[str, ...]


def shared_queues(config: StackConfig, queues: Queues) -> tuple[SharedQueue, ...]:
    """Every ClusterQueue of the stack: one an accelerator type, in the order of the file, and one of the CPU pools.

    Flavors of a queue stand in the file's order too, in which Kueue tries them.
    """
    found = []
    for accelerator in dict.fromkeys(entry.accelerator for entry in config.slices):
        quotas = _flavors(config, accelerator.name)
        teams = tuple(team.name for team in queues.teams if not team.accelerators or accelerator in team.accelerators)
        if quotas and teams:
            cohort = accelerator.generation.name
            found.append(SharedQueue(name=accelerator.name, cohort=cohort, quotas=quotas, teams=teams))
    pools = config.cluster.cpu_pools if config.cluster else ()
    if pools:
        everyone = tuple(team.name for team in queues.teams)
        found.append(SharedQueue(name=CPU, cohort="", quotas=tuple(map(_cpu_flavor, pools)), teams=everyone))
    return tuple(found)


def queues_of(queues: tuple[SharedQueue, ...], team: str) -> tuple[str, ...]:
    """The queues that a team has in its namespace."""
    return tuple(each.name for each in queues if team in each.teams)


def secrets_of(config: StackConfig, team: str) -> tuple[str, ...]:
    """The secrets that a team's jobs may mount."""
    return tuple(secret.name for secret in config.secrets if f"team/{team}" in secret.readers)


def most_nodes(config: StackConfig) -> int:
    """Nodes that the cluster may have at once, by which what watches them is sized."""
    cluster = config.cluster
    if cluster is None:
        return 0
    plain = sum(pool.maximum * len(pool.zones) for pool in cluster.cpu_pools) + cluster.system.nodes * len(
        cluster.zones
    )
    return plain + sum(pool.most.nodes for pool in node_pools(config))


def _flavors(config: StackConfig, accelerator: str) -> tuple[FlavorQuota, ...]:
    """One a kind of capacity; zones of one kind are added up."""
    entries = [entry for entry in config.slices if entry.accelerator.name == accelerator]
    found = []
    for name in dict.fromkeys(flavor_name(entry) for entry in entries):
        mine = [pool for entry in entries if flavor_name(entry) == name for pool in entry_pools(entry)]
        nodes = sum(pool.most.nodes for pool in mine)
        if nodes:
            machine = mine[0].shape.machine
            quota = FlavorQuota(
                flavor=name,
                node_labels={**mine[0].shape.node_labels, **capacity_labels(mine[0].capacity)},
                chips=sum(pool.most.chips for pool in mine),
                cpus=nodes * machine.vcpus,
                memory_gb=nodes * machine.memory_gb,
            )
            found.append(quota)
    return tuple(found)


def flavor_name(entry: Slices) -> str:
    """`v4-32-spot`; each reservation is a flavor of its own."""
    return f"{entry.name}-{entry.capacity.reservation}" if isinstance(entry.capacity, Reserved) else entry.name


def capacity_labels(capacity: SliceCapacity) -> Mapping[str, str]:
    """What GKE labels nodes of one kind of capacity with, so that a job never lands on another kind unasked.

    https://cloud.google.com/kubernetes-engine/docs/concepts/spot-vms and .../dws, read 2026-08.
    """
    match capacity:
        case Spot():
            return {"cloud.google.com/gke-spot": "true"}
        case FlexStart():
            return {"cloud.google.com/gke-flex-start": "true"}
        case Reserved(reservation=name):
            return {"cloud.google.com/reservation-name": name}
        case OnDemand():
            return {"cloud.google.com/gke-provisioning": "standard"}


def _cpu_flavor(pool: CpuPool) -> FlavorQuota:
    nodes, machine = pool.maximum * len(pool.zones), machine_size(pool.machine_type)
    return FlavorQuota(
        flavor=f"cpu-{pool.name}",
        node_labels={NODE_POOL_LABEL: pool.name},
        chips=0,
        cpus=nodes * machine.cpus // 1000,
        memory_gb=nodes * machine.memory // 1000,
    )
