"""The nodes of GKE clusters: the Node objects of a pool, and the groups of machines that Compute Engine lists.

Google's provider counts a pool's nodes from these groups. Sources, read 2026-11:
cloud.google.com/kubernetes-engine/docs/concepts/tpus and .../docs/how-to/tpus (labels and taint of TPU nodes).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject
from bench.cloud.services.compute.base import linked, listed, scope
from bench.cloud.services.gke.base import POOL, hidden
from bench.cloud.services.gke.shape import PoolShape
from bench.cloud.store import Resource
from infra.model.catalogue import region_of

_LONGEST_STEM = 50
_GIB = 1024**3
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule", "NO_EXECUTE": "NoExecute"}
_ALONE = {1: "1x1x1", 4: "2x2x1", 8: "2x4x1"}
"""The topology of one machine's chips, where a pool names none."""


@dataclass(frozen=True, slots=True)
class MachineGroup:
    """The machines of a pool in one zone. size: how many there are."""

    pool: Resource = field(repr=False)
    project: str
    zone: str
    name: str
    size: int

    @property
    def link(self) -> str:
        """Relative to Compute Engine's API."""
        return f"projects/{self.project}/zones/{self.zone}/instanceGroupManagers/{self.name}"


def groups(pool: Resource) -> list[MachineGroup]:
    """One a zone, with as many machines as the pool has nodes there."""
    _, project, _, _, _, cluster, _, name = pool.name.split("/")
    size = 0 if pool.body["status"] == "STOPPING" else hidden(pool)["size"]
    stem = f"gke-{cluster}-{name}"[:_LONGEST_STEM].rstrip("-")
    return [
        MachineGroup(pool, project, zone, f"{stem}-{_digest(pool, zone)[:8]}-grp", size)
        for zone in pool.body["locations"]
    ]


def nodes_of(cloud: Cloud, cluster: str) -> list[JsonObject]:
    """A Node object for every node of a cluster, by its full name (`projects/P/locations/L/clusters/C`)."""
    pools = list(cloud.store.each(POOL, f"{cluster}/nodePools/"))
    return [_node(group, at) for pool in pools for group in groups(pool) for at in range(group.size)]


def _node(group: MachineGroup, index: int) -> JsonObject:
    pool, shape = group.pool, PoolShape(group.pool.body)
    machine, config = shape.machine, shape.config
    # GKE names nodes of TPU pools by the group alone.
    stem = f"gke-tpu-{group.name.split('-')[-2]}" if machine.chips else group.name.removesuffix("-grp")
    name = f"{stem}-{_digest(pool, f'{group.zone} {index}')[:4]}"
    capacity = {
        "cpu": str(machine.vcpus),
        "memory": f"{int(machine.memory_gb * _GIB) // 1024}Ki",
        "pods": str(pool.body["maxPodsConstraint"]["maxPodsPerNode"]),
        "ephemeral-storage": f"{config['diskSizeGb']}Gi",
        **({"google.com/tpu": str(machine.chips)} if machine.chips else {}),
    }
    taints = [{**each, "effect": _EFFECTS[each["effect"]]} for each in config.get("taints", ())]
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastTransitionTime": f"{timestamp(pool.created)[:19]}Z",
    }
    labels = {**_labels(pool, shape, group.zone), "kubernetes.io/hostname": name, **config.get("labels", {})}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "providerID": f"gce://{group.project}/{group.zone}/{name}",
            **({"taints": taints} if taints else {}),
        },
        "status": {"capacity": capacity, "allocatable": capacity, "conditions": [ready]},
    }


def _labels(pool: Resource, shape: PoolShape, zone: str) -> dict[str, str]:
    config, generation, reserved = shape.config, shape.machine.generation, shape.reservation
    labels = {
        "cloud.google.com/gke-nodepool": pool.name.rpartition("/")[2],
        "cloud.google.com/gke-provisioning": "spot" if config.get("spot") else "standard",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": config["machineType"],
        "topology.kubernetes.io/region": region_of(zone),
        "topology.kubernetes.io/zone": zone,
    }
    if generation is not None:
        alone = "x".join(_ALONE[shape.machine.chips].split("x")[: generation.dimensions])
        labels["cloud.google.com/gke-tpu-accelerator"] = generation.gke_accelerator
        labels["cloud.google.com/gke-tpu-topology"] = shape.topology or alone
        labels["cloud.google.com/gke-accelerator-count"] = str(shape.machine.chips)
    if reserved is not None:
        labels["cloud.google.com/reservation-name"] = reserved[1]
    flags = {"gke-spot": config.get("spot"), "gke-flex-start": config.get("flexStart")}
    return labels | {f"cloud.google.com/{name}": "true" for name, is_set in flags.items() if is_set}


def _digest(pool: Resource, what: str) -> str:
    return hashlib.sha256(f"{pool.uid} {what}".encode()).hexdigest()


# The groups, as Compute Engine shows them


@handles("compute.instanceGroupManagers.list")
def list_groups(call: ApiCall) -> JsonObject:
    place = scope(call)
    shown = [linked(call, _shown(group)) for group in _groups_in(call.cloud, place)]
    return listed(call, "compute#instanceGroupManagerList", f"{place}/instanceGroupManagers/", shown)


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
        "name": group.name,
        "zone": place,
        "instanceGroup": f"{place}/instanceGroups/{group.name}",
        "selfLink": group.link,
        "targetSize": group.size,
    }
