"""GKE node pools: what one is made of, how many nodes it has, and the machines behind it.

Owns create, delete and every change of a pool, with its operations, the chips it holds of a quota or a reservation, and
stockouts. Nothing scales a pool by itself: its limits of autoscaling are kept, and its size is set by whoever sets it.
What a pool cannot be is `gke_pool_rules`'; its nodes are `gke_nodes`'.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import ApiError, JsonObject, invalid
from bench.cloud.limits import LimitScope
from bench.cloud.services.compute.policies import RESERVATIONS, RESOURCE_POLICIES
from bench.cloud.services.gke import base as gke_base
from bench.cloud.services.gke import versions as gke_versions
from bench.cloud.services.gke.base import CLUSTER, HIDDEN, POOL, OfGke, Task, begin, changed, check_idle
from bench.cloud.services.gke.chips import check_chips, hold_chips, strike, told
from bench.cloud.services.gke.machines import machine_in
from bench.cloud.services.gke.nodes import groups, manager_link
from bench.cloud.services.gke.pool_rules import PoolShape, check_pool
from bench.cloud.services.policies import check_account
from bench.cloud.store import Resource
from infra.model.catalogue import region_of

_DEFAULT_MACHINE = "e2-medium"
_SCOPES = tuple(
    f"https://www.googleapis.com/auth/{name}"
    for name in (
        "devstorage.read_only", "logging.write", "monitoring", "service.management.readonly", "servicecontrol",
        "trace.append",
    )
)  # fmt: skip
_TPU_TAINT = {"key": "google.com/tpu", "value": "present", "effect": "NO_SCHEDULE"}
_CREATE, _CHANGE, _DELETE = 150.0, 60.0, 120.0
RUNNING = MappingProxyType({"status": "RUNNING"})


class _NodePools(OfGke):
    api = "container.projects.locations.clusters.nodePools"
    kind = POOL
    methods = "create get list delete"
    id_form = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
    id_rule = gke_base.NAME_RULE
    inside = MappingProxyType({"create": "nodePool"})

    def parent(self, call: ApiCall) -> str:
        return cluster_named(call).name

    def asked_id(self, call: ApiCall) -> str:
        return self.sent(call).get("name", "")

    def create(self, call: ApiCall) -> JsonObject:
        cluster = cluster_named(call)
        name = self.new_name(call)
        if self.find(call.cloud, name):
            raise self.taken(call.cloud, name)
        check_idle(call.cloud, cluster.name)
        return self.begin(call, cluster, name, self.sent(call))

    def begin(self, call: ApiCall, cluster: Resource, name: str, sent: JsonObject) -> JsonObject:
        """Make a pool and begin the operation that gives it its nodes. Raises 400, 403."""
        cloud, body = call.cloud, completed(cluster, self.kept(sent), name)
        nodes, error = checked_new(call, cluster, name, body)
        shape = PoolShape(body)
        error = error or strike(call, name, shape, nodes)
        made = cloud.store.insert(POOL, name, {**body, HIDDEN: {"size": 0}}, now=cloud.now)
        if error is None:
            hold_chips(cloud, made, shape, nodes)
        failed = {"status": "ERROR", **told(error)} if error else None
        after = {**RUNNING, HIDDEN: {"size": nodes}}
        task = Task(kind="CREATE_NODE_POOL", target=name, seconds=_CREATE, after=after, failed=failed, error=error)
        return begin(call, cluster.name, task)

    def list(self, call: ApiCall) -> JsonObject:
        shown = [gke_base.linked(call, self.shown(call.cloud, held)) for held in self.listed(call)]
        return {"nodePools": shown} if shown else {}

    def delete(self, call: ApiCall) -> JsonObject:
        held, cluster = self.found(call), cluster_named(call)
        check_idle(call.cloud, cluster.name)
        task = Task(kind="DELETE_NODE_POOL", target=held.name, seconds=_DELETE, after=None,
                    failed=RUNNING, error=gke_base.struck(call, gke_base.target_of(call, held.name)))  # fmt: skip
        changed(call.cloud, held, {"status": "STOPPING"})
        return begin(call, cluster.name, task)

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "instanceGroupUrls": [manager_link(each) for each in groups(held)]}

    def change(
        self, call: ApiCall, held: Resource, public: Mapping[str, Any], kind: str = "UPDATE_CLUSTER"
    ) -> JsonObject:
        """Begin the operation that changes a pool; the change is in force at once. Raises 400."""
        cluster = call.cloud.store.get(CLUSTER, held.name.partition("/nodePools/")[0])
        check_idle(call.cloud, cluster.name)
        error = gke_base.struck(call, gke_base.target_of(call, held.name))
        if error is None:
            held = changed(call.cloud, held, {**public, "status": "RECONCILING"})
        return begin(call, cluster.name, Task(kind=kind, target=held.name, seconds=_CHANGE, after=RUNNING,
                                              failed=RUNNING, error=error))  # fmt: skip


POOLS: Final = _NodePools()


def cluster_named(call: ApiCall) -> Resource:
    """The cluster that a call is about. Raises 404."""
    project, ids = call.cloud.project(call.ids["projectsId"]).id, call.ids
    name = f"projects/{project}/locations/{ids['locationsId']}/clusters/{ids['clustersId']}"
    held = call.cloud.store.find(CLUSTER, name)
    if held is None:
        raise ApiError(404, f"Not found: {name}.")
    return held


# What a pool is made of


def completed(cluster: Resource, sent: JsonObject, name: str) -> JsonObject:
    """A new pool with what the service fills in. Raises 400 for a machine type that its zones lack."""
    locations = sent.get("locations") or cluster.body["locations"]
    config = sent.get("config", {})
    machine = machine_in(locations[0], config.get("machineType", _DEFAULT_MACHINE))
    defaults: JsonObject = {
        "machineType": machine.name,
        "diskSizeGb": 100,
        "diskType": machine.boot_disk,
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


def checked_new(call: ApiCall, cluster: Resource, name: str, body: JsonObject) -> tuple[int, JsonObject | None]:
    """How many nodes a zone a new pool begins with, and the error that its operation ends with. Raises 400, 403."""
    cloud, shape, nodes = call.cloud, PoolShape(body), body["initialNodeCount"]
    check_pool(shape, nodes)
    gke_versions.check_node_version(body["version"], cluster.body["currentMasterVersion"])
    project = name.split("/")[1]
    check_account(cloud, project, body["config"]["serviceAccount"], "node_pool.config.service_account")
    check_management(cluster, body["management"])
    outside = [zone for zone in shape.zones if region_of(zone) != region_of(cluster.body["locations"][0])]
    if outside:
        raise invalid(f"Locations {', '.join(outside)} are not in the region of the cluster.")
    _check_references(cloud, project, shape)
    return nodes, check_chips(cloud, project, shape, nodes)


def check_management(cluster: Resource, management: JsonObject) -> None:
    """Raises 400: a release channel upgrades its nodes by itself."""
    channel = cluster.body["releaseChannel"]["channel"]
    if not management.get("autoUpgrade"):
        raise invalid(f"Auto_upgrade must be true when release_channel {channel} is set.")


def _check_references(cloud: Cloud, project: str, shape: PoolShape) -> None:
    """Raises 400 for a reservation or a workload policy that does not exist, or does not fit."""
    if shape.reservation is not None:
        owner, reserved = shape.reservation
        for zone in shape.zones if owner in ("", project) else ():
            place = f"projects/{project}/zones/{zone}"
            generation = shape.machine.generation.name if shape.machine.generation else ""
            declared = cloud.limits.declared(LimitScope(project, zone, generation, "reserved")) if generation else None
            if not (declared and declared.name == reserved) and not RESERVATIONS.find(
                cloud, f"{place}/reservations/{reserved}"
            ):
                raise invalid(f"Reservation '{reserved}' does not exist in zone '{zone}' of project '{project}'.")
    if policy := shape.body.get("placementPolicy", {}).get("policyName"):
        place = f"projects/{project}/regions/{region_of(shape.zones[0])}/resourcePolicies"
        held = RESOURCE_POLICIES.find(cloud, f"{place}/{policy.rpartition('/')[2]}")
        if held is None:
            raise invalid(f"The resource policy '{place}/{policy.rpartition('/')[2]}' was not found.")
        topology = held.body.get("workloadPolicy", {}).get("acceleratorTopology")
        if topology and shape.topology and topology != shape.topology:
            raise invalid(f"The workload policy '{policy}' is of topology {topology}, not of {shape.topology}.")
