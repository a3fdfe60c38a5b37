"""What the control surface does to clusters: begins and ends them, and says what controllers and kubelets would say."""

from __future__ import annotations

from bench.cloud.clock import whole_seconds
from bench.cloud.cloud import Cloud, obeys
from bench.cloud.errors import JsonObject, invalid, not_found
from bench.cloud.kubernetes import clusters as served
from bench.cloud.kubernetes import kinds
from bench.cloud.kubernetes.keyspace import Keyspace
from bench.cloud.kubernetes.kinds import Kind
from bench.cloud.kubernetes.schemas import ANY, merged
from bench.cloud.kubernetes.status import missing


@obeys
def clusters(cloud: Cloud) -> list[JsonObject]:
    """cluster (full name), host (what follows `https://`), certificate (its authority's, PEM, base64), objects."""
    return [_shown(cloud, cluster) for cluster in served.each(cloud)]


def _shown(cloud: Cloud, cluster: str) -> JsonObject:
    found = served.endpoint(cloud, cluster)
    objects = Keyspace(cloud, cluster).count()
    return {"cluster": cluster, "host": found.host, "certificate": found.certificate, "objects": objects}


@obeys
def begin_cluster(cloud: Cloud, cluster: str) -> JsonObject:
    """Serve `projects/P/locations/L/clusters/C` without the GKE API; the answer is one of `clusters`."""
    if len(cluster.split("/")) != 6:
        raise invalid(f"{cluster!r} is not a full name: projects/P/locations/L/clusters/C.", field="cluster")
    served.begin(cloud, cluster)
    return _shown(cloud, cluster)


@obeys
def end_cluster(cloud: Cloud, cluster: str) -> None:
    served.end(cloud, served.named(cloud, cluster))


@obeys
def tell_status(
    cloud: Cloud,
    kind: str,
    name: str,
    *,
    namespace: str = "",
    cluster: str = "",
    status: JsonObject | None = None,
    conditions: dict[str, str] | None = None,
) -> JsonObject:
    """Say what a controller would: `status` is merged, conditions are `{"Ready": "True"}`.

    A condition is True, False or Unknown; its time of transition is now where it is another than before. cluster: a
    full name, a bare one, or empty for the only one. Raises 404.
    """
    keyspace, now = Keyspace(cloud, served.named(cloud, cluster)), whole_seconds(cloud.now)
    found, live = _object(keyspace, kind, namespace, name)
    said = merged(ANY, live.get("status", {}), status or {})
    for sort, given in (conditions or {}).items():
        said["conditions"] = _with_condition(said.get("conditions", []), sort, given, now)
    return keyspace.put(found, {**live, "status": said}, live)


def _with_condition(conditions: list[JsonObject], sort: str, status: str, now: str) -> list[JsonObject]:
    before = next((each for each in conditions if each["type"] == sort), {"lastTransitionTime": now})
    since = now if before.get("status") != status else before["lastTransitionTime"]
    made = {"type": sort, "status": status, "reason": "Said", "message": "", "lastTransitionTime": since}
    return [each for each in conditions if each["type"] != sort] + [made]


@obeys
def remove_kube_node(cloud: Cloud, name: str, *, cluster: str = "") -> None:
    """Take a node away with the pods on it, as a preemption does. Raises 404."""
    keyspace = Keyspace(cloud, served.named(cloud, cluster))
    node = keyspace.find(kinds.of_kind("Node"), "", name)
    if node is None:
        raise not_found(f"node {name}")
    served.remove_node(keyspace, node)


@obeys
def say_log(cloud: Cloud, pod: str, text: str, *, namespace: str = "default", cluster: str = "") -> None:
    """Let a pod print a text. Raises 404."""
    cluster = served.named(cloud, cluster)
    if Keyspace(cloud, cluster).find(kinds.of_kind("Pod"), namespace, pod) is None:
        raise not_found(f"pod {pod} in namespace {namespace}")
    served.say(cloud, cluster, namespace, pod, text)


def _object(keyspace: Keyspace, sort: str, namespace: str, name: str) -> tuple[Kind, JsonObject]:
    """The object of a kind (by its name, its plural or a short name), a namespace and a name."""
    fitting = [kind for kind in keyspace.kinds() if sort.lower() in (kind.kind.lower(), kind.plural, *kind.short)]
    for kind in fitting:
        if found := keyspace.find(kind, (namespace or "default") if kind.namespaced else "", name):
            return kind, found
    if not fitting:
        raise not_found(f"kind {sort}")
    raise missing(fitting[0].resource, name)
