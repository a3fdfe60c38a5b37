"""The network that TPU VMs live in: one VPC, a subnet for each region in use, NAT where a VM has no address of its own.

Owns connectivity. Makes no firewall rule: a VPC refuses what comes in unless a rule lets it, and runners call out. The
one between hosts of a slice is their pool's. Addresses and names are the model's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """One region's part of the network.

    cidr: its IPv4 range. nat: whether VMs without an external address need a way out.
    """

    region: str
    name: str
    cidr: str
    nat: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkArgs:
    """network: the VPC's name. subnets: one a region, sorted by the caller's choice."""

    project: str
    network: str
    subnets: tuple[Subnet, ...]


class Network(pulumi.ComponentResource):
    """A VPC without inbound rules.

    ways_out: by region, what must exist before a VM there can boot: its subnet, and its NAT where it needs one.
    """

    network_path: pulumi.Output[str]
    ways_out: Mapping[str, tuple[pulumi.Resource, ...]]

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:network:Network", name, None, opts)
        network = gcp.compute.Network(
            args.network,
            project=args.project,
            name=args.network,
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.ways_out = {subnet.region: self._subnet(args.project, network, subnet) for subnet in args.subnets}
        self.network_path = network.id
        self.register_outputs({"network_path": self.network_path})

    def _subnet(self, project: str, network: gcp.compute.Network, subnet: Subnet) -> tuple[pulumi.Resource, ...]:
        made = gcp.compute.Subnetwork(
            subnet.name,
            project=project,
            name=subnet.name,
            region=subnet.region,
            network=network.id,
            ip_cidr_range=subnet.cidr,
            private_ip_google_access=True,
            opts=pulumi.ResourceOptions(parent=self),
        )
        if not subnet.nat:
            return (made,)
        router = gcp.compute.Router(
            subnet.name,
            project=project,
            name=subnet.name,
            region=subnet.region,
            network=network.id,
            opts=pulumi.ResourceOptions(parent=self),
        )
        # A NAT is an entry of its router and not an object of its own: it takes the router's name, never its link.
        nat = gcp.compute.RouterNat(
            subnet.name,
            project=project,
            name=subnet.name,
            region=subnet.region,
            router=router.name,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
            opts=pulumi.ResourceOptions(parent=self),
        )
        return (made, nat)
