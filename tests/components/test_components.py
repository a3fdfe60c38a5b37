"""What each component makes of its arguments, beyond what the committed stacks use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pulumi
import pytest

from infra.components.identities import Identities, IdentitiesArgs, Identity
from infra.components.network import Network, NetworkArgs, Subnet
from infra.components.registries import Registry
from infra.components.runner_pool import RunnerPool, RunnerPoolArgs, RunnerVm
from infra.components.secrets import SecretContainer, Secrets, SecretsArgs
from infra.components.services import ServicesArgs
from infra.model.node import NodeDisk, NodeSpec
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


def test_a_grant_to_an_account_waits_for_the_account() -> None:
    def program() -> None:
        identity = Identity(key="broker", account_id="tidepool-any-broker", purpose="")
        identities = Identities("identities", IdentitiesArgs(project=LAB, identities=(identity,)))
        container = SecretContainer(secret_id="app-key", readers={"broker": identities.member("broker")})
        Secrets("secrets", SecretsArgs(project=LAB, labels={}, secrets=[container]))

    built = build(program, stack="any")
    assert built.one("Account").urn in built.one("SecretIamMember").dependencies


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
