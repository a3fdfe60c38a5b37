"""Where the Kubernetes API of each GKE cluster is: in this cloud, or elsewhere as it was told.

Source: the fields `endpoint` and `masterAuth.clusterCaCertificate` of
cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters, read 2026-11.
"""

from __future__ import annotations

import re

from bench.cloud.cloud import Cloud, Order, obeys
from bench.cloud.errors import JsonObject, invalid
from bench.cloud.kubernetes import clusters

_NAME = re.compile(r"projects/[^/]+/locations/[^/]+/clusters/[^/]+")


def control_plane(cloud: Cloud, name: str) -> JsonObject:
    """endpoint and certificate authority (PEM in base64) of a cluster: those that were told, else this cloud's own."""
    if told := _told(cloud, name):
        return told
    own = clusters.endpoint(cloud, name)
    return {"endpoint": own.host, "ca": own.certificate}


def _told(cloud: Cloud, name: str) -> JsonObject | None:
    return cloud.store.setting(f"kubernetes/{name}") or cloud.store.setting("kubernetes")


@obeys("GET kubernetes")
def told_control_plane(order: Order) -> JsonObject:
    """Where a cluster's Kubernetes API was told to be; `endpoint` and `ca` are null where it is this cloud's own."""
    return _told(order.cloud, order.query.get("cluster", "")) or {"endpoint": None, "ca": None}


@obeys("POST kubernetes")
def tell_control_plane(order: Order) -> JsonObject:
    """Say where a cluster's Kubernetes API is, or with no cluster that of every other one.

    endpoint: what Google shows as such, an address with or without a port. ca: its certificate, PEM in base64.
    """
    cluster, endpoint, ca = order.body.get("cluster", ""), order.body.text("endpoint"), order.body.get("ca", "")
    if cluster and not _NAME.fullmatch(cluster):
        raise invalid(f"{cluster!r} is not a full name: projects/P/locations/L/clusters/C.", field="cluster")
    told = {"endpoint": endpoint, "ca": ca}
    order.cloud.store.set_setting(f"kubernetes/{cluster}" if cluster else "kubernetes", told)
    return told
