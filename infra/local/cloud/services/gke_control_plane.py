"""Where the Kubernetes API of each GKE cluster is, as this cloud was told, and as Google would show it.

Source: the fields `endpoint` and `masterAuth.clusterCaCertificate` of
cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters, read 2026-11.
"""

from __future__ import annotations

import base64
import re

from infra.local.cloud.cloud import Cloud, Order, obeys
from infra.local.cloud.errors import JsonObject, invalid

_NAME = re.compile(r"projects/[^/]+/locations/[^/]+/clusters/[^/]+")
# RFC 5737: an address that nobody has.
_NOWHERE = {"endpoint": "192.0.2.1", "ca": base64.b64encode(b"no control plane was told to this cloud\n").decode()}


def control_plane(cloud: Cloud, name: str) -> JsonObject:
    return cloud.store.setting(f"kubernetes/{name}") or cloud.store.setting("kubernetes") or _NOWHERE


@obeys("POST kubernetes")
def tellcontrol_plane(order: Order) -> JsonObject:
    """Say where a cluster's Kubernetes API is, or with no cluster that of every other one.

    endpoint: what Google shows as such, an address with or without a port. ca: its certificate, PEM in base64.
    """
    cluster, endpoint, ca = order.body.get("cluster", ""), order.body.text("endpoint"), order.body.get("ca", "")
    if cluster and not _NAME.fullmatch(cluster):
        raise invalid(f"{cluster!r} is no full name: projects/P/locations/L/clusters/C.", field="cluster")
    told = {"endpoint": endpoint, "ca": ca}
    order.cloud.store.set_setting(f"kubernetes/{cluster}" if cluster else "kubernetes", told)
    return told
