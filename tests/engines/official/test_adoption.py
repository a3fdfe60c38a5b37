"""What the state lacks of the cloud, and how it is adopted."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest

from infra.engines.official import adoption
from infra.engines.official.adoption import Pending
from infra.engines.standing import StandingVm
from infra.model.errors import EngineError
from infra.model.fleet import slots
from infra.model.plan import Op, Plan, Step
from infra.model.planned_capacity import VM_TYPE
from infra.model.stack import parse_stack
from tests.engines.official.replay import document

POOL = "urn:pulumi:ci::tidepool::tidepool:runners:Pool::tpu-ci"
PROVIDER = "urn:pulumi:ci::tidepool::pulumi:providers:gcp::default_10_2_0"


VM_URN = "urn:pulumi:ci::tidepool::tidepool:runner_pool:RunnerPool$gcp:tpu/v2Vm:V2Vm::"
RUNNER_POOL = "urn:pulumi:ci::tidepool::tidepool:runner_pool:RunnerPool::tpu-ci"

CONFIG = parse_stack(
    """\
config:
  gcp:project: my-lab
  tidepool:owner: team
  tidepool:bucket: {name: lab-records, location: us}
  tidepool:pools:
    - {name: tpu-ci, accelerator: v5litepod-4, zones: {us-west4-a: 2}, capacity: spot, trust: member}
""",
    stack="ci",
    source="stacks/Pulumi.ci.yaml",
)


def killed() -> dict[str, Any]:
    return copy.deepcopy(document("killed.json"))


def creates(deployment: Mapping[str, Any]) -> tuple[Pending, ...]:
    return adoption.unsettled("ci", deployment, ()).creates


def pending(kind: str, inputs: dict[str, Any]) -> str:
    resource = {"urn": f"urn:pulumi:ci::tidepool::{kind}::a", "type": kind, "inputs": inputs}
    deployment = {"resources": [], "pending_operations": [{"type": "creating", "resource": resource}]}
    (found,) = creates(deployment)
    return found.import_id


def standing(index: int, **labels: str) -> StandingVm:
    """A VM of the pool that has the labels of its slot, and others."""
    slot = slots(CONFIG)[index]
    node = {"acceleratorType": "v5litepod-4", "labels": {**slot.labels, **labels}}
    return StandingVm(id=f"projects/my-lab/locations/{slot.zone}/nodes/{slot.name}", slot=slot, node=node)


def vm_state(index: int, **marks: bool) -> dict[str, Any]:
    each = standing(index)
    urn = VM_URN + each.slot.name
    return {"urn": urn, "type": VM_TYPE, "custom": True, "id": each.id, "inputs": {}, "outputs": {}, **marks}


def test_a_killed_run_leaves_creates_whose_ids_follow_from_their_inputs() -> None:
    found = creates(killed()["deployment"])
    assert sorted(each.name for each in found) == [f"tpu-ci-us-west4-a-{index}" for index in (1, 2, 3, 4)]
    assert found[0].import_id == f"projects/hai-gcp-models/locations/us-west4-a/nodes/{found[0].name}"
    assert {each.parent for each in found} == {POOL}
    assert {each.provider for each in found} == {PROVIDER}


def test_updates_and_deletes_in_flight_are_read_again() -> None:
    state = killed()["deployment"]
    resources = [operation["resource"] for operation in state["pending_operations"]]
    for operation in state["pending_operations"]:
        operation["type"] = "deleting"
    state["resources"] += resources[:2]
    found = adoption.unsettled("ci", state, ())
    assert found.creates == ()
    assert found.again == {resource["urn"] for resource in resources[:2]}, "those that the state still has"


def test_half_a_replacement_whose_new_vm_stands_is_read_again_and_not_created() -> None:
    state = {"resources": [vm_state(0, pendingReplacement=True), vm_state(1, pendingReplacement=True)]}
    found = adoption.unsettled("ci", state, [standing(0)])
    assert (found.creates, found.again) == ((), {VM_URN + "tpu-ci-us-west4-a-0"})
    rested = adoption.at_rest({"version": 3, "deployment": state}, found.again)["deployment"]["resources"]
    assert ["pendingReplacement" in resource for resource in rested] == [False, True]


def test_a_vm_that_stands_is_imported_below_its_pool() -> None:
    provider = {"urn": PROVIDER, "type": "pulumi:providers:gcp"}
    pool = {"urn": RUNNER_POOL, "type": "tidepool:runner_pool:RunnerPool"}
    state = {"resources": [provider, pool]}
    (found,) = adoption.unsettled("ci", state, [standing(1)]).creates
    assert (found.urn, found.import_id) == (VM_URN + "tpu-ci-us-west4-a-1", standing(1).id)
    content = adoption.import_file([found], {PROVIDER, RUNNER_POOL})
    assert set(content["nameTable"].values()) == {PROVIDER, RUNNER_POOL}
    assert [entry["id"] for entry in content["resources"]] == [standing(1).id]


def test_a_pool_that_the_state_lacks_is_made_with_its_first_vm() -> None:
    (found,) = adoption.unsettled("ci", {}, [standing(0)]).creates
    content = adoption.import_file([found], ())
    component, vm = content["resources"]
    assert (component["type"], component["logicalName"]) == ("tidepool:runner_pool:RunnerPool", "tpu-ci")
    assert component["component"] is True
    assert vm["parent"] == component["name"]
    assert content["nameTable"] == {}


@pytest.mark.parametrize("attributed", [True, False])
def test_what_was_imported_gets_the_labels_that_are_known_of_it(attributed: bool) -> None:
    own = {"goog-pulumi-provisioned": "true"} if attributed else {}
    (known,) = adoption.unsettled("ci", {}, [standing(0, team="x", **own)]).creates
    exported = {"version": 3, "deployment": {"resources": [vm_state(0), vm_state(1)]}}
    first, second = adoption.completed(exported, [known])["deployment"]["resources"]
    declared = standing(0).slot.labels
    assert first["inputs"]["labels"] == first["outputs"]["labels"] == declared, "labels of others are not ours"
    assert json.loads(first["outputs"]["pulumiLabels"]["plaintext"]) == {**declared, **own}
    assert first["inputs"]["acceleratorType"] == "v5litepod-4"
    assert second == vm_state(1)


def test_at_rest_means_no_operation_in_flight_and_nothing_else_changed() -> None:
    before = killed()
    after = adoption.at_rest(before, ())
    del before["deployment"]["pending_operations"]
    assert after == before


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
        ("pulumi:providers:gcp", {}, ""),
        ("gcp:projects/iAMMember:IAMMember", {"project": "p", "role": "r", "member": "m"}, ""),
        ("gcp:serviceaccount/account:Account", {"accountId": "a", "createIgnoreAlreadyExists": True}, ""),
    ],
)
def test_each_type_is_imported_by_the_id_that_its_provider_page_gives(
    kind: str, inputs: dict[str, Any], import_id: str
) -> None:
    assert pending(kind, inputs) == import_id


def test_a_type_that_cannot_be_adopted_is_refused_by_name_with_what_to_do() -> None:
    with pytest.raises(EngineError, match=r"gcp:redis/instance:Instance.*pulumi import"):
        pending("gcp:redis/instance:Instance", {"name": "r"})


REGISTRIES = "urn:pulumi:ci::tidepool::tidepool:registries:Registries::registries"
REPOSITORY = "gcp:artifactregistry/repository:Repository"
IMAGES = f"urn:pulumi:ci::tidepool::tidepool:registries:Registries${REPOSITORY}::us-west4/images"
_DECLARED = {"project": "my-lab", "location": "us-west4", "repositoryId": "images", "labels": {"a": "b"}}


def planned(*more: Step) -> Plan:
    component = Step(op=Op.CREATE, urn=REGISTRIES, type="tidepool:registries:Registries", name="registries")
    images = Step(op=Op.CREATE, urn=IMAGES, type=REPOSITORY, name="us-west4/images", new_inputs=_DECLARED)
    return Plan(stack="ci", engine="pulumi", cloud="local", steps=(component, images, *more))


def test_what_a_person_names_is_imported_by_the_id_of_its_declaration_below_its_component() -> None:
    claimed = adoption.claims(planned(), ["urn:**::us-west4/images"])
    (found,) = adoption.unsettled("ci", {"resources": []}, (), claimed=claimed).creates
    assert (found.urn, found.parent) == (IMAGES, REGISTRIES)
    assert found.import_id == "projects/my-lab/locations/us-west4/repositories/images"
    assert (found.inputs, found.labels) == ({}, None), "the next plan says what differs"


def test_only_what_is_named_and_made_anew_is_claimed() -> None:
    assert adoption.claims(planned(), ["urn:**::us-west4/other"]) == ()
    assert adoption.claims(planned(), ["urn:**::registries"]) == (), "a component is nowhere in the cloud"


def test_a_claim_whose_component_may_be_one_of_several_is_refused_by_name() -> None:
    twin = Step(op=Op.SAME, urn=f"{REGISTRIES}-2", type="tidepool:registries:Registries", name="registries-2")
    with pytest.raises(EngineError, match=r"us-west4/images .*: 2 components may be the one it belongs to"):
        adoption.claims(planned(twin), ["urn:**::us-west4/images"])
