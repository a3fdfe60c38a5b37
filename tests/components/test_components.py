"""What each component makes of its arguments, beyond what the committed stacks use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pulumi
import pytest

from infra.components.network import NetworkArgs
from infra.components.registries import Registry
from infra.components.runner_pool import RunnerPool, RunnerPoolArgs, RunnerVm
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
