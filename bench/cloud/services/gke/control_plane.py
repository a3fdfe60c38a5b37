"""Where the Kubernetes API of each GKE cluster is: in this cloud, or elsewhere as it was told.

Source: the fields `endpoint` and `masterAuth.clusterCaCertificate` of
cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters, read 2026-11.
"""

from __future__ import annotations

from bench.cloud.cloud import Cloud, obeys
from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes import clusters


def control_plane(cloud: Cloud, name: str) -> JsonObject:
    """endpoint and certificate authority (PEM in base64) of a cluster: those that were told, else this cloud's own."""
    if told := _told(cloud, name):
        return told
    own = clusters.endpoint(cloud, name)
    return {"endpoint": own.host, "ca": own.certificate}


def _told(cloud: Cloud, name: str) -> JsonObject | None:
    return cloud.store.setting(f"kubernetes/{name}") or cloud.store.setting("kubernetes")


@obeys
def told_control_plane(cloud: Cloud, cluster: str) -> str | None:
    """Address of the API server that a cluster was told to have; None where its API is this cloud's own."""
    return (_told(cloud, cluster) or {}).get("endpoint")


@obeys
def tell_control_plane(cloud: Cloud, endpoint: str, certificate: str, *, cluster: str = "") -> None:
    """Let a GKE cluster, or each, have the API server at this address (`HOST:PORT`); its authority in base64."""
    told = {"endpoint": endpoint, "ca": certificate}
    cloud.store.set_setting(f"kubernetes/{cluster}" if cluster else "kubernetes", told)
