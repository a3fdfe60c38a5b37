"""A small fleet of TPU VMs as a program, the engine and the provider that make it, and what is asserted of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pulumi
import pulumi_gcp as gcp

from bench.cloud.testing import TestCloud
from bench.engine.backend import Backend
from bench.engine.engine import Engine
from bench.engine.run import Options
from bench.providers.google import GoogleProvider
from infra.model.plan import Op, Plan, Status

PROJECT = "hai-gcp-models"
STACK = "fleet"
ZONE = "us-west4-a"
PASSPHRASE = "correct horse"


def engine_of(
    root: Path, stack: str, values: Mapping[str, str], program: Callable[[], None], *providers: Any
) -> Engine:
    """The engine of one stack, whose state is below `root`."""
    served = {each.package: each for each in providers}
    return Engine(Backend(root), "tidepool", stack, values, program, served, lambda: PASSPHRASE, "local")


Vms = Mapping[str, Mapping[str, Any]]
"""VMs by name: what differs from a preemptible v5litepod-4 in ZONE."""


def vms(count: int, **spec: Any) -> dict[str, dict[str, Any]]:
    return {f"tpu-ci-{ZONE}-{index}": dict(spec) for index in range(count)}


def program(fleet: Vms) -> Callable[[], None]:
    """Declares a network and the VMs in it."""

    def declare() -> None:
        network = gcp.compute.Network("ci", name="ci", auto_create_subnetworks=False)
        for name, spec in fleet.items():
            zone = spec.get("zone", ZONE)
            gcp.tpu.V2Vm(
                name,
                name=name,
                zone=zone,
                accelerator_type=spec.get("accelerator", "v5litepod-4"),
                runtime_version=spec.get("runtime", "v2-alpha-tpuv5-lite"),
                scheduling_config=gcp.tpu.V2VmSchedulingConfigArgs(**spec.get("capacity", {"preemptible": True})),
                network_config=gcp.tpu.V2VmNetworkConfigArgs(network=network.id, enable_external_ips=False),
                labels={"tidepool-pool": "tpu-ci", **spec.get("labels", {})},
                metadata={"startup-script": spec.get("script", "#!/bin/sh\ntrue\n")},
                opts=pulumi.ResourceOptions(delete_before_replace=True),
            )
        pulumi.export("vms", sorted(fleet))

    return declare


class World:
    """One stack at one local cloud."""

    def __init__(self, root: Path, url: str) -> None:
        self.root = root
        self.provider = GoogleProvider(url, PROJECT)

    def engine(self, fleet: Vms) -> Engine:
        return engine_of(self.root, STACK, {"gcp:project": PROJECT}, program(fleet), self.provider)

    def up(self, fleet: Vms, options: Options | None = None) -> Plan:
        return self.engine(fleet).up(options)

    def preview(self, fleet: Vms, options: Options | None = None) -> Plan:
        return self.engine(fleet).preview(options)

    def recorded(self) -> dict[str, dict[str, Any]]:
        """VMs of the state by name, and nothing left in flight."""
        deployment = self.engine({}).export()["deployment"]
        assert not deployment.get("pending_operations")
        urns = [resource["urn"] for resource in deployment["resources"]]
        assert len(urns) == len(set(urns))
        return {
            resource["outputs"]["name"]: resource
            for resource in deployment["resources"]
            if resource["type"] == "gcp:tpu/v2Vm:V2Vm"
        }


def changes(plan: Plan, *, status: Status | None = None) -> dict[str, Op]:
    """What a plan does to VMs, by name, `same` left out."""
    return {
        step.name: step.op
        for step in plan.steps
        if step.type == "gcp:tpu/v2Vm:V2Vm" and step.op is not Op.SAME and status in (None, step.status)
    }


def complaints(plan: Plan) -> list[str]:
    failed = [f"{step.name}: {step.error}" for step in plan.steps if step.error]
    return failed + [said.message for said in plan.diagnostics if said.severity == "error"]


def nodes(cloud: TestCloud) -> dict[str, dict[str, Any]]:
    return {node["name"].rsplit("/", 1)[-1]: node for node in cloud.control.nodes()}


def assert_as_declared(world: World, cloud: TestCloud, fleet: Vms) -> None:
    """The cloud, the state and the program agree, VM by VM."""
    standing, recorded = nodes(cloud), world.recorded()
    assert set(standing) == set(recorded) == set(fleet)
    assert {node["state"] for node in standing.values()} <= {"READY"}
    for name, resource in recorded.items():
        assert resource["id"] == standing[name]["name"]
    plan = world.preview(fleet, Options(refresh=True))
    assert complaints(plan) == []
    assert {step.op for step in plan.steps} == {Op.SAME}
