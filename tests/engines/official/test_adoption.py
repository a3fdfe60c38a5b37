"""Creates that were in flight, and how they are adopted."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from infra.engines.official import adoption
from infra.engines.protocol import EngineError
from tests.engines.official.replay import document, text

POOL = "urn:pulumi:ci::tidepool::tidepool:runners:Pool::tpu-ci"
PROVIDER = "urn:pulumi:ci::tidepool::pulumi:providers:gcp::default_10_2_0"


def killed() -> dict[str, Any]:
    return copy.deepcopy(document("killed.json"))


def pending(kind: str, inputs: dict[str, Any]) -> str:
    resource = {"urn": f"urn:pulumi:ci::tidepool::{kind}::a", "type": kind, "inputs": inputs}
    deployment = {"resources": [], "pending_operations": [{"type": "creating", "resource": resource}]}
    (found,) = adoption.pending_creates(deployment)
    return found.import_id


def test_a_killed_run_leaves_creates_whose_ids_can_be_foretold() -> None:
    found = adoption.pending_creates(killed()["deployment"])
    assert sorted(each.name for each in found) == [f"tpu-ci-us-west4-a-{index}" for index in (1, 2, 3, 4)]
    assert found[0].import_id == f"projects/hai-gcp-models/locations/us-west4-a/nodes/{found[0].name}"
    assert {each.parent for each in found} == {POOL}
    assert {each.provider for each in found} == {PROVIDER}


def test_what_the_state_has_meanwhile_is_no_longer_in_flight() -> None:
    state = killed()["deployment"]
    state["resources"].append(state["pending_operations"][0]["resource"])
    assert len(adoption.pending_creates(state)) == 3
    assert adoption.has_pending(state)


def test_updates_and_deletes_in_flight_are_not_adopted() -> None:
    state = killed()["deployment"]
    for operation in state["pending_operations"]:
        operation["type"] = "deleting"
    assert adoption.pending_creates(state) == ()
    assert adoption.has_pending(state)


def test_forgetting_takes_the_operations_and_nothing_else() -> None:
    before = killed()
    after = adoption.without_pending(before)
    assert not adoption.has_pending(after["deployment"])
    del before["deployment"]["pending_operations"]
    assert after == before


def test_the_import_file_puts_each_resource_below_its_parent_and_under_its_provider() -> None:
    wanted = adoption.pending_creates(killed()["deployment"])
    content = adoption.import_file(wanted)
    names = content["nameTable"]
    assert set(names.values()) == {POOL, PROVIDER}
    assert len(content["resources"]) == len(wanted)
    for entry in content["resources"]:
        assert names[entry["parent"]] == POOL
        assert names[entry["provider"]] == PROVIDER
        assert entry["id"].endswith(entry["name"])


def test_a_resource_below_the_stack_itself_names_no_parent() -> None:
    state = killed()["deployment"]
    resource = state["pending_operations"][0]["resource"]
    resource["parent"] = "urn:pulumi:ci::tidepool::pulumi:pulumi:Stack::tidepool-ci"
    content = adoption.import_file(adoption.pending_creates(state)[:1])
    assert "parent" not in content["resources"][0]


def test_the_cli_says_which_ones_the_cloud_lacks() -> None:
    wanted = adoption.pending_creates(killed()["deployment"])
    gone = adoption.missing(wanted, text("import-missing.stdout.txt"))
    assert [each.name for each in gone] == ["tpu-ci-us-west4-a-4"]


@pytest.mark.parametrize(
    ("kind", "inputs", "import_id"),
    [
        (
            "gcp:artifactregistry/repository:Repository",
            {"project": "p", "location": "us-west4", "repositoryId": "marin"},
            "projects/p/locations/us-west4/repositories/marin",
        ),
        ("gcp:compute/network:Network", {"project": "p", "name": "n"}, "projects/p/global/networks/n"),
        (
            "gcp:compute/subnetwork:Subnetwork",
            {"project": "p", "region": "us-west4", "name": "n"},
            "projects/p/regions/us-west4/subnetworks/n",
        ),
        (
            "gcp:compute/router:Router",
            {"project": "p", "region": "us-west4", "name": "r"},
            "projects/p/regions/us-west4/routers/r",
        ),
        (
            "gcp:compute/routerNat:RouterNat",
            {"project": "p", "region": "us-west4", "router": "projects/p/regions/us-west4/routers/r", "name": "n"},
            "projects/p/regions/us-west4/routers/r/n",
        ),
        ("gcp:secretmanager/secret:Secret", {"project": "p", "secretId": "s"}, "projects/p/secrets/s"),
        (
            "gcp:serviceaccount/account:Account",
            {"project": "p", "accountId": "a"},
            "projects/p/serviceAccounts/a@p.iam.gserviceaccount.com",
        ),
        ("gcp:storage/bucket:Bucket", {"project": "p", "name": "b"}, "p/b"),
        (
            "gcp:iam/workloadIdentityPool:WorkloadIdentityPool",
            {"project": "p", "workloadIdentityPoolId": "tidepool-ci"},
            "projects/p/locations/global/workloadIdentityPools/tidepool-ci",
        ),
        (
            "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider",
            {"project": "p", "workloadIdentityPoolId": "tidepool-ci", "workloadIdentityPoolProviderId": "github"},
            "projects/p/locations/global/workloadIdentityPools/tidepool-ci/providers/github",
        ),
        ("gcp:projects/iAMMember:IAMMember", {"project": "p", "role": "r", "member": "m"}, ""),
    ],
)
def test_each_type_is_imported_by_the_id_that_its_provider_page_gives(
    kind: str, inputs: dict[str, Any], import_id: str
) -> None:
    assert pending(kind, inputs) == import_id


def test_a_type_that_cannot_be_adopted_is_refused_by_name_with_what_to_do() -> None:
    with pytest.raises(EngineError, match=r"gcp:redis/instance:Instance.*pulumi import"):
        pending("gcp:redis/instance:Instance", {"name": "r"})


def test_a_component_or_provider_in_flight_is_made_again() -> None:
    assert pending("pulumi:providers:gcp", {}) == ""
