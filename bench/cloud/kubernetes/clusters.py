"""Which clusters have a Kubernetes API here, where it answers, and the nodes that their pools bring.

Owns the beginning and the end of a cluster's objects. Clusters come with the GKE API, which says their nodes; a test
may begin one without it (`Control.begin_cluster`), whose nodes are then what it says.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from bench.cloud.clock import whole_seconds
from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject, not_found
from bench.cloud.kubernetes import admission, kinds
from bench.cloud.kubernetes.keyspace import Keyspace

BASE: Final = "/kubernetes/"
_KIND: Final = "kubernetes.cluster"
_LOG: Final = "kubernetes.log"
POOL_LABEL: Final = "cloud.google.com/gke-nodepool"


@dataclass(frozen=True, slots=True)
class ClusterEndpoint:
    """host: what follows `https://`, as GKE's `endpoint` is used. certificate: the authority's, PEM in base64."""

    host: str
    certificate: str


def is_served(cloud: Cloud, cluster: str) -> bool:
    return cloud.store.find(_KIND, cluster) is not None


def begin(cloud: Cloud, cluster: str) -> None:
    """Serve a cluster, `projects/P/locations/L/clusters/C`, from now on; one that is served stays as it is."""
    if is_served(cloud, cluster):
        return
    cloud.store.insert(_KIND, cluster, {}, now=cloud.now)
    keyspace, namespace = Keyspace(cloud, cluster), kinds.of_kind("Namespace")
    for name in ("default", "kube-node-lease", "kube-public", "kube-system"):
        _make(cloud, keyspace, namespace, {"metadata": {"name": name}})


def define(cloud: Cloud, cluster: str, group: str, version: str, kind: str, plural: str) -> None:
    """Let a cluster have a kind that an add-on of GKE brings, with any fields; one that is there stays as it is."""
    keyspace, definitions = Keyspace(cloud, cluster), kinds.of_kind(kinds.DEFINITIONS)
    name = f"{plural}.{group}"
    if keyspace.find(definitions, "", name) is None:
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        spec = {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        }
        _make(cloud, keyspace, definitions, {"metadata": {"name": name}, "spec": spec})


def end(cloud: Cloud, cluster: str) -> None:
    """Forget a cluster and all that was in it."""
    cloud.store.delete(_KIND, cluster)
    Keyspace(cloud, cluster).clear()
    for found in list(cloud.store.each(_LOG, f"{cluster}/")):
        cloud.store.delete(_LOG, found.name)


def say(cloud: Cloud, cluster: str, namespace: str, pod: str, text: str) -> None:
    """Add to what a pod has printed."""
    whole = {"text": printed(cloud, cluster, namespace, pod) + text}
    cloud.store.put(_LOG, f"{cluster}/{namespace}/{pod}", whole, now=cloud.now)


def printed(cloud: Cloud, cluster: str, namespace: str, pod: str) -> str:
    """What a pod has printed, as people and tests say it."""
    found = cloud.store.find(_LOG, f"{cluster}/{namespace}/{pod}")
    return found.body["text"] if found else ""


def each(cloud: Cloud) -> list[str]:
    """Full names of those that are served."""
    return sorted(found.name for found in cloud.store.each(_KIND))


def named(cloud: Cloud, said: str) -> str:
    """The cluster of a full name, of a bare one where that is clear, or the only one. Raises 404."""
    served = each(cloud)
    fitting = [name for name in served if not said or said in (name, name.rpartition("/")[2])]
    if len(fitting) != 1:
        known = ", ".join(served) or "none"
        raise not_found(f"cluster {said}" if said else f"the only cluster (there are {len(served)}: {known})")
    return fitting[0]


def endpoint(cloud: Cloud, cluster: str) -> ClusterEndpoint:
    """Where the cluster's API answers."""
    assert cloud.tls is not None, "whoever serves a cloud has set it"
    certificate = base64.b64encode(cloud.tls.authority.encode()).decode()
    return ClusterEndpoint(f"127.0.0.1:{cloud.tls.port}{BASE}{cluster}", certificate)


def set_nodes(cloud: Cloud, cluster: str, nodes: Iterable[JsonObject]) -> None:
    """Let the nodes of pools be these: objects with a name, the label of their pool, taints and capacity.

    One that is new is made, with the status that it has; one that is gone goes with its pods; one that stays keeps what
    people have said of it. Nodes without the label of a pool are nobody's here.
    """
    keyspace, kind = Keyspace(cloud, cluster), kinds.of_kind("Node")
    wanted = {node["metadata"]["name"]: node for node in nodes}
    standing = {
        node["metadata"]["name"]: node
        for node in keyspace.each(kind)
        if POOL_LABEL in (node["metadata"].get("labels") or {})
    }
    for name in [each for each in wanted if each not in standing]:
        _make(cloud, keyspace, kind, wanted[name])
    for name in [each for each in standing if each not in wanted]:
        remove_node(keyspace, standing[name])


def remove_node(keyspace: Keyspace, node: JsonObject) -> None:
    """A node is gone, and the pods that were on it."""
    pods = kinds.of_kind("Pod")
    for pod in list(keyspace.each(pods)):
        if pod.get("spec", {}).get("nodeName") == node["metadata"]["name"]:
            keyspace.remove(pods, pod)
    keyspace.remove(kinds.of_kind("Node"), node)


def _make(cloud: Cloud, keyspace: Keyspace, kind: kinds.Kind, entity: JsonObject) -> None:
    """An object that no client asked for."""
    typed = {"apiVersion": kind.api_version, "kind": kind.kind, **entity}
    keyspace.put(kind, admission.born(kind, typed, namespace="", now=whole_seconds(cloud.now)), None)
