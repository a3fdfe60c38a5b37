"""What clusters and node pools of GKE share: operations in the shape of their API, of which a cluster runs one.

What a client shall not see of a body (which operation runs, how many nodes there are) stands in it under one key.
Delays are compressed. An effect that lies in the future is an event of the timeline. Sources, read 2026-11:
cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.operations and
cloud.google.com/kubernetes-engine/docs/troubleshooting (a cluster that runs another operation is a 400).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from bench.cloud.clock import DueEvent, timestamp
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
_LINKS = frozenset({"selfLink", "targetLink"})
_LOCATIONS = frozenset((*places.REGIONS, *places.ZONES))
NAME_RULE = "it has at most 40 lowercase letters, digits and dashes, begins with a letter and ends with no dash"
"""Of a cluster and of a node pool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What an operation is about. seconds: realistic duration. error: why it fails; decided when it begins.

    after, failed: what the body becomes when it has succeeded, and where it has not; None: it is gone.
    """

    kind: str
    target: str
    seconds: float
    after: Mapping[str, Any] | None
    failed: Mapping[str, Any] | None
    error: JsonObject | None = None


class OfGke(Collection):
    """A collection of the GKE API, whose ids stand in the bodies, and whose changes are operations."""

    locations = _LOCATIONS
    fixed = None
    absent = "Not found: {name}."
    present = "Already exists: {name}."

    def get(self, call: ApiCall) -> JsonObject:
        return linked(call, super().get(call))

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**{key: value for key, value in held.body.items() if key != HIDDEN}, "selfLink": held.name}


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


def begin(call: ApiCall, cluster: str, task: Task) -> JsonObject:
    """Begin an operation on a cluster or on a pool of it, and answer it."""
    cloud, place = call.cloud, "/".join(cluster.split("/")[:4])
    identity = cloud.operations.new_id()
    name = f"{place}/operations/{identity}"
    body: JsonObject = {
        "name": identity,
        "operationType": task.kind,
        "location": place.rpartition("/")[2],
        "zone": place.rpartition("/")[2],
        "startTime": timestamp(cloud.now),
        "selfLink": name,
        "targetLink": task.target,
    }
    ended = {**body, "status": "DONE", "endTime": timestamp(cloud.now + cloud.compressed(task.seconds))}
    if task.error:
        ended |= {"error": task.error, "statusMessage": task.error["message"]}
    running = {**body, "status": "RUNNING"}
    begun = cloud.operations.begin(f"container/{name}", seconds=task.seconds, pending=running, finished=ended)
    if held := cloud.store.find(CLUSTER, cluster):
        changed(cloud, held, operation=f"container/{name}")
    outcome = task.failed if task.error else task.after
    kind, data = (GONE, {}) if outcome is None else (BECOMES, dict(outcome))
    if rule := cloud.faults.strike("hang", target_of(call, task.target), cloud.now):
        hold(cloud, rule, DueEvent(0, cloud.now, kind, task.target, data), f"container/{name}", task.seconds)
    else:
        cloud.after(task.seconds, kind, task.target, data)
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
    groups = {
        key: [f"{call.root}/compute/v1/{each}" for each in value]
        for key, value in body.items()
        if key == "instanceGroupUrls"
    }
    return {key: linked(call, value) for key, value in body.items()} | links | groups


# Operations


@handles("container.projects.locations.operations.get")
def get_operation(call: ApiCall) -> JsonObject:
    found = call.cloud.operations.find(f"container/{_place(call)}/operations/{call.ids['operationsId']}")
    if found is None:
        raise not_found(call.params["name"])
    return linked(call, found)


@handles("container.projects.locations.operations.list")
def list_operations(call: ApiCall) -> JsonObject:
    """`locations/-` lists every place."""
    place = _place(call)
    prefix = place.removesuffix("-") if place.endswith("/-") else f"{place}/operations/"
    found = call.cloud.operations.each(f"container/{prefix}")
    return {"operations": [linked(call, each) for each in found]} if found else {}


def _place(call: ApiCall) -> str:
    return f"projects/{call.cloud.project(call.ids['projectsId']).id}/locations/{call.ids['locationsId']}"
