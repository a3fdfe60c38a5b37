"""What every network of ours is made of, below the components that own one: a VPC, a subnet, a way out of it.

Makes no firewall rule: a VPC refuses what comes in unless a rule lets it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp


def network(parent: pulumi.Resource, project: str, name: str) -> gcp.compute.Network:
    """A VPC without subnets of its own making."""
    return gcp.compute.Network(
        name,
        project=project,
        name=name,
        auto_create_subnetworks=False,
        routing_mode="REGIONAL",
        opts=pulumi.ResourceOptions(parent=parent),
    )


def subnet(
    within: gcp.compute.Network,
    parent: pulumi.Resource,
    project: str,
    name: str,
    *,
    region: str,
    cidr: str,
    secondary: Sequence[gcp.compute.SubnetworkSecondaryIpRangeArgs] | None = None,
) -> gcp.compute.Subnetwork:
    """One region's part of a VPC, from which Google's APIs are reached without an external address."""
    return gcp.compute.Subnetwork(
        name,
        project=project,
        name=name,
        region=region,
        network=within.id,
        ip_cidr_range=cidr,
        private_ip_google_access=True,
        secondary_ip_ranges=secondary,
        opts=pulumi.ResourceOptions(parent=parent),
    )


def way_out(
    within: gcp.compute.Network, parent: pulumi.Resource, project: str, name: str, *, region: str
) -> gcp.compute.RouterNat:
    """Of machines without an external address: a router, and its NAT."""
    router = gcp.compute.Router(
        name,
        project=project,
        name=name,
        region=region,
        network=within.id,
        opts=pulumi.ResourceOptions(parent=parent),
    )
    # A NAT is an entry of its router and not an object of its own: it takes the router's name, never its link.
    return gcp.compute.RouterNat(
        name,
        project=project,
        name=name,
        region=region,
        router=router.name,
        nat_ip_allocate_option="AUTO_ONLY",
        source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
        opts=pulumi.ResourceOptions(parent=parent),
    )
