"""A cluster of the GKE API has a Kubernetes API with the nodes of its pools."""

from __future__ import annotations

from typing import Any

from kubernetes import client, config

from bench.cloud.kubernetes.control import KubernetesControl, kubeconfig
from bench.cloud.testing import TestCloud, running_cloud
from bench.tests.cloud.cloud_clients import ask

ZONES = "projects/lab/locations/us-central2-b"


def reached(cloud: TestCloud) -> Any:
    """A client made of what the GKE API says of its only cluster."""
    (found,) = ask(cloud.url, "GET", f"/container/v1/{ZONES}/clusters")[1]["clusters"]
    certificate = found["masterAuth"]["clusterCaCertificate"]
    told = {"cluster": "training", "host": found["endpoint"], "certificate": certificate}
    settings = client.Configuration()
    config.load_kube_config_from_dict(kubeconfig(told), client_configuration=settings)
    return client.CoreV1Api(client.ApiClient(settings))


def test_pools_bring_nodes_and_the_cluster_ends_with_its_api() -> None:
    with running_cloud() as cloud:
        pool = {
            "name": "v4", "initialNodeCount": 2, "config": {"machineType": "ct4p-hightpu-4t"},
            "placementPolicy": {"type": "COMPACT", "tpuTopology": "2x2x2"},
        }  # fmt: skip
        asked = {"cluster": {"name": "training", "nodePools": [pool]}}
        code, said = ask(cloud.url, "POST", f"/container/v1/{ZONES}/clusters", asked)
        assert code == 200, said
        cloud.control.advance(3600)
        core = reached(cloud)
        nodes = core.list_node().items
        assert [each.status.capacity["google.com/tpu"] for each in nodes] == ["4", "4"]
        assert {each.metadata.labels["cloud.google.com/gke-tpu-topology"] for each in nodes} == {"2x2x2"}
        assert all(condition.status == "True" for each in nodes for condition in each.status.conditions)
        code, said = ask(cloud.url, "DELETE", f"/container/v1/{ZONES}/clusters/training")
        assert code == 200, said
        cloud.control.advance(3600)
        assert KubernetesControl(cloud.url).clusters() == []
