"""The network that TPU VMs live in: one VPC, a subnet for each region in use, NAT where a VM has no address of its own.

Owns connectivity. Makes no firewall rule, for runners call out; the one between hosts of a slice is their pool's.
Addresses and names are the model's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_gcp as gcp

from infra.components import vpc


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
        network = vpc.network(self, args.project, args.network)
        self.ways_out = {subnet.region: self._subnet(args.project, network, subnet) for subnet in args.subnets}
        self.network_path = network.id
        self.register_outputs({"network_path": self.network_path})

    def _subnet(self, project: str, network: gcp.compute.Network, subnet: Subnet) -> tuple[pulumi.Resource, ...]:
        place: dict[str, Any] = {"parent": self, "project": project, "name": subnet.name, "region": subnet.region}
        made = vpc.subnet(network, **place, cidr=subnet.cidr)
        return (made, vpc.way_out(network, **place)) if subnet.nat else (made,)
