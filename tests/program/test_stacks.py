"""Every stack builds, and whatever its size holds what must hold of every stack."""

from __future__ import annotations

import re

import pulumi
import pytest

from infra.fleet.bundle import STUB
from infra.model import bucket_names
from infra.model.federation import makers_as, result_writers
from infra.model.grants import NODE_ROLES
from infra.model.stack import load_stack
from infra.model.stack_text import pulumi_values
from tests.program.fake_engine import Registered, build
from tests.program.stacks import STACKS, built, content, lab_program, text_of, unedited
from tests.synthetic_lab import the_lab

"""Types without a project of their own: the bucket or account that they name has one."""

every_stack = pytest.mark.parametrize("stack", STACKS)


@every_stack
def test_the_paths_of_a_vms_network_are_those_of_resources_in_the_program(stack: str) -> None:
    program = unedited(stack)
    networks = {
        f"projects/{n.inputs['project']}/global/networks/{n.inputs['name']}" for n in program.of("Network") if n.custom
    }
    subnets = {
        f"projects/{s.inputs['project']}/regions/{s.inputs['region']}/subnetworks/{s.inputs['name']}"
        for s in program.of("Subnetwork")
    }
    for vm in program.of("V2Vm"):
        assert vm.inputs["networkConfig"]["network"] in networks
        assert vm.inputs["networkConfig"]["subnetwork"] in subnets


@every_stack
def test_every_vm_carries_the_reviewed_stub(stack: str) -> None:
    for vm in unedited(stack).of("V2Vm"):
        assert vm.inputs["metadata"]["startup-script"] == STUB.read_text()


@every_stack
def test_nothing_secret_stands_in_a_program(stack: str) -> None:
    program = unedited(stack)
    assert not program.of("SecretVersion")
    secrets = {s.inputs["secretId"] for s in program.of("Secret")}
    for vm in program.of("V2Vm"):
        text = repr(vm.inputs)
        assert not [secret for secret in secrets if secret in text]
        assert not re.search(r"BEGIN [A-Z ]*PRIVATE KEY|gh[a-z]_[A-Za-z0-9]{20}|ya29\.|AIza", text)


@every_stack
def test_what_cannot_be_made_again_is_protected_and_outlives_its_removal(stack: str) -> None:
    program = unedited(stack)
    kept = [*program.of("artifactregistry/repository:Repository"), *program.of("Secret"), *program.of("Bucket")]
    kept += [*program.of("WorkloadIdentityPool"), *program.of("WorkloadIdentityPoolProvider")]
    assert kept
    for resource in kept:
        assert resource.protect, f"{resource.name} could be deleted or replaced by one up"
        assert resource.retain_on_delete, f"{resource.name} would be lost where protection was lifted"


@every_stack
def test_grants_are_additive_and_on_single_resources(stack: str) -> None:
    kinds = {r.type.split(":")[-1] for r in unedited(stack).custom}
    assert not {kind for kind in kinds if kind.endswith(("IAMPolicy", "IAMBinding", "IamPolicy", "IamBinding"))}
    grants = {(r.type, r.inputs["role"]) for r in unedited(stack).custom if "role" in r.inputs}
    assert {role for kind, role in grants if kind.startswith("gcp:projects/")} <= set(NODE_ROLES), (
        "on the project nodes of a cluster alone have roles, those for which there is no narrower resource"
    )
    assert {role for _, role in grants} - set(NODE_ROLES) <= {
        "roles/artifactregistry.reader",
        "roles/artifactregistry.writer",
        "roles/iam.serviceAccountUser",
        "roles/iam.workloadIdentityUser",
        "roles/pubsub.publisher",
        "roles/secretmanager.secretAccessor",
        "roles/storage.legacyBucketReader",
        "roles/storage.objectUser",
        "roles/storage.objectViewer",
    }


@every_stack
def test_grants_go_to_the_stacks_own_accounts_and_to_those_that_make_vms_or_keep_results_there(stack: str) -> None:
    program = unedited(stack)
    pools = [(pool.name, config.project) for config in [load_stack(the_lab(), stack)] for pool in config.pools]
    every = [load_stack(the_lab(), each) for each in STACKS]
    makers = {f"serviceAccount:{maker.email}" for name, project in pools for maker in makers_as(name, project, every)}
    results = load_stack(the_lab(), stack).results
    writers = {f"serviceAccount:{each.email}" for config in every for each in result_writers(config) if results}
    own = {
        f"serviceAccount:{a.inputs['accountId']}@{a.inputs['project']}.iam.gserviceaccount.com"
        for a in program.of("Account")
    }
    members = {r.inputs["member"] for r in program.custom if "member" in r.inputs}
    assert {member for member in members if not member.startswith("principalSet://")} <= own | makers | writers


def is_component(resource: Registered) -> bool:
    return re.fullmatch(r"tidepool:[a-z_]+:[A-Z][A-Za-z]+", resource.type) is not None


@every_stack
def test_components_have_one_shape(stack: str) -> None:
    program = unedited(stack)
    for resource in program.resources.values():
        if not resource.custom:
            assert is_component(resource), resource.type
            assert program.component_outputs.get(resource.urn), f"{resource.name} registers no outputs"
        elif not resource.type.startswith("pulumi:"):
            assert is_component(program.resources[resource.parent]), f"{resource.name} stands outside a component"


@every_stack
def test_a_preview_registers_what_an_apply_does(stack: str) -> None:
    assert set(built(stack, text_of(stack), preview=True).resources) == set(unedited(stack).resources)


def test_a_stack_whose_registries_were_never_brought_up_says_what_to_bring_up_first() -> None:
    never = {"organization/tidepool/ci": {}}
    with pytest.raises(pulumi.RunError, match=r"stack reference organization/tidepool/ci: .*pulumi up --stack ci"):
        build(lab_program, stack="nightly", config=pulumi_values(text_of("nightly")), references=never, preview=True)


@every_stack
def test_the_manifest_would_make_the_very_vms_that_the_program_declares(stack: str) -> None:
    document = content(unedited(stack), bucket_names.manifest_object(stack))
    declared = {vm.name: vm.inputs for vm in unedited(stack).of("V2Vm")}
    slots = {slot["name"]: slot["node"] for slot in document["slots"]}
    assert set(slots) == set(declared)
    for name, inputs in declared.items():
        node = slots[name]
        assert inputs["metadata"] == node["metadata"]
        assert inputs["labels"] == node["labels"]
        assert inputs["networkConfig"] == node["networkConfig"]
        assert inputs["schedulingConfig"] == node["schedulingConfig"]
        assert inputs["serviceAccount"] == {
            "email": node["serviceAccount"]["email"],
            "scopes": node["serviceAccount"]["scope"],
        }
        same = ("acceleratorType", "runtimeVersion", "description", "tags", "shieldedInstanceConfig")
        assert {key: inputs[key] for key in same} == {key: node[key] for key in same}
