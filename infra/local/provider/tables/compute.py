"""Compute Engine: networks, subnetworks, routers and their NATs, and firewall rules.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and Compute Engine's discovery document beta,
which is the version that the official provider calls (2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping

from infra.local.provider.checker import Naming
from infra.local.provider.fields import Field, block, blocks, flag, real, text, texts, whole
from infra.local.provider.network import RouterNat, Subnetwork
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
    shaped,
)

_BASE = "compute/beta"
_NAME = text(replaces=True, rule=COMPUTE_NAME)
_REGION = text(replaces=True, server=True, local=True)
_NAMING = Naming(lower=True)


def _is_not_served(wanted: bool) -> str | None:
    """Routes are no part of what the local cloud serves."""
    return "the embedded provider deletes no routes; leave it out" if wanted else None


def _calls(collection: str, fields: Mapping[str, Field]) -> Rest:
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
    )


_NETWORK = {
    "name": _NAME,
    **COMMON,
    "description": text(replaces=True),
    "autoCreateSubnetworks": flag(replaces=True, default=True, keeps_empty=True),
    "deleteDefaultRoutesOnCreate": flag(default=False, local=True, rule=_is_not_served),
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
    "selfLink": text(computed=True),
}

NETWORK = ResourceType(
    "gcp:compute/network:Network",
    noun="Network",
    identity=Path("projects/{project}/global/networks/{name}"),
    fields=_NETWORK,
    naming=_NAMING,
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
    "flowSampling": real(default=0.5, keeps_empty=True),
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
    "network": text(required=True, replaces=True, same=same_link),
    "description": text(replaces=True),
    "ipCidrRange": text(server=True, rule=is_ip_range, replaces_when=does_not_contain),
    "privateIpGoogleAccess": flag(server=True),
    "purpose": text(server=True, replaces=True),
    "role": text(choices=("ACTIVE", "BACKUP")),
    "stackType": text(server=True, choices=("IPV4_ONLY", "IPV4_IPV6", "IPV6_ONLY")),
    "secondaryIpRanges": blocks(_SECONDARY, server=True),
    "logConfig": block(_LOGS),
    "creationTimestamp": text(computed=True),
    "fingerprint": text(computed=True),
    "gatewayAddress": text(computed=True),
    "ipv6CidrRange": text(computed=True),
    "ipv6GceEndpoint": text(computed=True),
    "state": text(computed=True),
    "selfLink": text(computed=True),
    "subnetworkId": whole(wire="id", computed=True),
}

SUBNETWORK = ResourceType(
    "gcp:compute/subnetwork:Subnetwork",
    noun="Subnetwork",
    identity=Path("projects/{project}/regions/{region}/subnetworks/{name}"),
    fields=_SUBNETWORK,
    naming=_NAMING,
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
    """RFC 6996."""
    private = 64512 <= asn <= 65534 or 4200000000 <= asn <= 4294967294
    return None if private else f"{asn} is not a private ASN (64512 to 65534, or 4200000000 to 4294967294)"


_BGP = {
    "asn": whole(required=True, rule=_is_private_asn),
    "advertiseMode": text(default="DEFAULT", choices=("DEFAULT", "CUSTOM")),
    "advertisedGroups": texts(),
    "advertisedIpRanges": blocks({"range": text(), "description": text()}),
    "keepaliveInterval": whole(default=20),
    "identifierRange": text(server=True),
}

_ROUTER = {
    "name": _NAME,
    "region": _REGION,
    **COMMON,
    "network": text(replaces=True, same=same_link),
    "description": text(),
    "bgp": block(_BGP),
    "encryptedInterconnectRouter": flag(replaces=True),
    "creationTimestamp": text(computed=True),
    "selfLink": text(computed=True),
}

ROUTER = ResourceType(
    "gcp:compute/router:Router",
    noun="Router",
    identity=Path("projects/{project}/regions/{region}/routers/{name}"),
    fields=_ROUTER,
    naming=_NAMING,
    calls=_calls("projects/{project}/regions/{region}/routers", _ROUTER),
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
    "natIps": texts(server=True, unordered=True, same=same_link),
    "drainNatIps": texts(server=True, unordered=True, same=same_link),
    "subnetworks": blocks(
        {
            "name": text(required=True, same=same_link),
            "sourceIpRangesToNats": texts(wire="sourceIpRangesToNat", required=True, unordered=True),
            "secondaryIpRangeNames": texts(unordered=True),
        }
    ),
    "logConfig": block(
        {
            "enable": flag(required=True, keeps_empty=True),
            "filter": text(required=True, choices=("ERRORS_ONLY", "TRANSLATIONS_ONLY", "ALL")),
        }
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
    "autoNetworkTier": text(server=True),
}

ROUTER_NAT = ResourceType(
    "gcp:compute/routerNat:RouterNat",
    noun="RouterNat",
    identity=Path("{project}/{region}/{router}/{name}"),
    fields=_ROUTER_NAT,
    naming=_NAMING,
    tidied={"router": last_part},
    calls=RouterNat(base=_BASE, router=Path("projects/{project}/regions/{region}/routers/{router}")),
)

_TRAFFIC = {"protocol": text(wire="IPProtocol", required=True), "ports": texts()}

_FIREWALL = {
    "name": _NAME,
    **COMMON,
    "network": text(required=True, replaces=True, same=same_link),
    "description": text(),
    "direction": text(server=True, replaces=True, choices=("INGRESS", "EGRESS")),
    "priority": whole(default=1000, keeps_empty=True),
    "disabled": flag(),
    "allows": blocks(_TRAFFIC, wire="allowed", unordered=True, excludes=("denies",)),
    "denies": blocks(_TRAFFIC, wire="denied", unordered=True, excludes=("allows",)),
    "sourceRanges": texts(server=True, unordered=True),
    "destinationRanges": texts(server=True, unordered=True),
    "sourceTags": texts(unordered=True),
    "sourceServiceAccounts": texts(unordered=True),
    "targetTags": texts(unordered=True),
    "targetServiceAccounts": texts(unordered=True),
    "creationTimestamp": text(computed=True),
    "selfLink": text(computed=True),
}

FIREWALL = ResourceType(
    "gcp:compute/firewall:Firewall",
    noun="Firewall",
    identity=Path("projects/{project}/global/firewalls/{name}"),
    fields=_FIREWALL,
    naming=_NAMING,
    calls=_calls("projects/{project}/global/firewalls", _FIREWALL),
)

TYPES = (NETWORK, SUBNETWORK, ROUTER, ROUTER_NAT, FIREWALL)
