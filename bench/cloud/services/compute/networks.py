"""Compute Engine: networks, firewall rules, subnetworks, and routers with the NAT gateways in them.

Owns the default network that every project begins with, what keeps a network from being deleted, and the automatic
subnetworks of auto-mode networks. A NAT is no resource of its own: it is an entry of its router's list, which is
written as a whole, and which a patch without that list keeps.
Sources: cloud.google.com/vpc/docs/vpc, .../docs/subnets and cloud.google.com/compute/docs/reference/rest/v1/networks,
read 2026-11.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from types import MappingProxyType

from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject
from bench.cloud.services import places
from bench.cloud.services.compute import base
from bench.cloud.services.compute.base import OfCompute, bad_value
from bench.cloud.store import Resource

_AUTO_BLOCK = ipaddress.IPv4Network("10.128.0.0/9")
_LOG_DEFAULTS = {"aggregationInterval": "INTERVAL_5_SEC", "flowSampling": 0.5, "metadata": "EXCLUDE_ALL_METADATA"}
_DAY = 86400.0
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
    mutable = frozenset({"routingConfig", "mtu", "networkFirewallPolicyEnforcementOrder"})
    defaults = MappingProxyType(
        {
            "mtu": 1460, "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL",
            "autoCreateSubnetworks": True, "routingConfig": {"routingMode": "REGIONAL"},
        }
    )  # fmt: skip

    def made(self, cloud: Cloud, name: str, body: JsonObject) -> Resource:
        made = super().made(cloud, name, body)
        if body["autoCreateSubnetworks"]:
            _insert_automatic(cloud, name)
        return made

    def clear(self, call: ApiCall, held: Resource) -> None:
        automatic, project = held.body["autoCreateSubnetworks"], "/".join(held.name.split("/")[:2])
        _refuse_of_cluster(call.cloud, held)
        kinds = (_Routers.kind, _Firewalls.kind, *(() if automatic else (SUBNETWORKS.kind,)))
        for user in (each for kind in kinds for each in call.cloud.store.each(kind, f"{project}/")):
            if user.body["network"] == held.name:
                raise base.in_use(held.name, user.name)
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
    # It is as old as the project, so it is ready at once.
    cloud.store.insert(NETWORKS.kind, name, body, now=cloud.now - _DAY)
    _insert_automatic(cloud, name)


def usable_network(cloud: Cloud, user: str, link: str) -> Resource:
    """The network that a body names. user: whose body it is. Raises 404, and 400 while the network is being made."""
    name = base.relative(cloud, user, link, field="network")
    begin_project(cloud, name.split("/")[1])
    held = NETWORKS.named(cloud, name)
    base.ready(cloud, held)
    return held


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

    def merged(self, call: ApiCall, held: Resource) -> JsonObject:
        fixed = ("name", "network", "direction")
        return {**held.body, **{key: value for key, value in call.body.items() if key not in fixed}}

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        body = super().checked(cloud, name, body)
        sources = {"sourceRanges", "sourceTags", "sourceServiceAccounts"}
        anywhere = body["direction"] == "INGRESS" and not sources & body.keys()
        return {**body, "sourceRanges": ["0.0.0.0/0"]} if anywhere else body


_Firewalls()


class _Subnetworks(_InNetwork):
    api = "compute.subnetworks"
    kind = "compute.subnetwork"
    mutable = frozenset(
        {"privateIpGoogleAccess", "logConfig", "secondaryIpRanges", "enableFlowLogs", "role", "stackType"}
    )
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
        """Raises 400 for a subnetwork in which a TPU VM or a cluster lives."""
        project = held.name.split("/")[1]
        _refuse_of_cluster(call.cloud, held)
        for node in call.cloud.store.each(_TPU_NODE, f"projects/{project}/locations/"):
            public = node.body["public"]
            used = [public.get("networkConfig", {}), *public.get("networkConfigs", [])]
            if any(config.get("subnetwork", "").endswith(held.name) for config in used):
                raise base.in_use(held.name, node.name)

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
    mutable = frozenset({"description", "bgp", "bgpPeers", "interfaces", "nats"})

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        nats = [_nat(cloud, name, nat) for nat in body.get("nats") or []]
        return super().checked(cloud, name, {**body, "nats": nats})


_Routers()


def _nat(cloud: Cloud, router: str, nat: JsonObject) -> JsonObject:
    """A NAT whose subnetworks are named by their paths. Raises 404 for one that is not there."""
    if not nat.get("subnetworks"):
        return nat
    links = [
        base.relative(cloud, router, each.get("name", ""), field="nats.subnetworks") for each in nat["subnetworks"]
    ]
    named = [SUBNETWORKS.named(cloud, link).name for link in links]
    return {
        **nat,
        "subnetworks": [{**each, "name": name} for each, name in zip(nat["subnetworks"], named, strict=True)],
    }


def _refuse_of_cluster(cloud: Cloud, held: Resource) -> None:
    """Raises 400 for a network or a subnetwork that has a cluster."""
    for cluster in cloud.store.each(_CLUSTER, f"projects/{held.name.split('/')[1]}/locations/"):
        if held.name in (cluster.body["networkConfig"]["network"], cluster.body["networkConfig"]["subnetwork"]):
            raise base.in_use(held.name, cluster.name)


def _of_network(cloud: Cloud, network: str) -> Iterator[Resource]:
    held = cloud.store.each(SUBNETWORKS.kind, f"projects/{network.split('/')[1]}/regions/")
    return (subnetwork for subnetwork in held if subnetwork.body["network"] == network)


def _insert_automatic(cloud: Cloud, network: str) -> None:
    """One subnetwork in every region, named like the network, from the block Google keeps for this."""
    _, project, _, _, name = network.split("/")
    for region, block in zip(places.REGIONS, _AUTO_BLOCK.subnets(new_prefix=20), strict=False):
        ranges = {"ipCidrRange": str(block), "gatewayAddress": str(block[1])}
        body = {**SUBNETWORKS.defaults, "name": name, "network": network, **ranges}
        full = f"projects/{project}/regions/{region}/subnetworks/{name}"
        cloud.store.insert(SUBNETWORKS.kind, full, body, now=cloud.now)


def _block(text: str) -> ipaddress.IPv4Network:
    try:
        return ipaddress.IPv4Network(text)
    except ValueError:
        raise bad_value("ipCidrRange", text, "Must be a CIDR address range without host bits.") from None
