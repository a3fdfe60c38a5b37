"""A TPU node may refer to what exists and to nothing else."""

from __future__ import annotations

import pytest

from bench.cloud.cloud import Cloud
from bench.cloud.errors import ApiError
from bench.cloud.services.policies import SERVICE_ACCOUNT_KIND, account_name
from bench.cloud.services.tpu import nodes as tpu_nodes
from bench.cloud.store import Store


@pytest.fixture
def bare():
    """A cloud without a server."""
    cloud = Cloud(Store(), wall=lambda: 1_795_248_000.0)
    yield cloud
    cloud.store.close()


def _node(network="default", subnetwork="default", email=""):
    config = {"network": f"projects/lab/global/networks/{network}"}
    if subnetwork:
        config["subnetwork"] = f"projects/lab/regions/us-east1/subnetworks/{subnetwork}"
    return {"networkConfig": config, "serviceAccount": {"email": email}}


def test_the_default_network_is_always_there(bare):
    tpu_nodes.check_node(bare, "lab", "us-east1-c", {})
    tpu_nodes.check_node(bare, "lab", "us-east1-c", _node())


@pytest.mark.parametrize("node", [_node(network="gone", subnetwork=""), _node(subnetwork="gone")])
def test_a_missing_network_or_subnetwork_is_named(bare, node):
    with pytest.raises(ApiError, match="gone") as caught:
        tpu_nodes.check_node(bare, "lab", "us-east1-c", node)
    assert caught.value.code == 400
    with pytest.raises(ApiError, match="gone"):
        tpu_nodes.check_node(bare, "lab", "us-east1-c", {"networkConfigs": [node["networkConfig"]]})


def test_an_account_of_the_project_must_exist_and_others_are_taken_as_they_are(bare):
    email = "pool@lab.iam.gserviceaccount.com"
    with pytest.raises(ApiError, match=email):
        tpu_nodes.check_node(bare, "lab", "us-east1-c", _node(email=email))
    bare.store.insert(SERVICE_ACCOUNT_KIND, account_name("lab", email), {}, now=bare.now)
    tpu_nodes.check_node(bare, "lab", "us-east1-c", _node(email=email))
    tpu_nodes.check_node(bare, "lab", "us-east1-c", _node(email="pool@elsewhere.iam.gserviceaccount.com"))
    tpu_nodes.check_node(bare, "lab", "us-east1-c", _node(email="123-compute@developer.gserviceaccount.com"))
