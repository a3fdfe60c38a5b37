"""The way to the API of a stack's cluster, with the credentials of whoever runs and no kubeconfig."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.jobs.kube import Kube, KubePlace
from infra.model.schema import Cluster, StackConfig

_SECONDS: Final = 5.0
"""Time limit of a call of the cluster's API: a private one is often out of reach of a laptop."""


def cluster_of(google: Clients, cluster: Cluster) -> Mapping[str, Any]:
    """What GKE says of a cluster. Raises GoogleError where it does not, with status 404 where there is none."""
    name = f"projects/{google.project}/locations/{cluster.region}/clusters/{cluster.name}"
    return execute(google.api(Api.GKE).projects().locations().clusters().get(name=name), f"looking up {name}")


def kube_of(google: Clients, found: Mapping[str, Any]) -> Kube:
    """The API of a cluster as GKE tells it. Raises GoogleError for one that is made and has no address yet."""
    authority = found.get("masterAuth", {}).get("clusterCaCertificate")
    if not (authority and found.get("endpoint")):
        raise GoogleError("reaching the API of the cluster", "GKE tells no address of it yet")
    place = KubePlace(
        server=f"https://{found['endpoint']}",
        tls=ssl.create_default_context(cadata=base64.b64decode(authority).decode()),
        token=google.token,
    )
    return Kube(place, seconds=_SECONDS)


@contextmanager
def cluster_api(config: StackConfig, cluster: Cluster, endpoint: str | None) -> Generator[Kube]:
    """The API of a stack's cluster. endpoint: root URL of the local cloud, None on Google. Raises GoogleError."""
    with clients(config.project, endpoint) as google:
        yield kube_of(google, cluster_of(google, cluster))
