"""A cluster of a local cloud, and the official client of it."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from bench.cloud.control import Control
from bench.cloud.kubernetes.control import kubeconfig
from bench.cloud.testing import running_cloud
from bench.engine.backend import Backend
from bench.engine.engine import Engine
from bench.engine.run import Options
from bench.providers.kubernetes.provider import KubernetesProvider
from infra.model.plan import Plan

Program = Callable[[pulumi.ResourceOptions], Any]
CLUSTER = "projects/lab/locations/us-central2-b/clusters/training"


@dataclass(frozen=True, slots=True)
class LocalCluster:
    """reached: one of `Control.clusters`."""

    api: client.ApiClient
    reached: dict[str, Any]

    @property
    def core(self) -> Any:
        """The client's own types ask for models, and let any of their members be None: tests write plain objects."""
        return client.CoreV1Api(self.api)

    @property
    def apps(self) -> Any:
        return client.AppsV1Api(self.api)

    def ask(self, verb: str, path: str, body: Any = None, *, content: str = "application/json") -> dict[str, Any]:
        """A request as it goes over the wire. Raises ApiException."""
        headers = {"content-type": content, "authorization": "Bearer local"}
        certificate = b64decode(self.reached["certificate"]).decode()
        with urllib3.PoolManager(ca_cert_data=certificate) as pool:
            answer = pool.request(verb, f"https://{self.reached['host']}{path}", body=json.dumps(body), headers=headers)
        if answer.status >= 400:
            raise ApiException(status=answer.status, body=answer.data.decode())
        return answer.json()


@contextmanager
def connected(reached: dict[str, Any]) -> Generator[LocalCluster]:
    settings = client.Configuration()
    config.load_kube_config_from_dict(kubeconfig(reached), client_configuration=settings)
    with client.ApiClient(settings) as api:
        yield LocalCluster(api, reached)


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with running_cloud() as cloud, connected(Control(cloud.url).begin_cluster(CLUSTER)) as found:
        yield found


class Run:
    """One stack whose programs get a provider of the cluster."""

    def __init__(self, cluster: LocalCluster, folder: Path) -> None:
        self.cluster = cluster
        self._backend = Backend(folder)
        self.settings: dict[str, Any] = {"kubeconfig": json.dumps(kubeconfig(cluster.reached))}
        self.stack = "training"

    def engine(self, program: Program) -> Engine:
        def declared() -> None:
            provider = kubernetes.Provider("training", **self.settings)
            program(pulumi.ResourceOptions(provider=provider))

        served = {"kubernetes": KubernetesProvider(stack=f"lab/{self.stack}")}
        return Engine(self._backend, "lab", self.stack, {}, declared, served, lambda: "secret", "local")

    def up(self, program: Program) -> Plan:
        return self.engine(program).up(Options())


@pytest.fixture
def run(cluster: LocalCluster, tmp_path: Path) -> Run:
    return Run(cluster, tmp_path)
