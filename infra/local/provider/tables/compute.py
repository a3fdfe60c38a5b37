"""Compute Engine: networks, subnetworks, routers and their NATs, and firewall rules.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and Compute Engine's discovery document beta,
which is the version that the official provider calls (2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.local.provider.checker import Naming
from infra.local.provider.fields import (
    Field,
    at_least_one,
    block,
    blocks,
    flag,
    real,
    text,
    texts,
    whole,
)
from infra.local.provider.network import InNetwork, RouterNat, Subnetwork
from infra.local.provider.operations import Wait
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.tables.common import COMMON
from infra.local.provider.tables.rules import (
    COMPUTE_NAME,
    does_not_contain,
    is_ip_range,
    last_part,
    link_as_v1,
    same_last_part,
    same_link,
    shaped,
)

BASE = "compute/beta"
NAME = text(replaces=True, rule=COMPUTE_NAME)
_REGION = text(replaces=True, server=True, local=True)
NAMING = Naming(lower=True)


def _is_not_served(wanted: bool) -> str | None:
    """Routes are no part of what the local cloud serves."""
    return "the embedded provider deletes no routes; leave it out" if wanted else None


def _is_no_routing_choice(wanted: bool) -> str | None:
    return "the embedded provider chooses no BGP path selection; leave it out" if wanted else None


def _calls(collection: str, fields: Mapping[str, Field], carried: tuple[str, ...] = ()) -> InNetwork:
    """Compute Engine's way with all that has a name of its own: each change is an operation, and none takes a mask."""
    return InNetwork(
        base=BASE,
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
    "name": NAME,
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
    "selfLink": text(computed=True, told=link_as_v1),
}

NETWORK = ResourceType(
    "gcp:compute/network:Network",
    noun="Network",
    identity=Path("projects/{project}/global/networks/{name}"),
    fields=_NETWORK,
    naming=NAMING,
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
    "name": NAME,
    "region": _REGION,
    **COMMON,
    "network": text(required=True, replaces=True, same=same_link, told=link_as_v1),
    "description": text(replaces=True),
    "ipCidrRange": text(server=True, rule=is_ip_range, replaces_when=does_not_contain),
    "privateIpGoogleAccess": flag(server=True),
    "privateIpv6GoogleAccess": text(server=True),
    "purpose": text(server=True),
    "role": text(choices=("ACTIVE", "BACKUP")),
    "stackType": text(server=True, choices=("IPV4_ONLY", "IPV4_IPV6", "IPV6_ONLY")),
    "secondaryIpRanges": blocks(_SECONDARY, server=True, unordered=True),
    "logConfig": block(
        _LOGS, relations=(at_least_one("aggregationInterval", "filterExpr", "flowSampling", "metadata"),)
    ),
    "creationTimestamp": text(computed=True),
    "fingerprint": text(computed=True),
    "gatewayAddress": text(computed=True),
    "ipv6CidrRange": text(computed=True),
    "ipv6GceEndpoint": text(computed=True),
    "state": text(computed=True),
    "selfLink": text(computed=True, told=link_as_v1),
    "subnetworkId": whole(wire="id", computed=True),
}

SUBNETWORK = ResourceType(
    "gcp:compute/subnetwork:Subnetwork",
    noun="Subnetwork",
    identity=Path("projects/{project}/regions/{region}/subnetworks/{name}"),
    fields=_SUBNETWORK,
    naming=NAMING,
    imports=1,
    calls=Subnetwork(
        base=BASE,
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
    "name": NAME,
    "region": _REGION,
    **COMMON,
    "network": text(replaces=True, same=same_link, told=link_as_v1),
    "description": text(),
    "bgp": block(_BGP, always=True),
    "encryptedInterconnectRouter": flag(replaces=True),
    "creationTimestamp": text(computed=True),
    "selfLink": text(computed=True, told=link_as_v1),
}

ROUTER = ResourceType(
    "gcp:compute/router:Router",
    noun="Router",
    identity=Path("projects/{project}/regions/{region}/routers/{name}"),
    fields=_ROUTER,
    naming=NAMING,
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
    "enableDynamicPortAllocation": flag(server=True, keeps_empty=True),
    "enableEndpointIndependentMapping": flag(server=True, keeps_empty=True),
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
    naming=NAMING,
    imports=2,
    tidied={"router": last_part},
    calls=RouterNat(base=BASE, router=Path("projects/{project}/regions/{region}/routers/{router}")),
)

TYPES = (NETWORK, SUBNETWORK, ROUTER, ROUTER_NAT)
