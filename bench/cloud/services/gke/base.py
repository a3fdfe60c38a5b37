"""Shared parts of GKE clusters and node pools: operations, of which a cluster runs one at a time, and links.

Fields that clients do not see (the running operation, the number of nodes) are stored under one key of the body.
Delays are compressed. An effect in the future is an event of the timeline. Sources, read 2026-11:
cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.operations and
cloud.google.com/kubernetes-engine/docs/troubleshooting (a cluster that runs another operation is a 400).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, failed_precondition, rpc_status
from bench.cloud.faults import FaultTarget
from bench.cloud.services import places
from bench.cloud.services.collection import Collection
from bench.cloud.services.compute.base import absolute
from bench.cloud.services.tpu.node import hold
from bench.cloud.store import Resource

CLUSTER, POOL = "container.cluster", "container.nodePool"
HIDDEN = "_"
BECOMES, GONE = "container.becomes", "container.gone"
"""Events by which an operation ends."""
RUNNING = MappingProxyType({"status": "RUNNING"})


class OfGke(Collection):
    """A collection of the GKE API, whose ids are in the bodies, and whose changes are operations."""

    methods = "create get list delete"
    locations = frozenset((*places.REGIONS, *places.ZONES))

    def asked_id(self, call: ApiCall) -> str:
        return self.sent(call).get("name", "")

    def get(self, call: ApiCall) -> JsonObject:
        return linked(call, super().get(call))

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**{key: value for key, value in held.body.items() if key != HIDDEN}, "selfLink": held.name}

    def delete(self, call: ApiCall) -> JsonObject:
        held = self.found(call)
        check_idle(call.cloud, cluster_of(held.name))
        error = struck(call, target_of(call, held.name))
        changed(call.cloud, held, {"status": "STOPPING"})
        kind, seconds = ("DELETE_CLUSTER", 180.0) if held.kind == CLUSTER else ("DELETE_NODE_POOL", 120.0)
        return begin(call, kind, held.name, seconds, None, error=error)

    def change(
        self, call: ApiCall, held: Resource, public: Mapping[str, Any], kind: str = "UPDATE_CLUSTER"
    ) -> JsonObject:
        """Begin the operation that changes a cluster or a pool; the change is in force at once. Raises 400."""
        check_idle(call.cloud, cluster_of(held.name))
        error = struck(call, target_of(call, held.name))
        if error is None:
            changed(call.cloud, held, {**public, "status": "RECONCILING"})
        seconds = 600.0 if kind == "UPGRADE_MASTER" else 30.0 if held.kind == CLUSTER else 60.0
        return begin(call, kind, held.name, seconds, RUNNING, error=error)


def cluster_of(name: str) -> str:
    """The full name of the cluster that a name is of, or of a pool of."""
    return name.partition("/nodePools/")[0]


def hidden(held: Resource) -> JsonObject:
    return held.body.get(HIDDEN, {})


def changed(cloud: Cloud, held: Resource, public: Mapping[str, Any] = MappingProxyType({}), **inner: Any) -> Resource:
    """Store a body with some of its fields replaced. inner: of what is hidden."""
    body = {**held.body, **public, HIDDEN: {**hidden(held), **inner}}
    return cloud.store.replace(held, body, now=cloud.now)


def check_idle(cloud: Cloud, cluster: str) -> None:
    """Raises 400 FAILED_PRECONDITION while an operation runs on a cluster, or on one of its pools."""
    held = cloud.store.find(CLUSTER, cluster)
    running = hidden(held).get("operation") if held else None
    found = cloud.operations.get(running) if running else None
    if found is not None and found["status"] != "DONE":
        raise failed_precondition(f"Cluster is running incompatible operation {found['name']}.")


def begin(
    call: ApiCall,
    kind: str,
    target: str,
    seconds: float,
    after: Mapping[str, Any] | None,
    *,
    failed: Mapping[str, Any] | None = RUNNING,
    error: JsonObject | None = None,
) -> JsonObject:
    """Begin an operation on a cluster or on a pool of it, and answer it.

    seconds: realistic duration. after, failed: what the body becomes when the operation has succeeded, and when it has
    not; None: the resource is gone. error: why the operation fails, decided when it begins.
    """
    cloud, place = call.cloud, "/".join(target.split("/")[:4])
    identity = cloud.operations.new_id()
    name = f"container/{place}/operations/{identity}"
    body: JsonObject = {
        "name": identity,
        "operationType": kind,
        "location": place.rpartition("/")[2],
        "selfLink": name.removeprefix("container/"),
        "targetLink": target,
    }
    ended = {**body, "status": "DONE"}
    if error:
        ended |= {"error": error, "statusMessage": error["message"]}
    begun = cloud.operations.begin(name, seconds=seconds, pending={**body, "status": "RUNNING"}, finished=ended)
    if held := cloud.store.find(CLUSTER, cluster_of(target)):
        changed(cloud, held, operation=name)
    outcome = failed if error else after
    event, data = (GONE, {}) if outcome is None else (BECOMES, dict(outcome))
    if rule := cloud.faults.strike("hang", target_of(call, target), cloud.now):
        hold(cloud, rule, target, event, data, name, seconds)
    else:
        cloud.after(seconds, event, target, data)
    return linked(call, begun)


def target_of(call: ApiCall, name: str, *, zone: str = "", accelerator: str = "") -> FaultTarget:
    """What fault rules are matched with: a pool by its zone, a cluster by its location."""
    parts = name.split("/")
    return FaultTarget(call.method, parts[1], zone or parts[3], accelerator, parts[-1])


def struck(call: ApiCall, target: FaultTarget) -> JsonObject | None:
    """The error that an `operation` fault puts into an operation."""
    if rule := call.cloud.faults.strike("operation", target, call.cloud.now):
        return rpc_status(rule.status, rule.message or "Internal error.")
    return None


def linked(call: ApiCall, body: JsonObject) -> JsonObject:
    """The body with its relative links made absolute; those to groups of machines are Compute Engine's."""
    own = dict.fromkeys(("selfLink", "targetLink"), call.base)
    return absolute(body, {**own, "instanceGroupUrls": f"{call.root}/compute/v1/"})


@handles("container.projects.locations.operations.get")
def get_operation(call: ApiCall) -> JsonObject:
    return linked(call, call.cloud.operations.get(f"container/{call.params['name']}"))
