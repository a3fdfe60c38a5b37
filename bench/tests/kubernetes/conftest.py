"""A cluster of a local cloud, and the official client of it."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from bench.cloud.control import Control
from bench.cloud.kubernetes.control import kubeconfig
from bench.cloud.testing import running_cloud

CLUSTER = "projects/lab/locations/us-central2-b/clusters/training"


@dataclass(frozen=True, slots=True)
class LocalCluster:
    """reached: one of `Control.clusters`."""

    control: Control
    api: client.ApiClient
    reached: dict[str, Any]

    @property
    def core(self) -> Any:
        """The client's own types ask for models, and let any of their members be None: tests write plain objects."""
        return client.CoreV1Api(self.api)

    @property
    def apps(self) -> Any:
        return client.AppsV1Api(self.api)

    def apply(self, body: dict[str, Any], *, by: str) -> dict[str, Any]:
        """Server-side apply in the default namespace."""
        kinds = {
            "ConfigMap": "api/v1/namespaces/default/configmaps",
            "Deployment": "apis/apps/v1/namespaces/default/deployments",
        }
        path = f"/{kinds[body['kind']]}/{body['metadata']['name']}?fieldManager={by}"
        return self.ask("PATCH", path, body, content="application/apply-patch+yaml")

    def ask(self, verb: str, path: str, body: Any = None, *, content: str = "application/json") -> dict[str, Any]:
        """A request as it goes over the wire. Raises ApiException."""
        headers = {"content-type": content, "authorization": "Bearer local"}
        certificate = b64decode(self.reached["certificate"]).decode()
        with urllib3.PoolManager(ca_cert_data=certificate) as pool:
            answer = pool.request(verb, f"https://{self.reached['host']}{path}", body=json.dumps(body), headers=headers)
        if answer.status >= 400:
            raise ApiException(status=answer.status, body=answer.data.decode())
        return answer.json()


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with running_cloud() as cloud:
        control = Control(cloud.url)
        reached = control.begin_cluster(CLUSTER)
        settings = client.Configuration()
        config.load_kube_config_from_dict(kubeconfig(reached), client_configuration=settings)
        with client.ApiClient(settings) as api:
            yield LocalCluster(control, api, reached)
