"""Compute Engine: networks and firewall rules.

Owns the mode of a network, the default network that every project begins with, and what keeps a network from being
deleted. Subnetworks are in `compute_subnetworks`. Sources: cloud.google.com/vpc/docs/vpc and
cloud.google.com/compute/docs/reference/rest/v1/networks, read 2026-11.
"""

from __future__ import annotations

from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import compute_base as base
from infra.local.cloud.services import compute_subnetworks as subnetworks
from infra.local.cloud.store import Resource

_NETWORK, _FIREWALL = subnetworks.NETWORK, "compute.firewall"
_DEFAULTS = {"mtu": 1460, "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL"}
_MUTABLE = frozenset({"routingConfig", "mtu", "networkFirewallPolicyEnforcementOrder"})
_FIREWALL_DEFAULTS = {"priority": 1000, "direction": "INGRESS", "disabled": False, "logConfig": {"enable": False}}
_FIREWALL_FIXED = frozenset({"name", "network", "direction"})
# What may hold a network: kind -> the collection below a region or global.
_USERS = (subnetworks.SUBNETWORK, "compute.router", _FIREWALL)


@handles("compute.networks.insert")
def insert_network(call: Call) -> JsonObject:
    subnetworks.begin(call)
    name = base.new_name(call, "networks")
    body: JsonObject = {**_DEFAULTS, **call.body}
    body["routingConfig"] = {"routingMode": "REGIONAL", **body.get("routingConfig", {})}
    body.setdefault("autoCreateSubnetworks", True)
    answer = base.insert(call, _NETWORK, name, body)
    if body["autoCreateSubnetworks"]:
        subnetworks.insert_automatic(call.cloud, name)
    return answer


@handles("compute.networks.patch")
def patch_network(call: Call) -> JsonObject:
    held = _network(call)
    body = base.patched(held, call.body, _MUTABLE)
    body["routingConfig"] = {**held.body["routingConfig"], **call.body.get("routingConfig", {})}
    return base.replace(call, held, body)


@handles("compute.networks.delete")
def delete_network(call: Call) -> JsonObject:
    held = _network(call)
    automatic = held.body["autoCreateSubnetworks"]
    for kind in _USERS:
        if automatic and kind == subnetworks.SUBNETWORK:
            continue
        for user in call.cloud.store.each(kind, f"projects/{base.project_of(call)}/"):
            if user.body["network"] == held.name:
                raise base.in_use(held.name, user.name)
    for subnetwork in list(subnetworks.of_network(call.cloud, held.name)):
        subnetworks.check_unused(call.cloud, subnetwork)
        call.cloud.store.delete(subnetwork.kind, subnetwork.name)
    return base.delete(call, held)


@handles("compute.firewalls.insert")
def insert_firewall(call: Call) -> JsonObject:
    name = base.new_name(call, "firewalls")
    body: JsonObject = {**_FIREWALL_DEFAULTS, **call.body}
    link = body.get("network", "global/networks/default")
    body["network"] = subnetworks.usable_network(call, link).name
    return base.insert(call, _FIREWALL, name, _checked_firewall(body))


@handles("compute.firewalls.patch", "compute.firewalls.update")
def change_firewall(call: Call) -> JsonObject:
    held = base.find(call, _FIREWALL, f"{base.scope(call)}/firewalls/{call.ids['firewall']}")
    kept = held.body if call.method.endswith(".patch") else {key: held.body[key] for key in ("name", "network")}
    sent = {key: value for key, value in call.body.items() if key not in _FIREWALL_FIXED}
    return base.replace(call, held, _checked_firewall({**_FIREWALL_DEFAULTS, **kept, **sent}))


@handles("compute.firewalls.delete")
def delete_firewall(call: Call) -> JsonObject:
    return base.delete(call, base.find(call, _FIREWALL, f"{base.scope(call)}/firewalls/{call.ids['firewall']}"))


def _network(call: Call) -> Resource:
    subnetworks.begin(call)
    return base.find(call, _NETWORK, f"{base.scope(call)}/networks/{call.ids['network']}")


def _show_network(call: Call, held: Resource) -> JsonObject:
    members = [subnetwork.name for subnetwork in subnetworks.of_network(call.cloud, held.name)]
    body = base.shown(call, held, "compute#network")
    body["selfLinkWithId"] = f"{body['selfLink'].rpartition('/')[0]}/{body['id']}"
    return {**body, **base.linked(call, {"subnetworks": members})} if members else body


def _show_firewall(call: Call, held: Resource) -> JsonObject:
    return base.shown(call, held, "compute#firewall")


def _checked_firewall(body: JsonObject) -> JsonObject:
    if bool(body.get("allowed")) == bool(body.get("denied")):
        raise base.bad_value("allowed", body.get("allowed", ""), "Exactly one of allowed and denied must be given.")
    sources = ("sourceRanges", "sourceTags", "sourceServiceAccounts")
    if body["direction"] == "INGRESS" and not any(body.get(field) for field in sources):
        return {**body, "sourceRanges": ["0.0.0.0/0"]}
    return body


base.serve_reads("networks", _NETWORK, "network", _show_network, subnetworks.begin)
base.serve_reads("firewalls", _FIREWALL, "firewall", _show_firewall)
