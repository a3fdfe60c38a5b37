"""What each component makes of its arguments, beyond what the committed stacks use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pulumi
import pytest

from infra.components.bucket import FleetBucket, FleetBucketArgs, PrefixAccess
from infra.components.identities import Identities, IdentitiesArgs, Identity
from infra.components.network import Network, NetworkArgs, Subnet
from infra.components.registries import Registries, RegistriesArgs, Registry
from infra.components.registry_grants import Access, RegistryGrant, RegistryGrants, RegistryGrantsArgs
from infra.components.runner_pool import RunnerPool, RunnerPoolArgs, RunnerVm
from infra.components.secrets import SecretContainer, Secrets, SecretsArgs
from infra.components.services import APIS, Services, ServicesArgs
from infra.model.node import NodeDisk, NodeSpec
from infra.model.schema import Cleanup, MirrorCleanup
from tests.program.fake_engine import Built, build

LAB = "a-lab-of-ours"
VM = NodeSpec(
    name="train-us-central2-b-0",
    project=LAB,
    zone="us-central2-b",
    accelerator_type="v4-32",
    runtime_version="tpu-ubuntu2204-base",
    description="",
    labels={},
    metadata={},
    tags=(),
    network=f"projects/{LAB}/global/networks/n",
    subnetwork=f"projects/{LAB}/regions/us-central2/subnetworks/s",
    enable_external_ips=False,
    preemptible=False,
    reserved=True,
    spot=False,
    service_account_email=f"vm@{LAB}.iam.gserviceaccount.com",
    service_account_scopes=("https://www.googleapis.com/auth/cloud-platform",),
    enable_secure_boot=True,
    data_disks=(NodeDisk(source_disk=f"projects/{LAB}/zones/us-central2-b/disks/data", mode="READ_ONLY"),),
)


def made(component: Callable[[], Any]) -> Built:
    return build(lambda: component() and None, stack="any")


def repository(**fields: Any) -> dict[str, Any]:
    registry = Registry(location="us", repository="m", description="", cleanup=None)
    args = RegistriesArgs(project=LAB, labels={}, registries=(replace(registry, **fields),))
    return dict(made(lambda: Registries("registries", args)).one("Repository").inputs)


def vm(spec: NodeSpec, hosts: int = 1) -> Any:
    args = RunnerPoolArgs(vms=(RunnerVm(spec=spec, hosts=hosts, after=()),))
    return made(lambda: RunnerPool("pool", args)).one("V2Vm")


def test_a_slice_of_several_hosts_is_given_longer_to_appear() -> None:
    assert vm(VM, hosts=1).create_timeout == "10m"
    assert vm(VM, hosts=4).create_timeout == "20m"


def test_a_reserved_vm_says_so_and_nothing_else_of_its_scheduling() -> None:
    assert vm(VM).inputs["schedulingConfig"] == {"reserved": True}
    assert vm(replace(VM, reserved=False, spot=True)).inputs["schedulingConfig"] == {"spot": True}


def test_a_vm_attaches_its_disks_as_they_are_declared() -> None:
    assert vm(VM).inputs["dataDisks"] == [{"sourceDisk": VM.data_disks[0].source_disk, "mode": "READ_ONLY"}]
    assert "dataDisks" not in vm(replace(VM, data_disks=())).inputs


def test_a_mirror_of_docker_hub_is_the_public_one() -> None:
    config = repository(upstream="docker-hub")
    assert config["mode"] == "REMOTE_REPOSITORY"
    assert config["remoteRepositoryConfig"] == {"dockerRepository": {"publicRepository": "DOCKER_HUB"}}


def test_a_mirror_of_another_registry_is_named_by_its_address() -> None:
    config = repository(upstream="https://ghcr.io")
    assert config["remoteRepositoryConfig"] == {"dockerRepository": {"customRepository": {"uri": "https://ghcr.io"}}}


def test_each_rule_of_a_clean_up_is_a_policy_of_its_own() -> None:
    policies = repository(cleanup=Cleanup(delete_older_than="30d", keep_newest=16, keep_tag_prefixes=("v",)))[
        "cleanupPolicies"
    ]
    assert {policy["id"]: policy["action"] for policy in policies} == {
        "delete-old": "DELETE",
        "keep-newest": "KEEP",
        "keep-tagged": "KEEP",
    }
    assert policies[1]["mostRecentVersions"] == {"keepCount": 16}
    assert policies[2]["condition"] == {"tagState": "TAGGED", "tagPrefixes": ["v"]}


def test_a_repository_without_clean_up_keeps_everything() -> None:
    assert repository()["cleanupPolicies"] == []
    assert [p["id"] for p in repository(cleanup=MirrorCleanup(delete_older_than="7d"))["cleanupPolicies"]] == [
        "delete-old"
    ]


def test_a_grant_on_a_repository_says_where_the_repository_is() -> None:
    grant = RegistryGrant(
        who="pool-a", member="user:a@b.c", access=Access.READS, location="us", repository="m", repository_id="m"
    )
    args = RegistryGrantsArgs(project=LAB, grants=(grant,))
    made_grant = made(lambda: RegistryGrants("grants", args)).one("RepositoryIamMember")
    assert made_grant.name == "pool-a-reads-us/m"
    assert (made_grant.inputs["location"], made_grant.inputs["repository"]) == ("us", "m")
    assert made_grant.inputs["role"] == "roles/artifactregistry.reader"


@pytest.mark.parametrize("nat", [True, False])
def test_a_region_has_a_nat_only_where_a_vm_has_no_address(nat: bool) -> None:
    subnet = Subnet(region="us-east1", name="n-us-east1", cidr="10.3.0.0/16", nat=nat)
    args = NetworkArgs(project=LAB, network="n", subnets=(subnet,))
    built = made(lambda: Network("network", args))
    assert len(built.of("RouterNat")) == len(built.of("Router")) == int(nat)


def test_a_vm_without_an_address_waits_for_its_way_out() -> None:
    ways: dict[str, list[str]] = {}

    def program() -> None:
        subnets = tuple(
            Subnet(region=region, name=f"n-{region}", cidr=f"10.{index}.0.0/16", nat=nat)
            for index, (region, nat) in enumerate((("us-east1", True), ("us-west4", False)))
        )
        network = Network("network", NetworkArgs(project=LAB, network="n", subnets=subnets))
        ways.update({region: [type(r).__name__ for r in out] for region, out in network.ways_out.items()})

    build(program, stack="any")
    assert ways == {"us-east1": ["Subnetwork", "RouterNat"], "us-west4": ["Subnetwork"]}


def test_a_reader_of_a_prefix_reads_nothing_beside_it() -> None:
    reader = PrefixAccess(name="pool-a", member="user:a@b.c", prefix="runner/")
    args = FleetBucketArgs(project=LAB, bucket="a-lab", location="us", labels={}, access=[reader])
    grant = made(lambda: FleetBucket("bucket", args)).one("BucketIAMMember")
    assert grant.inputs["role"] == "roles/storage.objectViewer"
    assert grant.inputs["condition"]["expression"] == (
        'resource.name.startsWith("projects/_/buckets/a-lab/objects/runner/")'
    )


def test_a_secret_is_a_container_and_its_path_is_the_one_that_was_asked_for() -> None:
    container = SecretContainer(secret_id="app-key", readers={"broker": "user:a@b.c"})
    args = SecretsArgs(project=LAB, labels={}, secrets=[container])
    built = made(lambda: Secrets("secrets", args))
    assert built.one("Secret").inputs["replication"] == {"auto": {}}
    outputs = built.component_outputs[built.one("Secrets").urn]
    assert outputs["paths"] == {"app-key": f"projects/{LAB}/secrets/app-key"}, "not with the project's number"


def test_a_grant_to_an_account_waits_for_the_account() -> None:
    def program() -> None:
        identity = Identity(key="broker", account_id="tidepool-any-broker", purpose="")
        identities = Identities("identities", IdentitiesArgs(project=LAB, identities=(identity,)))
        container = SecretContainer(secret_id="app-key", readers={"broker": identities.member("broker")})
        Secrets("secrets", SecretsArgs(project=LAB, labels={}, secrets=[container]))

    built = build(program, stack="any")
    assert built.one("Account").urn in built.one("SecretIamMember").dependencies


def test_all_services_fit_one_batch() -> None:
    assert len(made(lambda: Services("services", ServicesArgs(project=LAB))).of("Service")) == len(APIS) <= 20


@pytest.mark.parametrize("args", [ServicesArgs(project=LAB), NetworkArgs(project=LAB, network="n", subnets=())])
def test_arguments_cannot_be_changed_after_they_are_given(args: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        args.project = "another"


def test_children_inherit_protection_and_nothing_else_from_their_component() -> None:
    opts = pulumi.ResourceOptions(protect=True, ignore_changes=["labels"])
    args = RunnerPoolArgs(vms=(RunnerVm(spec=VM, hosts=1, after=()),))
    child = made(lambda: RunnerPool("pool", args, opts)).one("V2Vm")
    assert child.protect
    assert child.ignore_changes == ()


def test_a_mirror_named_like_the_end_of_a_region_has_a_name_of_its_own() -> None:
    mirror = Registry(location="us", repository="west4-marin", description="", cleanup=None)
    pushed = Registry(location="us-west4", repository="marin", description="", cleanup=None)
    assert mirror.key != pushed.key
