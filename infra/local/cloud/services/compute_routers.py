"""Compute Engine: routers and the NAT gateways in them.

A NAT is no resource of its own: it is an entry of the router's list, which is written as a whole. A patch without
that list keeps it. Source: cloud.google.com/nat/docs/nat-rules-overview and .../compute/docs/reference/rest/v1/routers,
read 2026-11.
"""

from __future__ import annotations

import re

from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import compute_base as base
from infra.local.cloud.services import compute_subnetworks as subnetworks
from infra.local.cloud.store import Resource

_ROUTER = "compute.router"
_NAT_NAME = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])")
_MUTABLE = frozenset({"description", "bgp", "bgpPeers", "interfaces", "nats"})
_LISTED = "LIST_OF_SUBNETWORKS"
_WIDE = frozenset({"ALL_SUBNETWORKS_ALL_IP_RANGES", "ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES"})
# RFC 6996, and the number Google lets partners use.
_PRIVATE_ASNS = (range(64512, 65535), range(4_200_000_000, 4_294_967_295), range(16550, 16551))


@handles("compute.routers.insert")
def insert_router(call: Call) -> JsonObject:
    name = base.new_name(call, "routers")
    network = subnetworks.usable_network(call, call.body.get("network", ""))
    body = {**call.body, "network": network.name}
    body.pop("region", None)
    return base.insert(call, _ROUTER, name, _checked(call, body, name))


@handles("compute.routers.patch")
def patch_router(call: Call) -> JsonObject:
    held = _router(call)
    body = base.patched(held, call.body, _MUTABLE)
    return base.replace(call, held, _checked(call, body, held.name))


@handles("compute.routers.update")
def update_router(call: Call) -> JsonObject:
    held = _router(call)
    fixed = {key: value for key, value in held.body.items() if key not in _MUTABLE}
    sent = {key: value for key, value in call.body.items() if key in _MUTABLE}
    return base.replace(call, held, _checked(call, {**fixed, **sent}, held.name), "update")


@handles("compute.routers.delete")
def delete_router(call: Call) -> JsonObject:
    return base.delete(call, _router(call))


def _router(call: Call) -> Resource:
    return base.find(call, _ROUTER, f"{base.scope(call)}/routers/{call.ids['router']}")


base.serve_reads("routers", _ROUTER, "router", lambda call, held: base.shown(call, held, "compute#router"))


def _checked(call: Call, body: JsonObject, name: str) -> JsonObject:
    asn = (body.get("bgp") or {}).get("asn")
    if asn is not None and not any(int(asn) in block for block in _PRIVATE_ASNS):
        raise base.bad_value("bgp.asn", asn, "Must be a private number of RFC 6996.")
    nats = body.get("nats") or []
    names = [nat.get("name", "") for nat in nats]
    if len(set(names)) != len(names):
        raise base.bad_value("nats", ", ".join(names), "Names of NATs must differ.")
    checked = [_checked_nat(call, nat, f"nats[{index}]", body["network"]) for index, nat in enumerate(nats)]
    wide = [nat["name"] for nat in checked if nat["sourceSubnetworkIpRangesToNat"] in _WIDE]
    wide += _wide_elsewhere(call, body["network"], name) if wide else []
    if len(wide) > 1:
        raise base.bad_value("nats", ", ".join(wide), "Only one NAT of a network and region may serve all subnetworks.")
    return {**body, "nats": checked}


def _wide_elsewhere(call: Call, network: str, but: str) -> list[str]:
    """NATs of other routers in this region and network that serve all subnetworks."""
    return [
        nat["name"]
        for router in call.cloud.store.each(_ROUTER, f"{base.scope(call)}/routers/")
        if router.name != but and router.body["network"] == network
        for nat in router.body.get("nats", [])
        if nat["sourceSubnetworkIpRangesToNat"] in _WIDE
    ]


def _checked_nat(call: Call, nat: JsonObject, where: str, network: str) -> JsonObject:
    if not _NAT_NAME.fullmatch(nat.get("name", "")):
        raise base.bad_value(f"{where}.name", nat.get("name", ""), f"Must be a match of regex '{_NAT_NAME.pattern}'")
    sources = nat.get("sourceSubnetworkIpRangesToNat")
    if sources is None:
        raise base.bad_value(f"{where}.sourceSubnetworkIpRangesToNat", "", "A source must be given.")
    if nat.get("natIpAllocateOption") == "MANUAL_ONLY" and not nat.get("natIps"):
        raise base.bad_value(f"{where}.natIps", "", "Manual allocation needs addresses.")
    if (sources == _LISTED) != bool(nat.get("subnetworks")):
        raise base.bad_value(f"{where}.subnetworks", "", f"They must be given exactly when the source is {_LISTED}.")
    if sources != _LISTED:
        return nat
    listed = [
        _checked_source(call, each, f"{where}.subnetworks[{at}]", network) for at, each in enumerate(nat["subnetworks"])
    ]
    return {**nat, "subnetworks": listed}


def _checked_source(call: Call, source: JsonObject, where: str, network: str) -> JsonObject:
    name = base.relative(call, source.get("name", ""), field=f"{where}.name")
    subnetwork = base.find(call, subnetworks.SUBNETWORK, name)
    if subnetwork.body["network"] != network:
        raise base.bad_value(f"{where}.name", name, "The subnetwork lies in another network than the router.")
    return {**source, "name": name}
