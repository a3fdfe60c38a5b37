"""Node pools of a GKE cluster: those of TPU slices, and those without chips.

Owns how a pool's values become a resource, and the traps of Google's provider on that way. Leaves which pools there are
to `infra.model.slices`, and what may be declared at all to the rules of the stack file.
https://cloud.google.com/kubernetes-engine/docs/how-to/tpus, read 2026-08; of the provider its source, 2026-08.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_gcp as gcp

from infra.model.capacity import FlexStart, Reserved, SliceCapacity, Spot
from infra.model.gke_shapes import BATCH_TAINT, MULTI_HOST_PODS, Placement
from infra.model.node import CLOUD_PLATFORM_SCOPE
from infra.model.planned_capacity import ACCELERATOR_LABEL, SLICES_LABEL, SLICES_TYPE
from infra.model.slices import NodePool

RESERVATION_KEY: Final = "compute.googleapis.com/reservation-name"

REPLACING: Final = ("placementPolicy.tpuTopology", "nodeConfig.machineType")
"""The provider plans a change of these as an update: of the topology one that sends nothing, of the machine type one
that no TPU pool can make. Names of pools have both, so this only guards what changes beside the name. Never the whole
placementPolicy, whose type Google answers otherwise than it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolHome:
    """What pools of one cluster have alike. account: e-mail of the nodes. labels: of their VMs."""

    project: str
    region: str
    cluster: pulumi.Input[str]
    account: pulumi.Input[str]
    labels: Mapping[str, str]
    after: Sequence[pulumi.Resource]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicePoolsArgs:
    """The pools of one entry of `slices:`, all of one shape, zone and kind of capacity.

    policy: the name of the workload policy for shapes that are placed by one.
    """

    home: PoolHome
    pools: tuple[NodePool, ...]
    policy: str


class SlicePools(pulumi.ComponentResource):
    """TPU slices that are alike; `names` has their node pools sorted."""

    names: list[str]

    def __init__(self, name: str, args: SlicePoolsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(SLICES_TYPE, name, None, opts)
        policy = self._policy(args) if args.pools and args.pools[0].shape.placement is Placement.POLICY else None
        for pool in args.pools:
            self._pool(args.home, pool, policy)
        self.names = sorted(pool.name for pool in args.pools)
        self.register_outputs({"names": self.names})

    def _policy(self, args: SlicePoolsArgs) -> gcp.compute.ResourcePolicy:
        return gcp.compute.ResourcePolicy(
            args.policy,
            project=args.home.project,
            name=args.policy,
            region=args.home.region,
            workload_policy=gcp.compute.ResourcePolicyWorkloadPolicyArgs(
                type="HIGH_THROUGHPUT", accelerator_topology=str(args.pools[0].shape.topology)
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _pool(self, home: PoolHome, pool: NodePool, policy: gcp.compute.ResourcePolicy | None) -> None:
        shape = pool.shape
        gcp.container.NodePool(
            pool.name,
            project=home.project,
            location=home.region,
            cluster=home.cluster,
            name=pool.name,
            node_locations=[pool.zone],
            node_count=None if pool.scales else pool.max_nodes,
            # GKE makes no node for the sake of a minimum, which only keeps it from taking more away.
            initial_node_count=pool.min_nodes if pool.scales else None,
            autoscaling=_scaling(pool.min_nodes, pool.max_nodes, "ANY"),
            max_pods_per_node=MULTI_HOST_PODS if shape.multi_host else None,
            placement_policy=_placement(pool, policy),
            # Google takes a flex-start node back by itself and refuses to repair one.
            management=gcp.container.NodePoolManagementArgs(
                auto_repair=not isinstance(pool.capacity, FlexStart), auto_upgrade=True
            ),
            # There is no room for a surge of chips, and a slice cannot be blue and green.
            upgrade_settings=gcp.container.NodePoolUpgradeSettingsArgs(
                strategy="SURGE", max_surge=0, max_unavailable=1
            ),
            network_config=gcp.container.NodePoolNetworkConfigArgs(enable_private_nodes=True),
            node_config=_nodes(
                home,
                machine_type=shape.machine_type,
                disk_type=shape.boot_disk,
                spot=isinstance(pool.capacity, Spot),
                flex_start=True if isinstance(pool.capacity, FlexStart) else None,
                max_run_duration=f"{pool.capacity.max_run_seconds}s" if isinstance(pool.capacity, FlexStart) else None,
                reservation_affinity=_reservation(pool.capacity),
                # Never labels: once one is declared, those that GKE gives to nodes are a difference at every run. GKE
                # gives TPU nodes their taint as well.
                resource_labels={**home.labels, SLICES_LABEL: pool.slices, ACCELERATOR_LABEL: str(shape)},
            ),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[*home.after, *([policy] if policy else [])],
                # The name is fixed, and quotas and reservations have no room for a second pool beside it.
                delete_before_replace=True,
                replace_on_changes=list(REPLACING),
                # A pool that comes to stand always, or no longer does, is the same pool: only its first count differs,
                # and a change of that would replace it. Of a policy Google answers no type, whatever was given.
                ignore_changes=["initialNodeCount", *(["placementPolicy.type"] if policy else [])],
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainPool:
    """Nodes without chips. minimum, maximum: in each zone; equal where the pool does not scale.

    batch: whether only pods that tolerate BATCH_TAINT come here.
    """

    name: str
    machine_type: str
    zones: tuple[str, ...]
    minimum: int
    maximum: int
    spot: bool
    batch: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainPoolsArgs:
    """Every pool without chips: the system pool, and those of batch work."""

    home: PoolHome
    pools: tuple[PlainPool, ...]


class PlainPools(pulumi.ComponentResource):
    """The cluster's nodes without chips; `names` has their pools sorted."""

    names: list[str]

    def __init__(self, name: str, args: PlainPoolsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:node_pools:PlainPools", name, None, opts)
        for pool in args.pools:
            self._pool(args.home, pool)
        self.names = sorted(pool.name for pool in args.pools)
        self.register_outputs({"names": self.names})

    def _pool(self, home: PoolHome, pool: PlainPool) -> None:
        scales = pool.minimum != pool.maximum
        taint = gcp.container.NodePoolNodeConfigTaintArgs(key=BATCH_TAINT, value="true", effect="NO_SCHEDULE")
        gcp.container.NodePool(
            pool.name,
            project=home.project,
            location=home.region,
            cluster=home.cluster,
            name=pool.name,
            node_locations=list(pool.zones),
            node_count=None if scales else pool.maximum,
            initial_node_count=pool.minimum if scales else None,
            autoscaling=_scaling(pool.minimum, pool.maximum, "ANY" if pool.spot else "BALANCED"),
            management=gcp.container.NodePoolManagementArgs(auto_repair=True, auto_upgrade=True),
            upgrade_settings=gcp.container.NodePoolUpgradeSettingsArgs(
                strategy="SURGE", max_surge=1, max_unavailable=0
            ),
            network_config=gcp.container.NodePoolNetworkConfigArgs(enable_private_nodes=True),
            node_config=_nodes(
                home,
                machine_type=pool.machine_type,
                spot=pool.spot,
                resource_labels=dict(home.labels),
                taints=[taint] if pool.batch else None,
            ),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=list(home.after),
                delete_before_replace=True,
                ignore_changes=["initialNodeCount"],
            ),
        )


def _nodes(home: PoolHome, **more: Any) -> gcp.container.NodePoolNodeConfigArgs:
    """Nodes of any pool. Pods see the account that they are bound to, and never the node's; images are streamed."""
    return gcp.container.NodePoolNodeConfigArgs(
        service_account=home.account,
        oauth_scopes=[CLOUD_PLATFORM_SCOPE],
        gcfs_config=gcp.container.NodePoolNodeConfigGcfsConfigArgs(enabled=True),
        workload_metadata_config=gcp.container.NodePoolNodeConfigWorkloadMetadataConfigArgs(mode="GKE_METADATA"),
        **more,
    )


def _scaling(least: int, most: int, location: str) -> gcp.container.NodePoolAutoscalingArgs | None:
    """Limits a zone, never in total: GKE reads totals as a maximum of 0 nodes, which is no size of a slice.

    None for a pool that does not scale.
    """
    if least == most:
        return None
    return gcp.container.NodePoolAutoscalingArgs(min_node_count=least, max_node_count=most, location_policy=location)


def _placement(
    pool: NodePool, policy: gcp.compute.ResourcePolicy | None
) -> gcp.container.NodePoolPlacementPolicyArgs | None:
    if policy is not None:
        return gcp.container.NodePoolPlacementPolicyArgs(type="", policy_name=policy.name)
    if pool.shape.placement is Placement.COMPACT:
        return gcp.container.NodePoolPlacementPolicyArgs(type="COMPACT", tpu_topology=str(pool.shape.topology))
    return None


def _reservation(capacity: SliceCapacity) -> gcp.container.NodePoolNodeConfigReservationAffinityArgs:
    """Always said: what is not said takes a reservation that happens to fit."""
    if isinstance(capacity, Reserved):
        return gcp.container.NodePoolNodeConfigReservationAffinityArgs(
            consume_reservation_type="SPECIFIC_RESERVATION", key=RESERVATION_KEY, values=[capacity.reservation]
        )
    return gcp.container.NodePoolNodeConfigReservationAffinityArgs(consume_reservation_type="NO_RESERVATION")
