"""GKE node pools: create, change and delete, with the chips that a pool holds of a quota or a reservation.

Nothing scales a pool by itself: the limits of its autoscaling are stored, and its size is set by whoever sets it.
Source: cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools, read 2026-11.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, already_exists, invalid
from bench.cloud.limits import LimitScope
from bench.cloud.services import bodies
from bench.cloud.services.compute.networks import RESOURCE_POLICIES
from bench.cloud.services.gke.base import (
    CLUSTER,
    HIDDEN,
    POOL,
    RUNNING,
    OfGke,
    begin,
    changed,
    check_idle,
    cluster_of,
    hidden,
    linked,
)
from bench.cloud.services.gke.nodes import groups
from bench.cloud.services.gke.shape import PoolShape, check_size, hold_chips, lack, machine_in
from bench.cloud.services.policies import check_account
from bench.cloud.store import Resource
from infra.model.catalogue import region_of

_DEFAULT_MACHINE = "e2-standard-2"
_SCOPES = tuple(
    f"https://www.googleapis.com/auth/{name}"
    for name in (
        "devstorage.read_only", "logging.write", "monitoring", "service.management.readonly", "servicecontrol",
        "trace.append",
    )
)  # fmt: skip
_TPU_TAINT = {"key": "google.com/tpu", "value": "present", "effect": "NO_SCHEDULE"}
_WRAPPED = MappingProxyType({"labels": "labels", "taints": "taints", "tags": "tags", "resourceLabels": "labels"})
_OF_POOL = frozenset({"locations", "upgradeSettings"})


class _NodePools(OfGke):
    api = "container.projects.locations.clusters.nodePools"
    kind = POOL
    inside = MappingProxyType({"create": "nodePool"})

    def parent(self, call: ApiCall) -> str:
        """Raises 404."""
        project, ids = call.cloud.project(call.ids["projectsId"]).id, call.ids
        name = f"projects/{project}/locations/{ids['locationsId']}/clusters/{ids['clustersId']}"
        return call.cloud.store.get(CLUSTER, name).name

    def create(self, call: ApiCall) -> JsonObject:
        cloud, name = call.cloud, self.new_name(call)
        if self.find(cloud, name):
            raise already_exists(name)
        cluster = cloud.store.get(CLUSTER, self.parent(call))
        check_idle(cloud, cluster.name)
        made, error = make_pool(call, cluster, name, self.sent(call))
        failed = {"status": "ERROR", "statusMessage": error["message"]} if error else None
        after = {**RUNNING, HIDDEN: {"size": made.body["initialNodeCount"]}}
        return begin(call, "CREATE_NODE_POOL", name, 150.0, after, failed=failed, error=error)

    def list(self, call: ApiCall) -> JsonObject:
        return {"nodePools": [linked(call, self.shown(call.cloud, held)) for held in self.listed(call)]}

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "instanceGroupUrls": [each.link for each in groups(held)]}


POOLS: Final = _NodePools()


# Creation


def make_pool(call: ApiCall, cluster: Resource, name: str, sent: JsonObject) -> tuple[Resource, JsonObject | None]:
    """Store a new pool, without nodes yet, and hold its chips; or the error that its operation ends with.

    Raises 400 and 403.
    """
    cloud, body = call.cloud, _completed(cluster, POOLS.kept(sent), name)
    shape, nodes, project = PoolShape(body), body["initialNodeCount"], name.split("/")[1]
    check_size(shape, nodes)
    check_account(cloud, project, body["config"]["serviceAccount"])
    _check_references(cloud, project, shape)
    error = lack(call, name, shape, nodes)
    made = cloud.store.insert(POOL, name, {**body, HIDDEN: {"size": 0}}, now=cloud.now)
    return (made if error else hold_chips(cloud, made, shape, nodes)), error


def _completed(cluster: Resource, sent: JsonObject, name: str) -> JsonObject:
    """A new pool with what the service fills in. Raises 400 for a machine type that its zones lack."""
    locations, config = sent.get("locations") or cluster.body["locations"], sent.get("config", {})
    machine = machine_in(locations[0], config.get("machineType", _DEFAULT_MACHINE))
    boot_disk = machine.generation.gke_boot_disk if machine.generation else None
    defaults: JsonObject = {
        "machineType": machine.name,
        "diskSizeGb": 100,
        "diskType": boot_disk or "pd-balanced",
        "imageType": "COS_CONTAINERD",
        "oauthScopes": list(_SCOPES),
        "serviceAccount": "default",
        "metadata": {"disable-legacy-endpoints": "true"},
        "shieldedInstanceConfig": {"enableIntegrityMonitoring": True},
        "windowsNodeConfig": {},
        "effectiveCgroupMode": "EFFECTIVE_CGROUP_MODE_V2",
    }
    taints = config.get("taints", [])
    if machine.chips and _TPU_TAINT["key"] not in {each.get("key") for each in taints}:
        taints = [*taints, _TPU_TAINT]
    placement = dict(sent.get("placementPolicy", {}))
    if "policyName" in placement:
        placement.pop("type", None)
    network = cluster.body["ipAllocationPolicy"]
    return {
        "initialNodeCount": 0,
        "maxPodsConstraint": cluster.body["defaultMaxPodsConstraint"],
        "podIpv4CidrSize": 24,
        **sent,
        "name": name.rpartition("/")[2],
        "config": {**defaults, **config, **({"taints": taints} if taints else {})},
        "locations": locations,
        "management": sent.get("management", {"autoRepair": True, "autoUpgrade": True}),
        "upgradeSettings": {"strategy": "SURGE", **sent.get("upgradeSettings", {"maxSurge": 1})},
        "networkConfig": {
            "podRange": network["clusterSecondaryRangeName"],
            "podIpv4CidrBlock": network["clusterIpv4CidrBlock"],
            "enablePrivateNodes": cluster.body["networkConfig"].get("defaultEnablePrivateNodes", False),
            **sent.get("networkConfig", {}),
        },
        "version": sent.get("version") or cluster.body["currentNodeVersion"],
        "status": "PROVISIONING",
        **({"placementPolicy": placement} if placement else {}),
    }


def _check_references(cloud: Cloud, project: str, shape: PoolShape) -> None:
    """Raises 400 for a reservation or a workload policy that does not exist."""
    owner, reserved = shape.reservation or ("elsewhere", "")
    for scope in shape.scopes(project) if owner in ("", project) else ():
        declared = cloud.limits.declared(LimitScope(project, scope.zone, scope.generation, "reserved"))
        if declared is None or declared.name != reserved:
            raise invalid(f"Reservation '{reserved}' does not exist in zone '{scope.zone}' of project '{project}'.")
    if policy := shape.body.get("placementPolicy", {}).get("policyName", "").rpartition("/")[2]:
        name = f"projects/{project}/regions/{region_of(shape.zones[0])}/resourcePolicies/{policy}"
        if RESOURCE_POLICIES.find(cloud, name) is None:
            raise invalid(f"The resource policy '{name}' was not found.")


# Changes


@handles("container.projects.locations.clusters.nodePools.setSize")
def set_size(call: ApiCall) -> JsonObject:
    cloud, held, nodes = call.cloud, POOLS.found(call), call.body.get("nodeCount", 0)
    shape = PoolShape(held.body)
    check_size(shape, nodes)
    check_idle(cloud, cluster_of(held.name))
    error = lack(call, held.name, shape, max(0, nodes - hidden(held)["size"]))
    failed = {"status": "RUNNING_WITH_ERROR", "statusMessage": error["message"]} if error else {}
    if error is None:
        held = hold_chips(cloud, held, shape, nodes)
    changed(cloud, held, {"status": "RECONCILING"})
    after = {**RUNNING, "statusMessage": "", HIDDEN: {"size": nodes}}
    return begin(call, "SET_NODE_POOL_SIZE", held.name, 90.0, after, failed=failed, error=error)


@handles("container.projects.locations.clusters.nodePools.setManagement")
def set_management(call: ApiCall) -> JsonObject:
    wanted = bodies.without_unset(call.body.get("management", {}))
    return POOLS.change(call, POOLS.found(call), {"management": wanted}, "SET_NODE_POOL_MANAGEMENT")


@handles("container.projects.locations.clusters.nodePools.update")
def update(call: ApiCall) -> JsonObject:
    """Change what was sent: parts of the node configuration, but for a few of the pool itself."""
    held, public = POOLS.found(call), {}
    config: JsonObject = dict(held.body["config"])
    for field, value in call.body.items():
        plain = bodies.without_unset(value) if isinstance(value, dict) else value
        if field == "nodeVersion":
            public["version"] = plain
        elif field == "nodeNetworkConfig":
            public["networkConfig"] = {**held.body["networkConfig"], **plain}
        elif field in _OF_POOL:
            public[field] = plain
        elif field != "name":
            config[field] = plain.get(_WRAPPED[field]) if field in _WRAPPED else plain
    config = {
        key: int(value) if key == "diskSizeGb" else value
        for key, value in config.items()
        if value not in (None, "", [], False)
    }
    check_size(PoolShape({**held.body, **public, "config": config}), hidden(held)["size"])
    return POOLS.change(call, held, {**public, "config": config}, "UPDATE_CLUSTER")
