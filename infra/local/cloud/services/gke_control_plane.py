"""Where the Kubernetes API of each GKE cluster is: here, or where this cloud was told; and the nodes that it shows.

Source: the fields `endpoint` and `masterAuth.clusterCaCertificate` of
cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters, read 2026-11.
"""

from __future__ import annotations

import re

from infra.local.cloud.cloud import Cloud, Order, obeys
from infra.local.cloud.errors import JsonObject, invalid
from infra.local.cloud.kubernetes import clusters
from infra.local.cloud.services.gke_base import CLUSTER
from infra.local.cloud.services.gke_nodes import ClusterNode, nodes_of

_NAME = re.compile(r"projects/[^/]+/locations/[^/]+/clusters/[^/]+")


def control_plane(cloud: Cloud, name: str) -> JsonObject:
    """endpoint and ca of a cluster: as told, else those of the API that this cloud serves."""
    if told := cloud.store.setting(f"kubernetes/{name}") or cloud.store.setting("kubernetes"):
        return told
    found = clusters.endpoint(cloud, name)
    return {"endpoint": found.host, "ca": found.certificate}


def _names(cloud: Cloud) -> list[str]:
    return [held.name for held in cloud.store.each(CLUSTER)]


def _nodes(cloud: Cloud, name: str) -> list[JsonObject]:
    return [_shown(node) for node in nodes_of(cloud, name)]


clusters.SOURCES.append(clusters.ClusterSource(_names, _nodes))


def _shown(node: ClusterNode) -> JsonObject:
    taints = [{"key": key, "value": value, "effect": effect} for key, value, effect in node.taints]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    return {
        "metadata": {"name": node.name, "labels": node.labels},
        "spec": {"providerID": node.provider_id, **({"taints": taints} if taints else {})},
        "status": {"capacity": node.capacity, "allocatable": node.capacity, "conditions": [ready]},
    }


@obeys("POST kubernetes")
def tell_control_plane(order: Order) -> JsonObject:
    """Say where a cluster's Kubernetes API is, or with no cluster that of every other one.

    endpoint: what Google shows as such, an address with or without a port. ca: its certificate, PEM in base64.
    """
    cluster, endpoint, ca = order.body.get("cluster", ""), order.body.text("endpoint"), order.body.get("ca", "")
    if cluster and not _NAME.fullmatch(cluster):
        raise invalid(f"{cluster!r} is no full name: projects/P/locations/L/clusters/C.", field="cluster")
    told = {"endpoint": endpoint, "ca": ca}
    order.cloud.store.set_setting(f"kubernetes/{cluster}" if cluster else "kubernetes", told)
    return told
