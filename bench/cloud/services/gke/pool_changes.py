"""Changes of GKE node pools: size, limits of autoscaling, management, and what its nodes are made of.

Nothing scales a pool by itself: its limits are kept, and its size is set by whoever sets it.
Source: cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from bench.cloud.cloud import ApiCall, handles
from bench.cloud.errors import JsonObject, failed_precondition, invalid
from bench.cloud.services import bodies
from bench.cloud.services.gke import versions as gke_versions
from bench.cloud.services.gke.base import HIDDEN, Task, begin, changed, check_idle, hidden
from bench.cloud.services.gke.chips import check_chips, hold_chips, strike, told
from bench.cloud.services.gke.pool_rules import PoolShape, check_autoscaling, check_pool, check_size
from bench.cloud.services.gke.pools import POOLS, RUNNING, check_management, cluster_named
from bench.cloud.store import Resource

_RESIZE = 90.0


@handles("container.projects.locations.clusters.nodePools.setSize")
def set_size(call: ApiCall) -> JsonObject:
    cloud, held, nodes = call.cloud, POOLS.found(call), call.body.get("nodeCount", 0)
    shape, before = PoolShape(held.body), hidden(held)["size"]
    check_size(shape, nodes)
    cluster = cluster_named(call)
    check_idle(cloud, cluster.name)
    more = max(0, nodes - before)
    error = check_chips(cloud, held.name.split("/")[1], shape, more) if more else None
    error = error or (strike(call, held.name, shape, more) if more else None)
    failed = {"status": "RUNNING_WITH_ERROR", **told(error)} if error else {}
    if error is None:
        held = hold_chips(cloud, held, shape, nodes)
    changed(cloud, held, {"status": "RECONCILING"})
    after = {**RUNNING, "statusMessage": "", "conditions": [], HIDDEN: {"size": nodes}}
    task = Task(kind="SET_NODE_POOL_SIZE", target=held.name, seconds=_RESIZE, after=after, failed=failed, error=error)
    return begin(call, cluster.name, task)


@handles("container.projects.locations.clusters.nodePools.setAutoscaling")
def set_autoscaling(call: ApiCall) -> JsonObject:
    return autoscaled(call, POOLS.found(call), call.body.get("autoscaling", {}))


def autoscaled(call: ApiCall, held: Resource, limits: JsonObject) -> JsonObject:
    """Begin the operation that sets the limits of autoscaling. Raises 400."""
    wanted = bodies.without_unset(limits)
    check_autoscaling(PoolShape({**held.body, "autoscaling": wanted}))
    return POOLS.change(call, held, {"autoscaling": wanted})


def upgraded(call: ApiCall, held: Resource, version: str) -> JsonObject:
    """Begin the operation that gives a pool's nodes another version. Raises 400."""
    master = cluster_named(call).body["currentMasterVersion"]
    version = gke_versions.resolved(version, master)
    gke_versions.check_node_version(version, master)
    return POOLS.change(call, held, {"version": version}, "UPGRADE_NODES")


@handles("container.projects.locations.clusters.nodePools.setManagement")
def set_management(call: ApiCall) -> JsonObject:
    held, wanted = POOLS.found(call), bodies.without_unset(call.body.get("management", {}))
    check_management(cluster_named(call), wanted)
    if held.body["config"].get("flexStart") and wanted.get("autoRepair"):
        raise invalid("Node auto-repair must be disabled for flex-start node pools.")
    return POOLS.change(call, held, {"management": wanted}, "SET_NODE_POOL_MANAGEMENT")


_WRAPPED = MappingProxyType({"labels": "labels", "taints": "taints", "tags": "tags", "resourceLabels": "labels"})
_OF_POOL = MappingProxyType(
    {"locations": "locations", "upgradeSettings": "upgradeSettings", "nodeDrainConfig": "nodeDrainConfig",
     "queuedProvisioning": "queuedProvisioning", "maintenancePolicy": "maintenancePolicy"}
)  # fmt: skip
_OF_CONFIG = frozenset(
    {
        "accelerators", "bootDisk", "confidentialNodes", "containerdConfig", "diskSizeGb", "diskType", "fastSocket",
        "flexStart", "gcfsConfig", "gvnic", "imageType", "kubeletConfig", "linuxNodeConfig", "loggingConfig",
        "machineType", "maxRunDuration", "resourceManagerTags", "storagePools", "taintConfig", "windowsNodeConfig",
        "workloadMetadataConfig",
    }
)  # fmt: skip
_IN_BODY_ONLY = frozenset({"name", "nodePoolId", "clusterId", "projectId", "zone", "etag"})
_READ: Mapping[str, Callable[[Any], Any]] = MappingProxyType({"diskSizeGb": int})


@handles("container.projects.locations.clusters.nodePools.update")
def update(call: ApiCall) -> JsonObject:
    """Change what was sent. A machine type and its slice belong together: of slices it cannot change."""
    held, sent = POOLS.found(call), call.body
    if version := sent.get("nodeVersion"):
        return upgraded(call, held, version)
    config, public = dict(held.body["config"]), {}
    for field, value in sent.items():
        if field in _WRAPPED:
            _replace(config, field, value.get(_WRAPPED[field]))
        elif field in _OF_CONFIG:
            _replace(config, field, _READ.get(field, _kept)(value))
        elif field in _OF_POOL:
            public[_OF_POOL[field]] = _kept(value)
        elif field == "nodeNetworkConfig":
            public["networkConfig"] = {**held.body["networkConfig"], **value}
        elif field not in _IN_BODY_ONLY:
            raise invalid(f"Field '{field}' of a node pool cannot be updated here.", field=field)
    body = {**held.body, **public, "config": config}
    if PoolShape(held.body).topology and config["machineType"] != held.body["config"]["machineType"]:
        raise failed_precondition("The machine type of a node pool with a TPU topology cannot be changed.")
    check_pool(PoolShape(body), hidden(held)["size"])
    return POOLS.change(call, held, {**public, "config": config})


def _kept(value: Any) -> Any:
    return bodies.without_unset(value) if isinstance(value, dict) else value


def _replace(config: JsonObject, field: str, value: Any) -> None:
    if value in (None, "", [], False):
        config.pop(field, None)
    else:
        config[field] = value
