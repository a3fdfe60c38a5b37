"""Compute Engine: routers and the NAT gateways in them.

A NAT is no resource of its own: it is an entry of the router's list, which is written as a whole. A patch without
that list keeps it. Source: cloud.google.com/nat/docs/nat-rules-overview and .../compute/docs/reference/rest/v1/routers,
read 2026-11.
"""

from __future__ import annotations

import re

from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import JsonObject
from bench.cloud.services.compute import base
from bench.cloud.services.compute.base import OfCompute, bad_value
from bench.cloud.services.compute.networks import SUBNETWORKS, usable_network
from bench.cloud.store import Resource

_NAT_NAME = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])")
_LISTED = "LIST_OF_SUBNETWORKS"
_WIDE = frozenset({"ALL_SUBNETWORKS_ALL_IP_RANGES", "ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES"})
# RFC 6996, and the number Google lets partners use.
_PRIVATE_ASNS = (range(64512, 65535), range(4_200_000_000, 4_294_967_295), range(16550, 16551))


class _Routers(OfCompute):
    api = "compute.routers"
    kind = "compute.router"
    methods = "insert get list patch update delete"
    mutable = frozenset({"description", "bgp", "bgpPeers", "interfaces", "nats"})

    def merged(self, call: ApiCall, held: Resource) -> JsonObject:
        if call.method.endswith(".patch"):
            return super().merged(call, held)
        fixed = {key: value for key, value in held.body.items() if key not in self.mutable}
        return {**fixed, **{key: value for key, value in call.body.items() if key in self.mutable}}

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        if self.find(cloud, name) is None:
            body["network"] = usable_network(cloud, name, body.get("network", "")).name
        asn = (body.get("bgp") or {}).get("asn")
        if asn is not None and not any(int(asn) in block for block in _PRIVATE_ASNS):
            raise bad_value("bgp.asn", asn, "Must be a private number of RFC 6996.")
        nats = body.get("nats") or []
        names = [nat.get("name", "") for nat in nats]
        if len(set(names)) != len(names):
            raise bad_value("nats", ", ".join(names), "Names of NATs must differ.")
        checked = [_checked_nat(cloud, name, nat, f"nats[{at}]", body["network"]) for at, nat in enumerate(nats)]
        wide = _wide(checked)
        for router in cloud.store.each(self.kind, f"{name.rpartition('/')[0]}/") if wide else ():
            if router.name != name and router.body["network"] == body["network"]:
                wide += _wide(router.body.get("nats", []))
        if len(wide) > 1:
            raise bad_value("nats", ", ".join(wide), "Only one NAT of a network and region may serve all subnetworks.")
        return super().checked(cloud, name, {**body, "nats": checked})


_Routers()


def _wide(nats: list[JsonObject]) -> list[str]:
    """The names of those that serve all subnetworks."""
    return [nat["name"] for nat in nats if nat["sourceSubnetworkIpRangesToNat"] in _WIDE]


def _checked_nat(cloud: Cloud, router: str, nat: JsonObject, where: str, network: str) -> JsonObject:
    if not _NAT_NAME.fullmatch(nat.get("name", "")):
        raise bad_value(f"{where}.name", nat.get("name", ""), f"Must be a match of regex '{_NAT_NAME.pattern}'")
    sources = nat.get("sourceSubnetworkIpRangesToNat")
    if sources is None:
        raise bad_value(f"{where}.sourceSubnetworkIpRangesToNat", "", "A source must be given.")
    if nat.get("natIpAllocateOption") == "MANUAL_ONLY" and not nat.get("natIps"):
        raise bad_value(f"{where}.natIps", "", "Manual allocation needs addresses.")
    if (sources == _LISTED) != bool(nat.get("subnetworks")):
        raise bad_value(f"{where}.subnetworks", "", f"They must be given exactly when the source is {_LISTED}.")
    if sources != _LISTED:
        return nat
    listed = [
        _checked_source(cloud, router, each, f"{where}.subnetworks[{at}]", network)
        for at, each in enumerate(nat["subnetworks"])
    ]
    return {**nat, "subnetworks": listed}


def _checked_source(cloud: Cloud, router: str, source: JsonObject, where: str, network: str) -> JsonObject:
    name = base.relative(cloud, router, source.get("name", ""), field=f"{where}.name")
    subnetwork = SUBNETWORKS.named(cloud, name)
    if subnetwork.body["network"] != network:
        raise bad_value(f"{where}.name", name, "The subnetwork lies in another network than the router.")
    return {**source, "name": name}
