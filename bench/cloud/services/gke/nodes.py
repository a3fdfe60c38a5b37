"""The nodes of GKE clusters: what a node pool amounts to, machine by machine.

`nodes_of` is the one place that says which nodes a cluster has, with the labels, taints and resources that GKE gives
them; whoever shows Node objects asks it. Also serves the groups of machines in Compute Engine, from which Google's
provider counts a pool's nodes. Sources, read 2026-11: cloud.google.com/kubernetes-engine/docs/concepts/tpus and
.../docs/how-to/tpus (labels, taint and resource of TPU nodes).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import ApiError, JsonObject
from bench.cloud.services.compute.base import OfCompute, linked, listed, scope
from bench.cloud.services.gke.base import POOL, hidden
from bench.cloud.services.gke.pool_rules import PoolShape
from bench.cloud.store import Resource
from infra.model.catalogue import region_of

_LONGEST_STEM = 50
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule", "NO_EXECUTE": "NoExecute"}
_GIB = 1024**3


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """One node, in the words of Kubernetes.

    pool: its node pool. created: cloud time. capacity: of Kubernetes' resources, as quantities.
    taints: (key, value, effect). provider_id: `gce://PROJECT/ZONE/NAME`.
    """

    name: str
    pool: str
    created: float
    labels: dict[str, str] = field(repr=False)
    taints: tuple[tuple[str, str, str], ...]
    capacity: dict[str, str]
    provider_id: str


@dataclass(frozen=True, slots=True)
class MachineGroup:
    """The machines of a pool in one zone. size: how many there are."""

    pool: Resource = field(repr=False)
    project: str
    zone: str
    name: str
    size: int


def nodes_of(cloud: Cloud, cluster: str) -> list[ClusterNode]:
    """Every node of a cluster, by its full name (`projects/P/locations/L/clusters/C`), sorted by name."""
    pools = list(cloud.store.each(POOL, f"{cluster}/nodePools/"))
    return sorted((node for pool in pools for node in _nodes(pool)), key=lambda node: node.name)


def groups(pool: Resource) -> list[MachineGroup]:
    """One a zone, with as many machines as the pool has nodes there."""
    _, project, _, _, _, cluster, _, name = pool.name.split("/")
    size = 0 if pool.body["status"] == "STOPPING" else hidden(pool)["size"]
    stem = f"gke-{cluster}-{name}"[:_LONGEST_STEM].rstrip("-")
    return [
        MachineGroup(pool, project, zone, f"{stem}-{_digest(pool, zone)[:8]}-grp", size)
        for zone in pool.body["locations"]
    ]


def manager_link(group: MachineGroup) -> str:
    """Its link, relative to Compute Engine's API."""
    return f"projects/{group.project}/zones/{group.zone}/instanceGroupManagers/{group.name}"


def _nodes(pool: Resource) -> Iterator[ClusterNode]:
    for group in groups(pool):
        for index in range(group.size):
            yield _node(pool, group, index)


def _node(pool: Resource, group: MachineGroup, index: int) -> ClusterNode:
    shape = PoolShape(pool.body)
    # GKE names nodes of TPU pools by the group alone.
    stem = f"gke-tpu-{group.name.split('-')[-2]}" if shape.machine.chips else group.name.removesuffix("-grp")
    name = f"{stem}-{_digest(pool, f'{group.zone} {index}')[:4]}"
    machine, config = shape.machine, shape.config
    capacity = {
        "cpu": str(machine.vcpus),
        "memory": f"{int(machine.memory_gb * _GIB) // 1024}Ki",
        "pods": str(pool.body["maxPodsConstraint"]["maxPodsPerNode"]),
        "ephemeral-storage": f"{config['diskSizeGb']}Gi",
        **({"google.com/tpu": str(machine.chips)} if machine.chips else {}),
    }
    taints = tuple((each["key"], each.get("value", ""), _EFFECTS[each["effect"]]) for each in config.get("taints", ()))
    labels = {**_labels(pool, shape, group.zone), "kubernetes.io/hostname": name, **config.get("labels", {})}
    where = f"gce://{group.project}/{group.zone}/{name}"
    return ClusterNode(name, pool.name.rpartition("/")[2], pool.created, labels, taints, capacity, where)


def _labels(pool: Resource, shape: PoolShape, zone: str) -> dict[str, str]:
    config, generation, reserved = shape.config, shape.machine.generation, shape.reservation
    labels = {
        "cloud.google.com/gke-nodepool": pool.name.rpartition("/")[2],
        "cloud.google.com/gke-os-distribution": "cos",
        "cloud.google.com/gke-provisioning": "spot" if config.get("spot") else "standard",
        "cloud.google.com/machine-family": config["machineType"].partition("-")[0],
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": config["machineType"],
        "topology.kubernetes.io/region": region_of(zone),
        "topology.kubernetes.io/zone": zone,
    }
    if generation is not None:
        labels["cloud.google.com/gke-tpu-accelerator"] = generation.gke_accelerator
        labels["cloud.google.com/gke-tpu-topology"] = shape.topology or _alone(shape)
        labels["cloud.google.com/gke-accelerator-count"] = str(shape.machine.chips)
    if reserved is not None:
        labels["cloud.google.com/reservation-name"] = reserved[1]
        labels |= {"cloud.google.com/reservation-project": reserved[0]} if reserved[0] else {}
    flags = {
        "gke-spot": config.get("spot"),
        "gke-preemptible": config.get("preemptible"),
        "gke-flex-start": config.get("flexStart"),
        "gke-queued": shape.body.get("queuedProvisioning", {}).get("enabled"),
    }
    labels |= {f"cloud.google.com/{name}": "true" for name, is_set in flags.items() if is_set}
    if policy := shape.body.get("placementPolicy", {}).get("policyName"):
        labels["cloud.google.com/placement-policy-name"] = policy.rpartition("/")[2]
    return labels


def _alone(shape: PoolShape) -> str:
    """The topology of one machine's chips, where a pool names none."""
    sides = {1: (1, 1, 1), 4: (2, 2, 1), 8: (2, 4, 1)}[shape.machine.chips]
    dimensions = shape.machine.generation.dimensions if shape.machine.generation else 0
    return "x".join(map(str, sides[:dimensions]))


def _digest(pool: Resource, what: str) -> str:
    return hashlib.sha256(f"{pool.uid} {what}".encode()).hexdigest()


# The groups, as Compute Engine shows them


@handles("compute.instanceGroupManagers.list")
def list_groups(call: ApiCall) -> JsonObject:
    place = scope(call)
    shown = [linked(call, _shown(group)) for group in _groups_in(call.cloud, place)]
    return listed(call, "compute#instanceGroupManagerList", f"{place}/instanceGroupManagers/", shown)


@handles("compute.instanceGroupManagers.get")
def get_group(call: ApiCall) -> JsonObject:
    place, name = scope(call), call.ids["instanceGroupManager"]
    for group in _groups_in(call.cloud, place):
        if group.name == name:
            return linked(call, _shown(group))
    raise ApiError(404, OfCompute.absent.format(name=f"{place}/instanceGroupManagers/{name}"))


def _groups_in(cloud: Cloud, place: str) -> list[MachineGroup]:
    """Those of pools that are being made come with their machines.

    Google's provider keeps a zone's list for five minutes and counts nodes from it. A group that it saw empty while it
    read another pool would leave the wrong count in the state (`igmCache` of resource_container_node_pool.go, read
    2026-11).
    """
    _, project, _, zone = place.split("/")
    pools = list(cloud.store.each(POOL, f"projects/{project}/locations/"))
    made = (pool for pool in pools if pool.body["status"] != "PROVISIONING")
    found = [group for pool in made for group in groups(pool) if group.zone == zone]
    return sorted(found, key=lambda group: group.name)


def _shown(group: MachineGroup) -> JsonObject:
    place = f"projects/{group.project}/zones/{group.zone}"
    return {
        "kind": "compute#instanceGroupManager",
        "id": str(int(_digest(group.pool, group.zone)[:15], 16)),
        "creationTimestamp": timestamp(group.pool.created),
        "name": group.name,
        "zone": place,
        "baseInstanceName": group.name.removesuffix("-grp"),
        "instanceGroup": f"{place}/instanceGroups/{group.name}",
        "selfLink": manager_link(group),
        "targetSize": group.size,
        "status": {"isStable": group.pool.body["status"] == "RUNNING"},
    }
