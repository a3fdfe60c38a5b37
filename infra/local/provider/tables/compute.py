"""Compute Engine: networks, subnetworks, routers and their NATs, and firewall rules.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and Compute Engine's discovery document beta,
which is the version that the official provider calls (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any

from infra.local.engine.provider import UNKNOWN
from infra.local.provider.checker import Naming
from infra.local.provider.fields import (
    Field,
    at_least_one,
    block,
    blocks,
    exactly_one,
    flag,
    not_together,
    real,
    text,
    texts,
    whole,
)
from infra.local.provider.network import Firewall, RouterNat, Subnetwork
from infra.local.provider.operations import Wait
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.rest import Rest
from infra.local.provider.tables.common import COMMON
from infra.local.provider.tables.rules import (
    COMPUTE_NAME,
    does_not_contain,
    is_ip_range,
    last_part,
    same_last_part,
    same_link,
    same_text,
    shaped,
)

_BASE = "compute/beta"
_NAME = text(replaces=True, rule=COMPUTE_NAME)
_REGION = text(replaces=True, server=True, local=True)
_NAMING = Naming(lower=True)


def _as_v1(link: str) -> str:
    """Links in a state are those of the API's first version, whichever version was asked."""
    return re.sub("/compute/[a-z0-9]+/", "/compute/v1/", link)


def _is_not_served(wanted: bool) -> str | None:
    """Routes are no part of what the local cloud serves."""
    return "the embedded provider deletes no routes; leave it out" if wanted else None


def _is_no_routing_choice(wanted: bool) -> str | None:
    return "the embedded provider chooses no BGP path selection; leave it out" if wanted else None


def _calls(collection: str, fields: Mapping[str, Field], carried: tuple[str, ...] = ()) -> Rest:
    """Compute Engine's way with all that has a name of its own: each change is an operation, and none takes a mask."""
    return Rest(
        base=_BASE,
        collection=Path(collection),
        item=Path(f"{collection}/{{name}}"),
        fields=fields,
        create_wait=Wait.COMPUTE,
        update_wait=Wait.COMPUTE,
        delete_wait=Wait.COMPUTE,
        masked=False,
        carried=carried,
    )


_NETWORK = {
    "name": _NAME,
    **COMMON,
    "description": text(replaces=True),
    "autoCreateSubnetworks": flag(replaces=True, default=True, always=True),
    "deleteBgpAlwaysCompareMed": flag(local=True, rule=_is_no_routing_choice),
    "deleteDefaultRoutesOnCreate": flag(local=True, rule=_is_not_served),
    "mtu": whole(server=True),
    "routingMode": text(wire="routingConfig.routingMode", server=True, choices=("REGIONAL", "GLOBAL")),
    "networkFirewallPolicyEnforcementOrder": text(
        default="AFTER_CLASSIC_FIREWALL", choices=("BEFORE_CLASSIC_FIREWALL", "AFTER_CLASSIC_FIREWALL")
    ),
    "enableUlaInternalIpv6": flag(),
    "internalIpv6Range": text(replaces=True, server=True),
    "gatewayIpv4": text(wire="gatewayIPv4", computed=True),
    "networkId": text(wire="id", computed=True),
    "numericId": text(wire="id", computed=True),
    "selfLink": text(computed=True, told=_as_v1),
}

NETWORK = ResourceType(
    "gcp:compute/network:Network",
    noun="Network",
    identity=Path("projects/{project}/global/networks/{name}"),
    fields=_NETWORK,
    naming=_NAMING,
    imports=1,
    calls=_calls("projects/{project}/global/networks", _NETWORK),
)

_SECONDARY = {
    "rangeName": text(required=True, rule=COMPUTE_NAME),
    "ipCidrRange": text(server=True, rule=is_ip_range),
    "reservedInternalRange": text(),
}

_LOGS = {
    "aggregationInterval": text(
        default="INTERVAL_5_SEC",
        choices=(
            "INTERVAL_5_SEC",
            "INTERVAL_30_SEC",
            "INTERVAL_1_MIN",
            "INTERVAL_5_MIN",
            "INTERVAL_10_MIN",
            "INTERVAL_15_MIN",
        ),
    ),
    "flowSampling": real(default=0.5, always=True),
    "metadata": text(
        default="INCLUDE_ALL_METADATA", choices=("EXCLUDE_ALL_METADATA", "INCLUDE_ALL_METADATA", "CUSTOM_METADATA")
    ),
    "metadataFields": texts(unordered=True),
    "filterExpr": text(default="true"),
}

_SUBNETWORK = {
    "name": _NAME,
    "region": _REGION,
    **COMMON,
    "network": text(required=True, replaces=True, same=same_link, told=_as_v1),
    "description": text(replaces=True),
    "ipCidrRange": text(server=True, rule=is_ip_range, replaces_when=does_not_contain),
    "privateIpGoogleAccess": flag(server=True),
    "privateIpv6GoogleAccess": text(server=True),
    "purpose": text(server=True),
    "role": text(choices=("ACTIVE", "BACKUP")),
    "stackType": text(server=True, choices=("IPV4_ONLY", "IPV4_IPV6", "IPV6_ONLY")),
    "secondaryIpRanges": blocks(_SECONDARY, server=True, always=True, unordered=True),
    "logConfig": block(
        _LOGS, relations=(at_least_one("aggregationInterval", "filterExpr", "flowSampling", "metadata"),)
    ),
    "creationTimestamp": text(computed=True),
    "fingerprint": text(computed=True),
    "gatewayAddress": text(computed=True),
    "ipv6CidrRange": text(computed=True),
    "ipv6GceEndpoint": text(computed=True),
    "state": text(computed=True),
    "selfLink": text(computed=True, told=_as_v1),
    "subnetworkId": whole(wire="id", computed=True),
}

SUBNETWORK = ResourceType(
    "gcp:compute/subnetwork:Subnetwork",
    noun="Subnetwork",
    identity=Path("projects/{project}/regions/{region}/subnetworks/{name}"),
    fields=_SUBNETWORK,
    naming=_NAMING,
    imports=1,
    calls=Subnetwork(
        base=_BASE,
        collection=Path("projects/{project}/regions/{region}/subnetworks"),
        item=Path("projects/{project}/regions/{region}/subnetworks/{name}"),
        fields=_SUBNETWORK,
        create_wait=Wait.COMPUTE,
        delete_wait=Wait.COMPUTE,
    ),
)


def _is_private_asn(asn: int) -> str | None:
    """RFC 6996, and Google's own for Partner Interconnect."""
    private = 64512 <= asn <= 65534 or 4200000000 <= asn <= 4294967294 or asn == 16550
    return None if private else f"{asn} is not a private ASN (64512 to 65534, 4200000000 to 4294967294) nor 16550"


def _adverts_are_custom(values: Mapping[str, Any]) -> str | None:
    bgp = values.get("bgp")
    if isinstance(bgp, Mapping) and bgp.get("advertiseMode") == "DEFAULT":
        for name, said in (("advertisedGroups", "advertised_groups"), ("advertisedIpRanges", "advertised_ip_ranges")):
            if bgp.get(name):
                return f"Error in bgp: {said} cannot be specified when using advertise_mode DEFAULT"
    return None


_BGP = {
    "asn": whole(required=True, rule=_is_private_asn),
    "advertiseMode": text(default="DEFAULT", choices=("DEFAULT", "CUSTOM")),
    "advertisedGroups": texts(always=True),
    "advertisedIpRanges": blocks({"range": text(required=True), "description": text()}, always=True, unordered=True),
    "keepaliveInterval": whole(default=20),
    "identifierRange": text(server=True),
}

_ROUTER = {
    "name": _NAME,
    "region": _REGION,
    **COMMON,
    "network": text(replaces=True, same=same_link, told=_as_v1),
    "description": text(always=True),
    "bgp": block(_BGP, always=True),
    "encryptedInterconnectRouter": flag(replaces=True),
    "creationTimestamp": text(computed=True),
    "selfLink": text(computed=True, told=_as_v1),
}

ROUTER = ResourceType(
    "gcp:compute/router:Router",
    noun="Router",
    identity=Path("projects/{project}/regions/{region}/routers/{name}"),
    fields=_ROUTER,
    naming=_NAMING,
    rules=(_adverts_are_custom,),
    imports=1,
    calls=_calls("projects/{project}/regions/{region}/routers", _ROUTER, carried=("description", "bgp")),
)

_ROUTER_NAT = {
    "name": text(
        replaces=True,
        rule=shaped(
            r"[a-z][-a-z0-9]{0,61}[a-z0-9]",
            "2 to 63 lower-case letters, digits and dashes, a letter first, no dash last",
        ),
    ),
    "region": _REGION,
    **COMMON,
    "router": text(required=True, replaces=True, local=True, same=same_last_part),
    "sourceSubnetworkIpRangesToNat": text(
        required=True,
        choices=("ALL_SUBNETWORKS_ALL_IP_RANGES", "ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES", "LIST_OF_SUBNETWORKS"),
    ),
    "natIpAllocateOption": text(choices=("MANUAL_ONLY", "AUTO_ONLY")),
    "natIps": texts(server=True, unordered=True, same=same_link, always=True),
    "drainNatIps": texts(server=True, unordered=True, same=same_link, always=True),
    "subnetworks": blocks(
        {
            "name": text(required=True, same=same_link),
            "sourceIpRangesToNats": texts(wire="sourceIpRangesToNat", required=True, unordered=True),
            "secondaryIpRangeNames": texts(unordered=True),
        },
        unordered=True,
        always=True,
    ),
    "logConfig": block(
        {
            "enable": flag(required=True, always=True),
            "filter": text(required=True, choices=("ERRORS_ONLY", "TRANSLATIONS_ONLY", "ALL")),
        },
        always=True,
    ),
    "minPortsPerVm": whole(server=True),
    "maxPortsPerVm": whole(),
    "enableDynamicPortAllocation": flag(server=True, always=True),
    "enableEndpointIndependentMapping": flag(server=True, always=True),
    "icmpIdleTimeoutSec": whole(default=30),
    "tcpEstablishedIdleTimeoutSec": whole(default=1200),
    "tcpTimeWaitTimeoutSec": whole(default=120),
    "tcpTransitoryIdleTimeoutSec": whole(default=30),
    "udpIdleTimeoutSec": whole(default=30),
    "type": text(replaces=True, default="PUBLIC", choices=("PUBLIC", "PRIVATE")),
    "endpointTypes": texts(server=True, replaces=True),
    "autoNetworkTier": text(server=True, choices=("PREMIUM", "STANDARD")),
}

ROUTER_NAT = ResourceType(
    "gcp:compute/routerNat:RouterNat",
    noun="RouterNat",
    identity=Path("{project}/{region}/{router}/{name}"),
    fields=_ROUTER_NAT,
    naming=_NAMING,
    imports=2,
    tidied={"router": last_part},
    calls=RouterNat(base=_BASE, router=Path("projects/{project}/regions/{region}/routers/{router}")),
)

_TRAFFIC = {"protocol": text(wire="IPProtocol", required=True, same=same_text), "ports": texts()}
_SOURCES = ("sourceTags", "sourceRanges", "sourceServiceAccounts")
_EVERYWHERE = ["0.0.0.0/0"]
_MOST_ACCOUNTS = 10


def _has_a_source(values: Mapping[str, Any]) -> str | None:
    """Traffic that comes in comes from somewhere."""
    direction = values.get("direction")
    if direction is UNKNOWN or direction == "EGRESS" or any(values.get(name) for name in _SOURCES):
        return None
    return "one of source_tags, source_ranges, or source_service_accounts must be defined"


def _names_few_accounts(values: Mapping[str, Any]) -> str | None:
    for name in ("sourceServiceAccounts", "targetServiceAccounts"):
        if isinstance(values.get(name), list) and len(values[name]) > _MOST_ACCOUNTS:
            return f"{name}: at most {_MOST_ACCOUNTS} service accounts, got {len(values[name])}"
    return None


def _logs_what_it_describes(values: Mapping[str, Any]) -> str | None:
    if values.get("enableLogging") is False and "logConfig" in values:
        return "log_config cannot be defined when enable_logging is false"
    return None


def _is_priority(value: int) -> str | None:
    return None if 0 <= value <= 65535 else f"expected 0 to 65535, got {value}"


def _same_range(old: str, new: str) -> bool:
    """An IPv6 range has many spellings; an IPv4 range is compared as it is written."""
    if ":" not in old or ":" not in new:
        return old == new
    try:
        return ip_network(old) == ip_network(new)
    except ValueError:
        return False


_FIREWALL = {
    "name": _NAME,
    **COMMON,
    "network": text(required=True, same=same_link, told=_as_v1),
    "description": text(always=True),
    "direction": text(server=True, replaces=True, choices=("INGRESS", "EGRESS")),
    "priority": whole(default=1000, always=True, rule=_is_priority),
    "disabled": flag(always=True),
    "enableLogging": flag(server=True),
    # Without the block the service shows whether the deprecated flag is on, and the block is then no difference.
    "logConfig": block(
        {"metadata": text(required=True, choices=("EXCLUDE_ALL_METADATA", "INCLUDE_ALL_METADATA"))},
        hidden=lambda _, new, __, wanted: new is None and wanted.get("enableLogging") is True,
    ),
    "allows": blocks(_TRAFFIC, wire="allowed", unordered=True),
    "denies": blocks(_TRAFFIC, wire="denied", unordered=True),
    "sourceRanges": texts(unordered=True, same=_same_range, hidden=lambda old, new, *_: not new and old == _EVERYWHERE),
    "destinationRanges": texts(server=True, unordered=True, same=_same_range),
    "sourceTags": texts(unordered=True),
    "sourceServiceAccounts": texts(unordered=True),
    "targetTags": texts(unordered=True),
    "targetServiceAccounts": texts(unordered=True),
    "creationTimestamp": text(computed=True),
    "selfLink": text(computed=True, told=_as_v1),
}

FIREWALL = ResourceType(
    "gcp:compute/firewall:Firewall",
    noun="Firewall",
    identity=Path("projects/{project}/global/firewalls/{name}"),
    fields=_FIREWALL,
    schema_version=1,
    naming=_NAMING,
    relations=(
        exactly_one("allows", "denies"),
        not_together("sourceServiceAccounts", "sourceTags"),
        not_together("sourceServiceAccounts", "targetTags"),
        not_together("targetServiceAccounts", "sourceTags"),
        not_together("targetServiceAccounts", "targetTags"),
    ),
    rules=(_has_a_source, _names_few_accounts, _logs_what_it_describes),
    imports=1,
    calls=Firewall(
        base=_BASE,
        collection=Path("projects/{project}/global/firewalls"),
        item=Path("projects/{project}/global/firewalls/{name}"),
        fields=_FIREWALL,
        create_wait=Wait.COMPUTE,
        update_wait=Wait.COMPUTE,
        delete_wait=Wait.COMPUTE,
        whole=True,
    ),
)

TYPES = (NETWORK, SUBNETWORK, ROUTER, ROUTER_NAT, FIREWALL)
