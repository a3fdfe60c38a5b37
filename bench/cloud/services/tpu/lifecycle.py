"""What a request does to a TPU node: its operations, the states between, and the chips it takes.

Owns create, update, delete, stop and start with their delays, which are compressed, and their operations. What befalls
a node that nobody asked for (preemption, the 24 hours, maintenance, an operation that hangs) is `tpu_node`'s.
"""

from __future__ import annotations

import hashlib
import random
from ipaddress import ip_address

from bench.cloud.clock import DueEvent
from bench.cloud.cloud import ApiCall, Cloud, handles, reacts
from bench.cloud.errors import JsonObject, failed_precondition, rpc_status
from bench.cloud.limits import quota_error
from bench.cloud.services.listings import page
from bench.cloud.services.tpu.node import TpuNode, forget, hold, load, plan, save

# Realistic seconds of each operation, from-to; the place in between belongs to the node's name.
_SECONDS = {
    "create": (90.0, 180.0),
    "delete": (45.0, 90.0),
    "start": (60.0, 120.0),
    "stop": (30.0, 60.0),
    "update": (5.0, 15.0),
    "failure": (20.0, 60.0),
}
_PORT = 8470
# Addresses nobody else has; RFC 2544 keeps the network outside for tests.
_INSIDE, _OUTSIDE = ip_address("10.128.0.0"), ip_address("198.18.0.0")
_CLOUD_TPU = "type.googleapis.com/google.cloud.tpu"


def create(call: ApiCall, node: TpuNode) -> JsonObject:
    """Begin a node, which takes its chips."""
    cloud = call.cloud
    _take_chips(cloud, node)
    digest = hashlib.sha256(f"{node.name} {node.life}".encode()).digest()
    node.public |= {"state": "CREATING", "id": str(int.from_bytes(digest[:8], "big") >> 1)}
    if (error := _struck(call, node)) is None:
        running = {"state": "READY", "health": "HEALTHY", "networkEndpoints": _endpoints(cloud, node)}
        answer = _operation(call, node, "create", after={**node.public, **running})
        _finish(call, node, "create", answer, "tpu.node.ready", running)
    else:
        answer = _operation(call, node, "create", error=error)
        cloud.after(_seconds("failure", node), "tpu.node.gone", node.name)
    node.operation = answer["name"]
    save(cloud, node)
    return answer


def update(call: ApiCall, node: TpuNode) -> JsonObject:
    """Store changed fields; they are in force at once."""
    if node.state == "DELETING":
        raise failed_precondition(f"Cannot change '{node.name}' in state DELETING.")
    if error := _struck(call, node):
        return _operation(call, node, "update", error=error)
    save(call.cloud, node)
    return _operation(call, node, "update", after=node.public)


def delete(call: ApiCall, node: TpuNode) -> JsonObject:
    """Begin the end of a node. One that is already going answers the operation that takes it away."""
    cloud = call.cloud
    if node.state == "DELETING":
        return cloud.operations.get(node.operation)
    if error := _struck(call, node):
        return _operation(call, node, "delete", error=error)
    if node.state == "CREATING":
        cloud.operations.fail(node.operation, "CANCELLED", f"The node '{node.name}' was deleted while it was created.")
    cloud.timeline.cancel(node.name)
    node.public["state"] = "DELETING"
    node.public.pop("health", None)
    answer = _operation(call, node, "delete")
    node.operation = answer["name"]
    save(cloud, node)
    _finish(call, node, "delete", answer, "tpu.node.gone")
    return answer


def stop(call: ApiCall, node: TpuNode) -> JsonObject:
    if error := _struck(call, node):
        return _operation(call, node, "stop", error=error)
    call.cloud.timeline.cancel(node.name)
    node.public.pop("health", None)
    return _through(call, node, "STOPPING", "tpu.node.becomes", {"state": "STOPPED"})


def start(call: ApiCall, node: TpuNode) -> JsonObject:
    """Begin to run a stopped node again; it takes its chips anew."""
    _take_chips(call.cloud, node)
    if error := _struck(call, node):
        call.cloud.limits.give_back(node.name)
        return _operation(call, node, "start", error=error)
    return _through(call, node, "STARTING", "tpu.node.ready", {"state": "READY", "health": "HEALTHY"})


def _take_chips(cloud: Cloud, node: TpuNode) -> None:
    """Raises 429 where a limit has not so many left."""
    if limit := cloud.limits.exceeded(node.scope, node.accelerator.chips):
        raise quota_error(limit)
    cloud.limits.take(node.name, node.scope, node.accelerator.chips)


def _through(call: ApiCall, node: TpuNode, state: str, kind: str, changes: JsonObject) -> JsonObject:
    """Begin to stop or start: the node is in `state` until its operation ends."""
    verb = call.method.rpartition(".")[2]
    node.public["state"] = state
    save(call.cloud, node)
    answer = _operation(call, node, verb, after={**node.public, **changes})
    return _finish(call, node, verb, answer, kind, changes)


@handles("tpu.projects.locations.operations.get")
def get_operation(call: ApiCall) -> JsonObject:
    return call.cloud.operations.get(call.params["name"])


@handles("tpu.projects.locations.operations.list")
def list_operations(call: ApiCall) -> JsonObject:
    found = call.cloud.operations.each(f"{call.params['name']}/operations/")
    return {"operations": [], **page(call, "operations", found)}


@reacts("tpu.node.ready", "tpu.node.becomes")
def _becomes(cloud: Cloud, event: DueEvent) -> None:
    node = load(cloud, event.subject)
    node.public |= event.data
    save(cloud, node)
    if event.kind == "tpu.node.ready":
        plan(cloud, node)


@reacts("tpu.node.gone")
def _gone(cloud: Cloud, event: DueEvent) -> None:
    forget(cloud, event.subject)


def shown(call: ApiCall, public: JsonObject) -> JsonObject:
    """A node in the version of the call, whichever made it: `autocheckpointEnabled` exists in v2alpha1 only."""
    node = {**public, "apiVersion": call.version.upper().replace("ALPHA", "_ALPHA")}
    if call.version == "v2":
        node.pop("autocheckpointEnabled", None)
    return node


def _operation(
    call: ApiCall, node: TpuNode, verb: str, *, after: JsonObject | None = None, error: JsonObject | None = None
) -> JsonObject:
    namespace = f"{_CLOUD_TPU}.{call.version}"
    metadata = {
        "@type": f"{namespace}.OperationMetadata",
        "target": node.name,
        "verb": verb,
        "cancelRequested": False,
        "apiVersion": call.version,
    }
    return call.cloud.operations.lro(
        _place(call),
        seconds=_seconds("failure" if error else verb, node),
        metadata=metadata,
        response={"@type": f"{namespace}.Node", **shown(call, after)} if after else None,
        error=error,
    )


def _finish(
    call: ApiCall, node: TpuNode, verb: str, operation: JsonObject, kind: str, changes: JsonObject | None = None
) -> JsonObject:
    """Plan what happens to the node when its operation ends, whenever that is; the answer is the operation."""
    cloud, seconds = call.cloud, _seconds(verb, node)
    if rule := cloud.faults.strike("hang", node.target(call.method), cloud.now):
        hold(cloud, rule, node.name, kind, changes or {}, operation["name"], seconds)
        return cloud.operations.get(operation["name"])
    cloud.after(seconds, kind, node.name, changes)
    return operation


def _place(call: ApiCall) -> str:
    return f"projects/{call.ids['projectsId']}/locations/{call.ids['locationsId']}"


def _seconds(action: str, node: TpuNode) -> float:
    # The spread of a model, not of a secret.
    return random.Random(f"{action} {node.name}").uniform(*_SECONDS[action])  # noqa: S311


def _struck(call: ApiCall, node: TpuNode) -> JsonObject | None:
    """The error that a fault rule puts into this request's operation."""
    faults, target = call.cloud.faults, node.target(call.method)
    if call.method.endswith((".create", ".start")) and (rule := faults.strike("stockout", target, call.cloud.now)):
        return rpc_status("RESOURCE_EXHAUSTED", rule.message or _stockout(node))
    if rule := faults.strike("operation", target, call.cloud.now):
        return rpc_status(rule.status, rule.message or "The service is currently unavailable.")
    return None


def _stockout(node: TpuNode) -> str:
    return (
        f'There is no more capacity in the zone "{node.scope.zone}"; you can try in another zone where Cloud TPU Nodes '
        "are offered (see https://cloud.google.com/tpu/docs/regions)"
    )


def _endpoints(cloud: Cloud, node: TpuNode) -> list[JsonObject]:
    networks = node.public.get("networkConfigs") or [node.public.get("networkConfig", {})]
    external = networks[0].get("enableExternalIps", False)
    endpoints = []
    for number in (cloud.store.next_number("address") for _ in range(node.accelerator.hosts)):
        outside = {"accessConfig": {"externalIp": str(_OUTSIDE + number)}} if external else {}
        endpoints.append({"ipAddress": str(_INSIDE + number), "port": _PORT, **outside})
    return endpoints
