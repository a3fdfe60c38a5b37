"""Shared parts of GKE clusters and node pools: operations, of which a cluster runs one at a time, and links.

Fields that clients do not see (the running operation, the number of nodes) are stored under one key of the body.
Delays are compressed. An effect in the future is an event of the timeline. Sources, read 2026-11:
cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.operations and
cloud.google.com/kubernetes-engine/docs/troubleshooting (a cluster that runs another operation is a 400).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, failed_precondition, not_found, rpc_status
from bench.cloud.faults import FaultTarget
from bench.cloud.services import places
from bench.cloud.services.collection import Collection
from bench.cloud.services.tpu.node import hold
from bench.cloud.store import Resource

CLUSTER, POOL = "container.cluster", "container.nodePool"
HIDDEN = "_"
BECOMES, GONE = "container.becomes", "container.gone"
"""Events by which an operation ends."""
RUNNING = MappingProxyType({"status": "RUNNING"})
_LINKS = frozenset({"selfLink", "targetLink"})


class OfGke(Collection):
    """A collection of the GKE API, whose ids are in the bodies, and whose changes are operations."""

    methods = "create get list delete"
    locations = frozenset((*places.REGIONS, *places.ZONES))
    fixed = None
    id_form = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
    id_rule = "it has at most 40 lowercase letters, digits and dashes, begins with a letter and ends with no dash"
    absent = "Not found: {name}."
    present = "Already exists: {name}."

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
    found = cloud.operations.find(running) if running else None
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
    identity, location = cloud.operations.new_id(), place.rpartition("/")[2]
    name = f"container/{place}/operations/{identity}"
    body: JsonObject = {
        "name": identity,
        "operationType": kind,
        "location": location,
        "zone": location,
        "startTime": timestamp(cloud.now),
        "selfLink": name.removeprefix("container/"),
        "targetLink": target,
    }
    ended = {**body, "status": "DONE", "endTime": timestamp(cloud.now + cloud.compressed(seconds))}
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


def linked(call: ApiCall, body: Any) -> Any:
    """The body with its relative links made absolute; those to groups of machines are Compute Engine's."""
    if isinstance(body, list):
        return [linked(call, each) for each in body]
    if not isinstance(body, dict):
        return body
    links = {key: call.base + value for key, value in body.items() if key in _LINKS and value.startswith("projects/")}
    groups = [f"{call.root}/compute/v1/{each}" for each in body.get("instanceGroupUrls", ())]
    return {
        **{key: linked(call, value) for key, value in body.items()},
        **links,
        **({"instanceGroupUrls": groups} if "instanceGroupUrls" in body else {}),
    }


@handles("container.projects.locations.operations.get")
def get_operation(call: ApiCall) -> JsonObject:
    place = f"projects/{call.cloud.project(call.ids['projectsId']).id}/locations/{call.ids['locationsId']}"
    found = call.cloud.operations.find(f"container/{place}/operations/{call.ids['operationsId']}")
    if found is None:
        raise not_found(call.params["name"])
    return linked(call, found)
