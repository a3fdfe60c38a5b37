"""Compute Engine: networks, firewall rules, subnetworks, routers with the NAT gateways in them, resource policies.

Owns the default network that every project begins with, with a subnetwork in each region, and what keeps a network
from being deleted. A NAT is no resource of its own: it is an entry of its router's list, which is written as a whole,
and which a patch without that list keeps. Nothing is placed by a resource policy.
Sources: cloud.google.com/vpc/docs/vpc, .../docs/subnets and cloud.google.com/compute/docs/reference/rest/v1/networks,
read 2026-11.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from types import MappingProxyType

from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, invalid
from bench.cloud.services import places
from bench.cloud.services.compute import base
from bench.cloud.services.compute.base import OfCompute
from bench.cloud.store import Resource

_AUTO_BLOCK = ipaddress.IPv4Network("10.128.0.0/9")
_LOG_DEFAULTS = {"aggregationInterval": "INTERVAL_5_SEC", "flowSampling": 0.5, "metadata": "EXCLUDE_ALL_METADATA"}
# The kinds in which the TPU service keeps its nodes, and the GKE service its clusters.
_TPU_NODE = "tpu.node"
_CLUSTER = "container.cluster"


class _OfProject(OfCompute):
    """What is there before anybody makes any."""

    def parent(self, call: ApiCall) -> str:
        parent = super().parent(call)
        begin_project(call.cloud, parent.split("/")[1])
        return parent


class _Networks(_OfProject):
    api = "compute.networks"
    kind = "compute.network"
    defaults = MappingProxyType(
        {
            "mtu": 1460, "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL",
            "autoCreateSubnetworks": True, "routingConfig": {"routingMode": "REGIONAL"},
        }
    )  # fmt: skip

    def clear(self, call: ApiCall, held: Resource) -> None:
        automatic = held.body["autoCreateSubnetworks"]
        kinds = (_CLUSTER, _Routers.kind, _Firewalls.kind, *(() if automatic else (SUBNETWORKS.kind,)))
        base.check_unused(call.cloud, held, kinds)
        for subnetwork in list(_of_network(call.cloud, held.name)):
            SUBNETWORKS.clear(call, subnetwork)
            call.cloud.store.delete(subnetwork.kind, subnetwork.name)

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        members = [subnetwork.name for subnetwork in _of_network(cloud, held.name)]
        shown = {**super().shown(cloud, held), **({"subnetworks": members} if members else {})}
        return {**shown, "selfLinkWithId": f"{held.name.rpartition('/')[0]}/{held.uid}"}


NETWORKS = _Networks()


def begin_project(cloud: Cloud, project: str) -> None:
    """Give a project its default network, once: a deleted one does not come back."""
    mark, name = f"compute.default/{project}", f"projects/{project}/global/networks/default"
    if cloud.store.setting(mark):
        return
    cloud.store.set_setting(mark, value=True)
    body = {**NETWORKS.defaults, "name": "default", "description": "Default network for the project"}
    cloud.store.insert(NETWORKS.kind, name, body, now=cloud.now)
    for region, block in zip(places.REGIONS, _AUTO_BLOCK.subnets(new_prefix=20), strict=False):
        ranges = {"ipCidrRange": str(block), "gatewayAddress": str(block[1])}
        body = {**SUBNETWORKS.defaults, "name": "default", "network": name, **ranges}
        cloud.store.insert(
            SUBNETWORKS.kind, f"projects/{project}/regions/{region}/subnetworks/default", body, now=cloud.now
        )


def usable_network(cloud: Cloud, user: str, link: str) -> Resource:
    """The network that a body names. user: whose body it is. Raises 404."""
    name = base.relative(user, link)
    begin_project(cloud, name.split("/")[1])
    return NETWORKS.named(cloud, name)


class _InNetwork(_OfProject):
    """What belongs to a network, which a body names."""

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        link = body.get("network", "global/networks/default")
        return super().checked(cloud, name, {**body, "network": usable_network(cloud, name, link).name})


class _Firewalls(_InNetwork):
    api = "compute.firewalls"
    kind = "compute.firewall"
    defaults = MappingProxyType(
        {"priority": 1000, "direction": "INGRESS", "disabled": False, "logConfig": {"enable": False}}
    )


_Firewalls()


class _Subnetworks(_InNetwork):
    api = "compute.subnetworks"
    kind = "compute.subnetwork"
    defaults = MappingProxyType(
        {
            "purpose": "PRIVATE", "stackType": "IPV4_ONLY", "privateIpGoogleAccess": False,
            "privateIpv6GoogleAccess": "DISABLE_GOOGLE_ACCESS",
        }
    )  # fmt: skip

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        """The body with its gateway, the first usable address, and with logging filled in."""
        body = {**super().checked(cloud, name, body), "gatewayAddress": str(_block(body.get("ipCidrRange", ""))[1])}
        logs = body.get("logConfig", {})
        return {**body, "logConfig": {**_LOG_DEFAULTS, **logs}} if logs.get("enable") else body

    def clear(self, call: ApiCall, held: Resource) -> None:
        base.check_unused(call.cloud, held, (_CLUSTER, _TPU_NODE))

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "fingerprint": held.etag}


SUBNETWORKS = _Subnetworks()


@handles("compute.subnetworks.setPrivateIpGoogleAccess")
def set_private_access(call: ApiCall) -> JsonObject:
    return SUBNETWORKS.replaced(call, {"privateIpGoogleAccess": call.body.get("privateIpGoogleAccess", False)})


@handles("compute.subnetworks.expandIpCidrRange")
def expand_range(call: ApiCall) -> JsonObject:
    block = _block(call.body.get("ipCidrRange", ""))
    return SUBNETWORKS.replaced(call, {"ipCidrRange": str(block), "gatewayAddress": str(block[1])})


class _Routers(_InNetwork):
    api = "compute.routers"
    kind = "compute.router"

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        nats = [_nat(cloud, name, nat) for nat in body.get("nats") or []]
        return super().checked(cloud, name, {**body, "nats": nats})


_Routers()


class _ResourcePolicies(OfCompute):
    """By which machines are placed."""

    api = "compute.resourcePolicies"
    kind = "compute.resourcePolicy"
    defaults = MappingProxyType({"status": "READY"})
    noun = "resourcePolicy"


RESOURCE_POLICIES = _ResourcePolicies()


def _nat(cloud: Cloud, router: str, nat: JsonObject) -> JsonObject:
    """A NAT whose subnetworks are named by their paths. Raises 404 for one that is not there."""
    if not nat.get("subnetworks"):
        return nat
    named = [
        {**each, "name": SUBNETWORKS.named(cloud, base.relative(router, each["name"])).name}
        for each in nat["subnetworks"]
    ]
    return {**nat, "subnetworks": named}


def _of_network(cloud: Cloud, network: str) -> Iterator[Resource]:
    held = cloud.store.each(SUBNETWORKS.kind, f"projects/{network.split('/')[1]}/regions/")
    return (subnetwork for subnetwork in held if subnetwork.body["network"] == network)


def _block(text: str) -> ipaddress.IPv4Network:
    try:
        return ipaddress.IPv4Network(text)
    except ValueError:
        raise invalid(f"'{text}' is no CIDR address range without host bits.") from None
