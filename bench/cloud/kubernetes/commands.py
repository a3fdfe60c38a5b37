"""What the control surface does to clusters: begins and ends them, and says what controllers and kubelets would say."""

from __future__ import annotations

from bench.cloud.clock import whole_seconds
from bench.cloud.cloud import Order, obeys
from bench.cloud.errors import JsonObject, invalid, not_found
from bench.cloud.kubernetes import clusters, kinds
from bench.cloud.kubernetes.keyspace import Keyspace
from bench.cloud.kubernetes.kinds import Kind
from bench.cloud.kubernetes.schemas import ANY, merged
from bench.cloud.kubernetes.status import missing


@obeys("GET k8s")
def served(order: Order) -> JsonObject:
    """Every cluster, with what a kubeconfig of it has."""
    return {"clusters": [_shown(order, cluster) for cluster in clusters.each(order.cloud)]}


def _shown(order: Order, cluster: str) -> JsonObject:
    found = clusters.endpoint(order.cloud, cluster)
    objects = Keyspace(order.cloud, cluster).count()
    return {"cluster": cluster, "host": found.host, "certificate": found.certificate, "objects": objects}


@obeys("POST k8s/clusters")
def begin(order: Order) -> JsonObject:
    """Serve a cluster that no GKE API made."""
    name = order.body.text("cluster")
    if len(name.split("/")) != 6:
        raise invalid(f"{name!r} is not a full name: projects/P/locations/L/clusters/C.", field="cluster")
    clusters.begin(order.cloud, name)
    return _shown(order, name)


@obeys("DELETE k8s/clusters")
def end(order: Order) -> JsonObject:
    clusters.end(order.cloud, _cluster(order))
    return {}


@obeys("POST k8s/status")
def tell(order: Order) -> JsonObject:
    """Say the status of an object: `set` is merged into it, `conditions` are those of these types from now on.

    A condition is True, False or Unknown; its time of transition is now where it is another than before. Raises 404.
    """
    keyspace, said, now = Keyspace(order.cloud, _cluster(order)), order.body, whole_seconds(order.cloud.now)
    kind, live = _object(keyspace, said)
    status = merged(ANY, live.get("status", {}), said.get("set") or {})
    for sort, given in (said.get("conditions") or {}).items():
        status["conditions"] = _with_condition(status.get("conditions", []), sort, given, now)
    return keyspace.put(kind, {**live, "status": status}, live)


def _with_condition(conditions: list[JsonObject], sort: str, status: str, now: str) -> list[JsonObject]:
    before = next((each for each in conditions if each["type"] == sort), {"lastTransitionTime": now})
    since = now if before.get("status") != status else before["lastTransitionTime"]
    made = {"type": sort, "status": status, "reason": "Said", "message": "", "lastTransitionTime": since}
    return [each for each in conditions if each["type"] != sort] + [made]


@obeys("DELETE k8s/nodes")
def remove_node(order: Order) -> JsonObject:
    """Take a node away, as a preemption does, with the pods on it. Raises 404."""
    keyspace = Keyspace(order.cloud, _cluster(order))
    node = keyspace.find(kinds.of_kind("Node"), "", order.body.text("name"))
    if node is None:
        raise not_found(f"node {order.body['name']}")
    clusters.remove_node(keyspace, node)
    return {}


@obeys("POST k8s/log")
def say(order: Order) -> JsonObject:
    """Let a pod print a text. Raises 404."""
    namespace, pod = str(order.body.get("namespace", "default")), order.body.text("pod")
    cluster = _cluster(order)
    if Keyspace(order.cloud, cluster).find(kinds.of_kind("Pod"), namespace, pod) is None:
        raise not_found(f"pod {pod} in namespace {namespace}")
    clusters.say(order.cloud, cluster, namespace, pod, order.body.text("text"))
    return {}


def _cluster(order: Order) -> str:
    return clusters.named(order.cloud, str(order.body.get("cluster", "")))


def _object(keyspace: Keyspace, said: JsonObject) -> tuple[Kind, JsonObject]:
    """The object of a kind (by its name, its plural or a short name), a namespace and a name."""
    sort, name = str(said["kind"]), str(said["name"])
    fitting = [kind for kind in keyspace.kinds() if sort.lower() in (kind.kind.lower(), kind.plural, *kind.short)]
    for kind in fitting:
        namespace = str(said.get("namespace") or "default") if kind.namespaced else ""
        if found := keyspace.find(kind, namespace, name):
            return kind, found
    if not fitting:
        raise not_found(f"kind {sort}")
    raise missing(fitting[0].resource, name)
