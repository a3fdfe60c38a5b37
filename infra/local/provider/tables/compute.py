"""Compute Engine: networks.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and Compute Engine's discovery document beta,
which is the version that the official provider calls (2026-11).
"""

from __future__ import annotations

from infra.local.provider.checker import Naming
from infra.local.provider.fields import flag, text, whole
from infra.local.provider.operations import Wait
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.rest import Rest
from infra.local.provider.tables.common import COMMON
from infra.local.provider.tables.rules import COMPUTE_NAME

_BASE = "compute/beta"
_NAME = text(replaces=True, rule=COMPUTE_NAME)
_REGION = text(replaces=True, server=True, local=True)
_NAMING = Naming(lower=True)

_NETWORK = {
    "name": _NAME,
    **COMMON,
    "description": text(replaces=True),
    "autoCreateSubnetworks": flag(replaces=True, default=True, keeps_empty=True),
    "deleteDefaultRoutesOnCreate": flag(default=False, local=True),
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
    calls=Rest(
        base=_BASE,
        collection=Path("projects/{project}/global/networks"),
        item=Path("projects/{project}/global/networks/{name}"),
        fields=_NETWORK,
        create_wait=Wait.COMPUTE,
        update_wait=Wait.COMPUTE,
        delete_wait=Wait.COMPUTE,
        masked=False,
    ),
)

TYPES = (NETWORK,)
