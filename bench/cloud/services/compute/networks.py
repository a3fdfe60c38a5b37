"""Compute Engine: networks, firewall rules and subnetworks.

Owns the mode of a network, the default network that every project begins with, what keeps a network from being
deleted, address ranges (form, overlap, growth), and the automatic subnetworks of auto-mode networks.
Sources: cloud.google.com/vpc/docs/vpc, .../docs/subnets, .../docs/create-modify-vpc-networks and
cloud.google.com/compute/docs/reference/rest/v1/networks, read 2026-11.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from itertools import islice
from types import MappingProxyType

from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import ApiError, JsonObject
from bench.cloud.services import places
from bench.cloud.services.compute import base
from bench.cloud.services.compute.base import OfCompute, bad_value
from bench.cloud.store import Resource

_AUTO_BLOCK = ipaddress.IPv4Network("10.128.0.0/9")
_AUTO_PREFIX = 20
_LONGEST_PREFIX = 29
_LOG_DEFAULTS = {
    "aggregationInterval": "INTERVAL_5_SEC",
    "flowSampling": 0.5,
    "metadata": "EXCLUDE_ALL_METADATA",
}
_DAY = 86400.0
# The kinds in which the TPU service keeps its nodes, and the GKE service its clusters.
_TPU_NODE = "tpu.node"
_CLUSTER = "container.cluster"


class _Networks(OfCompute):
    api = "compute.networks"
    kind = "compute.network"
    mutable = frozenset({"routingConfig", "mtu", "networkFirewallPolicyEnforcementOrder"})
    defaults = MappingProxyType(
        {
            "mtu": 1460,
            "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL",
            "autoCreateSubnetworks": True,
        }
    )

    def parent(self, call: ApiCall) -> str:
        parent = super().parent(call)
        begin_project(call.cloud, parent.split("/")[1])
        return parent

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        before = self.find(cloud, name)
        routing = before.body["routingConfig"] if before else {"routingMode": "REGIONAL"}
        body["routingConfig"] = {**routing, **body.get("routingConfig", {})}
        return super().checked(cloud, name, body)

    def made(self, cloud: Cloud, name: str, body: JsonObject) -> Resource:
        made = super().made(cloud, name, body)
        if body["autoCreateSubnetworks"]:
            _insert_automatic(cloud, name)
        return made

    def clear(self, call: ApiCall, held: Resource) -> None:
        automatic, project = held.body["autoCreateSubnetworks"], "/".join(held.name.split("/")[:2])
        _refuse_of_cluster(call.cloud, held)
        for kind in (SUBNETWORKS.kind, "compute.router", _Firewalls.kind):
            if automatic and kind == SUBNETWORKS.kind:
                continue
            for user in call.cloud.store.each(kind, f"{project}/"):
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
    if NETWORKS.find(cloud, name) is None:
        body: JsonObject = {
            **NETWORKS.defaults,
            "name": "default",
            "description": "Default network for the project",
            "routingConfig": {"routingMode": "REGIONAL"},
        }
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


class _Firewalls(OfCompute):
    api = "compute.firewalls"
    kind = "compute.firewall"
    methods = "insert get list patch update delete"
    defaults = MappingProxyType(
        {
            "priority": 1000, "direction": "INGRESS", "disabled": False, "logConfig": {"enable": False},
        }
    )  # fmt: skip

    def merged(self, call: ApiCall, held: Resource) -> JsonObject:
        fixed = ("name", "network", "direction")
        kept = held.body if call.method.endswith(".patch") else {key: held.body[key] for key in ("name", "network")}
        return {**self.defaults, **kept, **{key: value for key, value in call.body.items() if key not in fixed}}

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        if self.find(cloud, name) is None:
            body["network"] = usable_network(cloud, name, body.get("network", "global/networks/default")).name
        if bool(body.get("allowed")) == bool(body.get("denied")):
            raise bad_value("allowed", body.get("allowed", ""), "Exactly one of allowed and denied must be given.")
        sources = ("sourceRanges", "sourceTags", "sourceServiceAccounts")
        if body["direction"] == "INGRESS" and not any(body.get(field) for field in sources):
            body["sourceRanges"] = ["0.0.0.0/0"]
        return super().checked(cloud, name, body)


_Firewalls()


class _Subnetworks(OfCompute):
    api = "compute.subnetworks"
    kind = "compute.subnetwork"
    mutable = frozenset(
        {"privateIpGoogleAccess", "logConfig", "secondaryIpRanges", "enableFlowLogs", "role", "stackType"}
    )
    defaults = MappingProxyType(
        {
            "purpose": "PRIVATE",
            "stackType": "IPV4_ONLY",
            "privateIpGoogleAccess": False,
            "privateIpv6GoogleAccess": "DISABLE_GOOGLE_ACCESS",
        }
    )

    def parent(self, call: ApiCall) -> str:
        parent = super().parent(call)
        begin_project(call.cloud, parent.split("/")[1])
        return parent

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        """The body with logging filled in and ranges checked."""
        if self.find(cloud, name) is None:
            network = usable_network(cloud, name, body.get("network", ""))
            if network.body["autoCreateSubnetworks"]:
                raise bad_value(
                    "network", network.name, "The network is in auto mode; its subnetworks are made for it."
                )
            body["network"] = network.name
            body["gatewayAddress"] = _gateway(_free(cloud, body, name, body.get("ipCidrRange", ""), "ipCidrRange"))
        if body.get("logConfig", {}).get("enable"):
            body["logConfig"] = {**_LOG_DEFAULTS, **body["logConfig"]}
        for index, secondary in enumerate(body.get("secondaryIpRanges", [])):
            _free(cloud, body, name, secondary.get("ipCidrRange", ""), f"secondaryIpRanges[{index}].ipCidrRange")
        return super().checked(cloud, name, body)

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
    held = SUBNETWORKS.found(call)
    wanted = call.body.get("privateIpGoogleAccess", False)
    return SUBNETWORKS.replaced(call, held, {**held.body, "privateIpGoogleAccess": wanted})


@handles("compute.subnetworks.expandIpCidrRange")
def expand_range(call: ApiCall) -> JsonObject:
    held = SUBNETWORKS.found(call)
    wanted = _block(call.body.get("ipCidrRange", ""), "ipCidrRange")
    current = ipaddress.IPv4Network(held.body["ipCidrRange"])
    if wanted == current or not wanted.supernet_of(current):
        raise bad_value("ipCidrRange", wanted, f"The range must be larger than {current} and contain it.")
    _free(call.cloud, held.body, held.name, str(wanted), "ipCidrRange")
    grown = {**held.body, "ipCidrRange": str(wanted), "gatewayAddress": _gateway(wanted)}
    return SUBNETWORKS.replaced(call, held, grown)


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
    blocks = islice(_AUTO_BLOCK.subnets(new_prefix=_AUTO_PREFIX), len(places.REGIONS))
    for region, block in zip(places.REGIONS, blocks, strict=True):
        ranges = {"ipCidrRange": str(block), "gatewayAddress": _gateway(block)}
        body = {**SUBNETWORKS.defaults, "name": name, "network": network, **ranges}
        full = f"projects/{project}/regions/{region}/subnetworks/{name}"
        cloud.store.insert(SUBNETWORKS.kind, full, body, now=cloud.now)


def _block(text: str, field: str) -> ipaddress.IPv4Network:
    try:
        block = ipaddress.IPv4Network(text)
    except ValueError:
        raise bad_value(field, text, "Must be a CIDR address range without host bits.") from None
    if block.prefixlen > _LONGEST_PREFIX:
        raise bad_value(field, text, f"Must be a range of /{_LONGEST_PREFIX} or larger.")
    return block


def _free(cloud: Cloud, body: JsonObject, name: str, text: str, field: str) -> ipaddress.IPv4Network:
    """A range of a subnetwork. Raises 400 when it overlaps one of another subnetwork of the network."""
    block = _block(text, field)
    for other in _of_network(cloud, body["network"]):
        ranges = [other.body["ipCidrRange"], *(each["ipCidrRange"] for each in other.body.get("secondaryIpRanges", []))]
        if other.name != name and any(block.overlaps(ipaddress.IPv4Network(held)) for held in ranges):
            _, _, _, region, _, called = other.name.split("/")
            raise ApiError(
                400,
                f"Invalid IPCidrRange: {block} conflicts with existing subnetwork '{called}' in region '{region}'.",
                reason="invalid",
            )
    return block


def _gateway(block: ipaddress.IPv4Network) -> str:
    """The first usable address."""
    return str(block.network_address + 1)
