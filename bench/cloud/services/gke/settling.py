"""What happens when an operation of GKE ends: a cluster or a pool has its new state, or is gone. Kubernetes follows.

A cluster's Kubernetes API begins once it runs, and its Node objects are the nodes of its pools.
"""

from __future__ import annotations

from bench.cloud.clock import DueEvent
from bench.cloud.cloud import Cloud, reacts
from bench.cloud.kubernetes import clusters
from bench.cloud.services.gke.base import BECOMES, CLUSTER, GONE, HIDDEN, POOL, changed, cluster_of, hidden
from bench.cloud.services.gke.nodes import nodes_of
from bench.cloud.store import Resource

_IN_POOL = "/nodePools/"


@reacts(BECOMES)
def _becomes(cloud: Cloud, event: DueEvent) -> None:
    if held := _held(cloud, event.subject):
        inner = event.data.pop(HIDDEN, {})
        changed(cloud, held, event.data, **inner)
        _update_kubernetes(cloud, event.subject)


@reacts(GONE)
def _gone(cloud: Cloud, event: DueEvent) -> None:
    """A cluster goes with its pools, and each gives its chips back."""
    pools = list(cloud.store.each(POOL, f"{event.subject}{_IN_POOL}"))
    for each in filter(None, [*pools, _held(cloud, event.subject)]):
        cloud.store.delete(each.kind, each.name)
        for holder in hidden(each).get("holders", ()):
            cloud.limits.give_back(holder)
    if _IN_POOL in event.subject:
        _update_kubernetes(cloud, event.subject)
    else:
        clusters.end(cloud, event.subject)


def _held(cloud: Cloud, name: str) -> Resource | None:
    return cloud.store.find(POOL if _IN_POOL in name else CLUSTER, name)


def _update_kubernetes(cloud: Cloud, name: str) -> None:
    """Give a cluster the nodes of its pools. name: the cluster's, or that of a pool of it."""
    cluster = cluster_of(name)
    held = cloud.store.find(CLUSTER, cluster)
    if held is not None and held.body["status"] != "PROVISIONING":
        clusters.begin(cloud, cluster)
        if held.body.get("secretManagerConfig", {}).get("enabled"):
            clusters.define(
                cloud, cluster, "secrets-store.csi.x-k8s.io", "v1", "SecretProviderClass", "secretproviderclasses"
            )
        clusters.set_nodes(cloud, cluster, nodes_of(cloud, cluster))
