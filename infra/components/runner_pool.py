"""A pool of TPU VMs: one `V2Vm` a slot, each with its fixed name; and where slices have several hosts, the way between.

Owns how a node's values become a Pulumi resource. Leaves every value to `infra.model.node`, which the manifest and the
controller read as well, so that a VM made again over REST is the one that Pulumi knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp

from infra.model.node import NodeSpec
from infra.model.planned_capacity import POOL_TYPE

ONE_HOST_CREATE: Final = "10m"
"""How long a one-host slice may take to appear; it is there within a few minutes. The provider retries a 429 (a quota,
a full limit) inside the create until this has passed: 20 minutes by default, in which the run does nothing else."""

SLICE_CREATE: Final = "20m"
"""The same for a slice of several hosts, which does take that long: a create that is given up leaves a node behind
that the state does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerVm:
    """One VM to be.

    hosts: machines of its slice. after: what must exist before it boots, and is deleted only after it.
    """

    spec: NodeSpec
    hosts: int
    after: Sequence[pulumi.Resource]


@dataclass(frozen=True, slots=True, kw_only=True)
class BetweenHosts:
    """The rule by which VMs of one account reach each other, and nobody else reaches them.

    Above the ports of a VM's own services. It goes by the account, which a VM keeps for its life, and so holds for VMs
    that a workflow makes for a run as well. network: its full path. email: the pool's account.
    """

    project: str
    name: str
    network: pulumi.Input[str]
    email: pulumi.Input[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerPoolArgs:
    """The VMs of one pool, each name once. between: None where every slice is one host."""

    vms: tuple[RunnerVm, ...]
    between: BetweenHosts | None = None


class RunnerPool(pulumi.ComponentResource):
    """TPU VMs that are alike; `names` has them sorted."""

    names: list[str]

    def __init__(self, name: str, args: RunnerPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(POOL_TYPE, name, None, opts)
        way = [_firewall(args.between, pulumi.ResourceOptions(parent=self))] if args.between else []
        for vm in args.vms:
            _node(
                vm.spec,
                pulumi.ResourceOptions(
                    parent=self,
                    depends_on=[*vm.after, *way],
                    # The name is fixed, and a reservation or quota has no room for a second one beside it.
                    delete_before_replace=True,
                    custom_timeouts=pulumi.CustomTimeouts(create=ONE_HOST_CREATE if vm.hosts == 1 else SLICE_CREATE),
                ),
            )
        self.names = sorted(vm.spec.name for vm in args.vms)
        self.register_outputs({"names": self.names})


def _firewall(between: BetweenHosts, opts: pulumi.ResourceOptions) -> gcp.compute.Firewall:
    return gcp.compute.Firewall(
        between.name,
        project=between.project,
        name=between.name,
        description="Hosts of one slice reach each other",
        network=between.network,
        direction="INGRESS",
        allows=[gcp.compute.FirewallAllowArgs(protocol="tcp", ports=["1024-65535"])],
        source_service_accounts=[between.email],
        target_service_accounts=[between.email],
        opts=opts,
    )


def _node(spec: NodeSpec, opts: pulumi.ResourceOptions) -> gcp.tpu.V2Vm:
    return gcp.tpu.V2Vm(
        spec.name,
        project=spec.project,
        zone=spec.zone,
        name=spec.name,
        description=spec.description,
        accelerator_type=spec.accelerator_type,
        runtime_version=spec.runtime_version,
        labels=_plain(spec.labels),
        metadata=_plain(spec.metadata),
        tags=list(spec.tags),
        network_config=gcp.tpu.V2VmNetworkConfigArgs(
            network=spec.network,
            subnetwork=spec.subnetwork,
            enable_external_ips=spec.enable_external_ips,
        ),
        scheduling_config=_scheduling(spec),
        service_account=gcp.tpu.V2VmServiceAccountArgs(
            email=spec.service_account_email,
            scopes=list(spec.service_account_scopes),
        ),
        shielded_instance_config=gcp.tpu.V2VmShieldedInstanceConfigArgs(enable_secure_boot=spec.enable_secure_boot),
        data_disks=[gcp.tpu.V2VmDataDiskArgs(source_disk=disk.source_disk, mode=disk.mode) for disk in spec.data_disks]
        or None,
        opts=opts,
    )


def _scheduling(spec: NodeSpec) -> gcp.tpu.V2VmSchedulingConfigArgs | None:
    """Only what is true: the service drops a block of falses, and a block that a read lacks replaces the VM."""
    if not (spec.preemptible or spec.reserved or spec.spot):
        return None
    return gcp.tpu.V2VmSchedulingConfigArgs(
        preemptible=spec.preemptible or None, reserved=spec.reserved or None, spot=spec.spot or None
    )


def _plain(values: Mapping[str, str]) -> dict[str, str]:
    """Pulumi serializes dicts and no other mapping."""
    return dict(values)
