"""A GKE Standard cluster on a network of its own: private nodes, a way out by NAT, and nobody's node pools yet.

Owns the cluster, its network and what its nodes' account may do on the project. Leaves node pools to `node_pools` and
all that is inside the cluster to others. Addresses, names and windows are the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_gcp as gcp

from infra.components import vpc
from infra.model.grants import NODE_ROLES
from infra.model.node import CLOUD_PLATFORM_SCOPE

PODS, SERVICES = "pods", "services"
"""The names of the subnetwork's secondary ranges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExclusionArgs:
    """A time without maintenance. start, end: RFC 3339 in UTC. scope: as GKE's API spells it."""

    name: str
    start: str
    end: str
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceArgs:
    """When GKE may maintain. start, end: of the first window, RFC 3339. recurrence: an RRULE of RFC 5545."""

    start: str
    end: str
    recurrence: str
    exclusions: tuple[ExclusionArgs, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterArgs:
    """network: its name, and that of its subnetwork, router and NAT. nodes, pods, services: ranges in CIDR form.

    zones: where its system pool is. version: the least one of the control plane, None for the channel's own.
    first_machine: a type that every zone has: of the pool that GKE insists on making first and that is then removed.
    account: the nodes' service account. labels: of the cluster.
    """

    project: str
    name: str
    region: str
    zones: tuple[str, ...]
    network: str
    nodes: str
    pods: str
    services: str
    channel: str
    version: str | None
    maintenance: MaintenanceArgs
    first_machine: str
    account: gcp.serviceaccount.Account
    labels: Mapping[str, str]
    deletion_protection: bool


class GkeCluster(pulumi.ComponentResource):
    """A cluster with its network.

    cluster_name: what node pools say; known only once the cluster is there. network: its path. endpoint,
    ca_certificate: of its Kubernetes API. before_pools: what must exist before a node can do its work.
    """

    cluster_name: pulumi.Output[str]
    network: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    ca_certificate: pulumi.Output[str]
    before_pools: Sequence[pulumi.Resource]

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:cluster:GkeCluster", name, None, opts)
        network, subnetwork, nat = self._network(args)
        cluster = self._cluster(args, network, subnetwork, nat)
        self.before_pools = [cluster, *self._roles(args)]
        self.cluster_name = cluster.name
        self.network = network.id
        self.endpoint = cluster.endpoint
        self.ca_certificate = cluster.master_auth.apply(lambda auth: auth.cluster_ca_certificate or "" if auth else "")
        self.register_outputs({"cluster_name": self.cluster_name, "endpoint": self.endpoint})

    def _network(self, args: ClusterArgs) -> tuple[gcp.compute.Network, gcp.compute.Subnetwork, gcp.compute.RouterNat]:
        network = vpc.network(self, args.project, args.network)
        place: dict[str, Any] = {"parent": self, "project": args.project, "name": args.network, "region": args.region}
        secondary = [
            gcp.compute.SubnetworkSecondaryIpRangeArgs(range_name=PODS, ip_cidr_range=args.pods),
            gcp.compute.SubnetworkSecondaryIpRangeArgs(range_name=SERVICES, ip_cidr_range=args.services),
        ]
        subnetwork = vpc.subnet(network, **place, cidr=args.nodes, secondary=secondary)
        nat = vpc.way_out(network, **place)
        return network, subnetwork, nat

    def _roles(self, args: ClusterArgs) -> list[pulumi.Resource]:
        return [
            gcp.projects.IAMMember(
                f"nodes-{role.removeprefix('roles/')}",
                project=args.project,
                role=role,
                member=args.account.member,
                opts=pulumi.ResourceOptions(parent=self),
            )
            for role in NODE_ROLES
        ]

    def _cluster(
        self,
        args: ClusterArgs,
        network: gcp.compute.Network,
        subnetwork: gcp.compute.Subnetwork,
        nat: gcp.compute.RouterNat,
    ) -> gcp.container.Cluster:
        return gcp.container.Cluster(
            args.name,
            project=args.project,
            name=args.name,
            location=args.region,
            node_locations=list(args.zones),
            network=network.id,
            subnetwork=subnetwork.id,
            networking_mode="VPC_NATIVE",
            ip_allocation_policy=gcp.container.ClusterIpAllocationPolicyArgs(
                cluster_secondary_range_name=PODS, services_secondary_range_name=SERVICES
            ),
            private_cluster_config=gcp.container.ClusterPrivateClusterConfigArgs(enable_private_nodes=True),
            datapath_provider="ADVANCED_DATAPATH",
            release_channel=gcp.container.ClusterReleaseChannelArgs(channel=args.channel),
            min_master_version=args.version,
            workload_identity_config=gcp.container.ClusterWorkloadIdentityConfigArgs(
                workload_pool=f"{args.project}.svc.id.goog"
            ),
            # An idle slice costs as much as a busy one, so nodes go soon after their pods.
            cluster_autoscaling=gcp.container.ClusterClusterAutoscalingArgs(
                enabled=False, autoscaling_profile="OPTIMIZE_UTILIZATION"
            ),
            addons_config=gcp.container.ClusterAddonsConfigArgs(
                gcs_fuse_csi_driver_config=gcp.container.ClusterAddonsConfigGcsFuseCsiDriverConfigArgs(enabled=True)
            ),
            # Always: the provider cannot take the block away again, for its update then says nothing.
            secret_manager_config=gcp.container.ClusterSecretManagerConfigArgs(enabled=True),
            maintenance_policy=_maintenance(args.maintenance),
            remove_default_node_pool=True,
            initial_node_count=1,
            # Of the pool that is removed: the default machine is an e2, which us-central2-b does not have, and the
            # default account may edit the project.
            node_config=gcp.container.ClusterNodeConfigArgs(
                machine_type=args.first_machine, service_account=args.account.email, oauth_scopes=[CLOUD_PLATFORM_SCOPE]
            ),
            resource_labels=dict(args.labels),
            deletion_protection=args.deletion_protection,
            opts=pulumi.ResourceOptions(
                parent=self,
                # Google refuses to delete it too, but only after every pool is gone; this refuses before anything is.
                protect=args.deletion_protection,
                # A private node without a way out pulls no image from elsewhere, and its pool fails.
                depends_on=[nat],
                # Once that pool is removed, what is read is another pool's, and a difference would replace the cluster.
                ignore_changes=["nodeConfig"],
            ),
        )


def _maintenance(args: MaintenanceArgs) -> gcp.container.ClusterMaintenancePolicyArgs:
    return gcp.container.ClusterMaintenancePolicyArgs(
        recurring_window=gcp.container.ClusterMaintenancePolicyRecurringWindowArgs(
            start_time=args.start, end_time=args.end, recurrence=args.recurrence
        ),
        maintenance_exclusions=[
            gcp.container.ClusterMaintenancePolicyMaintenanceExclusionArgs(
                exclusion_name=each.name,
                start_time=each.start,
                end_time=each.end,
                exclusion_options=gcp.container.ClusterMaintenancePolicyMaintenanceExclusionExclusionOptionsArgs(
                    scope=each.scope
                ),
            )
            for each in args.exclusions
        ]
        or None,
    )
