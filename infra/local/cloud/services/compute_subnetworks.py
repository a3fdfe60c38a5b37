"""Compute Engine: subnetworks, the networks they lie in, and what of both other services may ask.

Owns address ranges (form, overlap, growth), the automatic subnetworks of auto-mode networks, and the default network
that every project begins with. Sources: cloud.google.com/vpc/docs/subnets and .../docs/create-modify-vpc-networks,
read 2026-11.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from itertools import islice

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import ApiError
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import compute_base as base
from infra.local.cloud.services import places
from infra.local.cloud.store import Resource

NETWORK, SUBNETWORK = "compute.network", "compute.subnetwork"
_AUTO_BLOCK = ipaddress.IPv4Network("10.128.0.0/9")
_AUTO_PREFIX = 20
_LONGEST_PREFIX = 29
_DEFAULTS = {
    "purpose": "PRIVATE",
    "stackType": "IPV4_ONLY",
    "privateIpGoogleAccess": False,
    "privateIpv6GoogleAccess": "DISABLE_GOOGLE_ACCESS",
}
_LOG_DEFAULTS = {
    "aggregationInterval": "INTERVAL_5_SEC",
    "flowSampling": 0.5,
    "metadata": "EXCLUDE_ALL_METADATA",
}
_MUTABLE = frozenset({"privateIpGoogleAccess", "logConfig", "secondaryIpRanges", "enableFlowLogs", "role", "stackType"})
_DAY = 86400.0
# The kind in which the TPU service keeps its nodes.
_TPU_NODE = "tpu.node"


def begin_project(cloud: Cloud, project: str) -> None:
    """Give a project its default network, once: a deleted one does not come back."""
    mark, name = f"compute.default/{project}", f"projects/{project}/global/networks/default"
    if cloud.store.setting(mark):
        return
    cloud.store.set_setting(mark, value=True)
    if cloud.store.find(NETWORK, name) is None:
        body: JsonObject = {
            "name": "default",
            "description": "Default network for the project",
            "autoCreateSubnetworks": True,
            "mtu": 1460,
            "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL",
            "routingConfig": {"routingMode": "REGIONAL"},
        }
        # It is as old as the project, so it is ready at once.
        cloud.store.insert(NETWORK, name, body, now=cloud.now - _DAY)
        insert_automatic(cloud, name)


def begin(call: Call) -> None:
    """What must have happened before a call reads networks or subnetworks."""
    begin_project(call.cloud, base.project_of(call))


def insert_automatic(cloud: Cloud, network: str) -> None:
    """One subnetwork in every region, named like the network, from the block Google keeps for this."""
    _, project, _, _, name = network.split("/")
    blocks = islice(_AUTO_BLOCK.subnets(new_prefix=_AUTO_PREFIX), len(places.REGIONS))
    for region, block in zip(places.REGIONS, blocks, strict=True):
        full = f"projects/{project}/regions/{region}/subnetworks/{name}"
        body = {
            **_DEFAULTS,
            "name": name,
            "network": network,
            "ipCidrRange": str(block),
            "gatewayAddress": _gateway(block),
        }
        cloud.store.insert(SUBNETWORK, full, body, now=cloud.now)


def of_network(cloud: Cloud, network: str) -> Iterator[Resource]:
    project = network.split("/")[1]
    held = cloud.store.each(SUBNETWORK, f"projects/{project}/regions/")
    return (subnetwork for subnetwork in held if subnetwork.body["network"] == network)


def usable_network(call: Call, link: str) -> Resource:
    """The network that a body names. Raises 404 where there is none, 400 while it is being made."""
    name = base.relative(call, link, field="network")
    begin_project(call.cloud, name.split("/")[1])
    held = base.find(call, NETWORK, name)
    base.ready(call, held)
    return held


def check_unused(cloud: Cloud, held: Resource) -> None:
    """Raises 400 for a subnetwork in which a TPU VM lives."""
    project = held.name.split("/")[1]
    for node in cloud.store.each(_TPU_NODE, f"projects/{project}/locations/"):
        public = node.body["public"]
        used = [public.get("networkConfig", {}), *public.get("networkConfigs", [])]
        if any(config.get("subnetwork", "").endswith(held.name) for config in used):
            raise base.in_use(held.name, node.name)


@handles("compute.subnetworks.insert")
def insert_subnetwork(call: Call) -> JsonObject:
    name = base.new_name(call, "subnetworks")
    network = usable_network(call, call.body.get("network", ""))
    if network.body["autoCreateSubnetworks"]:
        raise base.bad_value("network", network.name, "The network is in auto mode; its subnetworks are made for it.")
    body: JsonObject = {**_DEFAULTS, **call.body, "network": network.name}
    body.pop("region", None)
    block = _block(body.get("ipCidrRange", ""), "ipCidrRange")
    _check_free(call, network.name, block, but=name)
    body["gatewayAddress"] = _gateway(block)
    return base.insert(call, SUBNETWORK, name, _complete(call, body, name))


@handles("compute.subnetworks.patch")
def patch_subnetwork(call: Call) -> JsonObject:
    held = _subnetwork(call)
    base.check_fingerprint(held, call.body)
    return base.replace(call, held, _complete(call, base.patched(held, call.body, _MUTABLE), held.name))


@handles("compute.subnetworks.setPrivateIpGoogleAccess")
def set_private_access(call: Call) -> JsonObject:
    held = _subnetwork(call)
    wanted = call.body.get("privateIpGoogleAccess", False)
    return base.replace(call, held, {**held.body, "privateIpGoogleAccess": wanted}, "setPrivateIpGoogleAccess")


@handles("compute.subnetworks.expandIpCidrRange")
def expand_range(call: Call) -> JsonObject:
    held = _subnetwork(call)
    wanted = _block(call.body.get("ipCidrRange", ""), "ipCidrRange")
    current = ipaddress.IPv4Network(held.body["ipCidrRange"])
    if wanted == current or not wanted.supernet_of(current):
        raise base.bad_value("ipCidrRange", wanted, f"The range must be larger than {current} and contain it.")
    _check_free(call, held.body["network"], wanted, but=held.name)
    body = {**held.body, "ipCidrRange": str(wanted), "gatewayAddress": _gateway(wanted)}
    return base.replace(call, held, body, "expandIpCidrRange")


@handles("compute.subnetworks.delete")
def delete_subnetwork(call: Call) -> JsonObject:
    held = _subnetwork(call)
    check_unused(call.cloud, held)
    return base.delete(call, held)


def _subnetwork(call: Call) -> Resource:
    begin(call)
    return base.find(call, SUBNETWORK, f"{base.scope(call)}/subnetworks/{call.ids['subnetwork']}")


def _show(call: Call, held: Resource) -> JsonObject:
    return {**base.shown(call, held, "compute#subnetwork"), "fingerprint": held.etag}


base.serve_reads("subnetworks", SUBNETWORK, "subnetwork", _show, begin)


def _complete(call: Call, body: JsonObject, name: str) -> JsonObject:
    """The body with logging filled in and secondary ranges checked; the fingerprint is no part of it."""
    body = {key: value for key, value in body.items() if key != "fingerprint"}
    if body.get("logConfig", {}).get("enable"):
        body["logConfig"] = {**_LOG_DEFAULTS, **body["logConfig"]}
    for index, secondary in enumerate(body.get("secondaryIpRanges", [])):
        block = _block(secondary.get("ipCidrRange", ""), f"secondaryIpRanges[{index}].ipCidrRange")
        _check_free(call, body["network"], block, but=name)
    return body


def _block(text: str, field: str) -> ipaddress.IPv4Network:
    try:
        block = ipaddress.IPv4Network(text)
    except ValueError:
        raise base.bad_value(field, text, "Must be a CIDR address range without host bits.") from None
    if block.prefixlen > _LONGEST_PREFIX:
        raise base.bad_value(field, text, f"Must be a range of /{_LONGEST_PREFIX} or larger.")
    return block


def _check_free(call: Call, network: str, block: ipaddress.IPv4Network, *, but: str) -> None:
    """Raises 400 when the range overlaps one of another subnetwork of the network."""
    for other in of_network(call.cloud, network):
        ranges = [other.body["ipCidrRange"], *(each["ipCidrRange"] for each in other.body.get("secondaryIpRanges", []))]
        if other.name != but and any(block.overlaps(ipaddress.IPv4Network(held)) for held in ranges):
            _, _, _, region, _, name = other.name.split("/")
            raise ApiError(
                400,
                f"Invalid IPCidrRange: {block} conflicts with existing subnetwork '{name}' in region '{region}'.",
                reason="invalid",
            )


def _gateway(block: ipaddress.IPv4Network) -> str:
    """The first usable address."""
    return str(block.network_address + 1)
