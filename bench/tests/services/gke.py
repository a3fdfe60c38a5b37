"""A project with one cluster, and the calls that tests of it make."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import urllib3

from bench.cloud.kubernetes.control import KubernetesControl
from bench.cloud.testing import TestCloud


class Gke:
    """client: makes clients of google-api-python-client, as the fixture of that name. location: the cluster's."""

    def __init__(
        self, client: Callable[..., Any], cloud: TestCloud, settled: Callable[..., Any], project: str, location: str
    ) -> None:
        self.cloud, self.project, self.location = cloud, project, location
        self.locations = client("container").projects().locations()
        self.compute = client("compute")
        self.kubernetes = KubernetesControl(cloud.url)
        self.clusters = self.locations.clusters()
        self.pools = self.clusters.nodePools()
        self._settled = settled

    @property
    def parent(self) -> str:
        return f"projects/{self.project}/locations/{self.location}"

    @property
    def name(self) -> str:
        return f"{self.parent}/clusters/train"

    def pool_name(self, name: str) -> str:
        return f"{self.name}/nodePools/{name}"

    def wait(self, operation: dict[str, Any]) -> dict[str, Any]:
        """The operation as it ended, well or not."""
        polled = self.locations.operations()
        return self._settled(operation, lambda name: polled.get(name=f"{self.parent}/operations/{name}"))

    def create(self, *, zones: list[str] | None = None, machine: str = "n2-standard-4", **more: Any) -> dict[str, Any]:
        body = {"name": "train", "initialNodeCount": 1, "nodeConfig": {"machineType": machine}, **more}
        body |= {"locations": zones} if zones else {}
        return self.wait(self.clusters.create(parent=self.parent, body={"cluster": body}).execute())

    def add(self, pool: dict[str, Any]) -> dict[str, Any]:
        return self.wait(self.pools.create(parent=self.name, body={"nodePool": pool}).execute())

    def resize(self, pool: str, nodes: int) -> dict[str, Any]:
        return self.wait(self.pools.setSize(name=self.pool_name(pool), body={"nodeCount": nodes}).execute())

    def cluster(self) -> dict[str, Any]:
        return self.clusters.get(name=self.name).execute()

    def pool(self, name: str) -> dict[str, Any]:
        return self.pools.get(name=self.pool_name(name)).execute()

    def nodes(self, pool: str) -> int:
        """How many machines are behind a pool, as Compute Engine lists them."""
        groups = {url.rpartition("/")[2] for url in self.pool(pool)["instanceGroupUrls"]}
        (zone,) = self.pool(pool)["locations"]
        listed = self.compute.instanceGroupManagers().list(project=self.project, zone=zone).execute()
        return sum(each["targetSize"] for each in listed.get("items", ()) if each["name"] in groups)

    def kubernetes_nodes(self, pool: str) -> list[dict[str, Any]]:
        """The nodes of a pool by the Kubernetes API that the cluster names, trusted by the certificate it shows."""
        cluster = self.cluster()
        authority = base64.b64decode(cluster["masterAuth"]["clusterCaCertificate"]).decode()
        url = f"https://{cluster['endpoint']}/api/v1/nodes"
        with urllib3.PoolManager(ca_cert_data=authority) as manager:
            listed = manager.request("GET", url, headers={"authorization": "Bearer any"}).json()["items"]
        return [each for each in listed if each["metadata"]["labels"]["cloud.google.com/gke-nodepool"] == pool]
