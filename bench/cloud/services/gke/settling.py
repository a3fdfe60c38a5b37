"""What happens when an operation of GKE ends: a cluster or a pool is as it was to be, or gone. Kubernetes hears of it.

A cluster's Kubernetes API begins once it runs, and its Node objects are the nodes of its pools.
"""

from __future__ import annotations

from bench.cloud.clock import DueEvent, timestamp
from bench.cloud.cloud import Cloud, reacts
from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes import clusters
from bench.cloud.services.gke.base import BECOMES, CLUSTER, GONE, HIDDEN, POOL, changed, hidden
from bench.cloud.services.gke.nodes import ClusterNode, nodes_of
from bench.cloud.store import Resource

_IN_POOL = "/nodePools/"


@reacts(BECOMES)
def _becomes(cloud: Cloud, event: DueEvent) -> None:
    held = _held(cloud, event.subject)
    if held is None:
        return
    inner = event.data.pop(HIDDEN, {})
    changed(cloud, held, event.data, **inner)
    _tell_kubernetes(cloud, event.subject)


@reacts(GONE)
def _gone(cloud: Cloud, event: DueEvent) -> None:
    """A cluster goes with its pools, and each gives its chips back."""
    for pool in list(cloud.store.each(POOL, f"{event.subject}{_IN_POOL}")):
        _forget(cloud, pool)
    if held := _held(cloud, event.subject):
        _forget(cloud, held)
    if _IN_POOL in event.subject:
        _tell_kubernetes(cloud, event.subject)
    else:
        clusters.end(cloud, event.subject)


def _held(cloud: Cloud, name: str) -> Resource | None:
    return cloud.store.find(POOL if _IN_POOL in name else CLUSTER, name)


def _forget(cloud: Cloud, held: Resource) -> None:
    cloud.store.delete(held.kind, held.name)
    cloud.timeline.cancel(held.name)
    for holder in hidden(held).get("holders", ()):
        cloud.limits.give_back(holder)


def _tell_kubernetes(cloud: Cloud, name: str) -> None:
    """Let the objects of a cluster be what its pools are. name: the cluster's, or that of a pool of it."""
    cluster = name.partition(_IN_POOL)[0]
    held = cloud.store.find(CLUSTER, cluster)
    if held is not None and held.body["status"] != "PROVISIONING":
        clusters.begin(cloud, cluster)
        if held.body.get("secretManagerConfig", {}).get("enabled"):
            clusters.define(
                cloud, cluster, "secrets-store.csi.x-k8s.io", "v1", "SecretProviderClass", "secretproviderclasses"
            )
        clusters.set_nodes(cloud, cluster, [_node_object(node) for node in nodes_of(cloud, cluster)])


def _node_object(node: ClusterNode) -> JsonObject:
    taints = [{"key": key, "value": value, "effect": effect} for key, value, effect in node.taints]
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastTransitionTime": f"{timestamp(node.created)[:19]}Z",
    }
    return {
        "metadata": {"name": node.name, "labels": node.labels},
        "spec": {"providerID": node.provider_id, **({"taints": taints} if taints else {})},
        "status": {"capacity": node.capacity, "allocatable": node.capacity, "conditions": [ready]},
    }
