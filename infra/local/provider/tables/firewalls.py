"""Compute Engine: firewall rules.

Facts: as in `compute`.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any

from infra.local.engine.provider import UNKNOWN
from infra.local.provider.fields import block, blocks, exactly_one, flag, not_together, text, texts, whole
from infra.local.provider.network import Firewall
from infra.local.provider.operations import Wait
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.tables.common import COMMON
from infra.local.provider.tables.compute import BASE, NAME, NAMING
from infra.local.provider.tables.rules import link_as_v1, same_link, same_text

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
    "name": NAME,
    **COMMON,
    "network": text(required=True, same=same_link, told=link_as_v1),
    "description": text(),
    "direction": text(server=True, replaces=True, choices=("INGRESS", "EGRESS")),
    "priority": whole(default=1000, always=True, rule=_is_priority),
    "disabled": flag(),
    "enableLogging": flag(local=True, server=True),
    # The deprecated flag turns logs on as well; the block that the service then shows is no difference.
    "logConfig": block(
        {"metadata": text(required=True, choices=("EXCLUDE_ALL_METADATA", "INCLUDE_ALL_METADATA"))},
        hidden=lambda _, new, __, wanted: new is None and wanted.get("enableLogging") is True,
    ),
    "allows": blocks(_TRAFFIC, wire="allowed", unordered=True),
    "denies": blocks(_TRAFFIC, wire="denied", unordered=True),
    "sourceRanges": texts(unordered=True, same=_same_range, hidden=lambda old, new, *_: not new and old == _EVERYWHERE),
    "destinationRanges": texts(server=True, unordered=True, same=_same_range),
    "sourceTags": texts(unordered=True),
    "sourceServiceAccounts": texts(unordered=True, most=_MOST_ACCOUNTS),
    "targetTags": texts(unordered=True),
    "targetServiceAccounts": texts(unordered=True, most=_MOST_ACCOUNTS),
    "creationTimestamp": text(computed=True),
    "selfLink": text(computed=True, told=link_as_v1),
}

FIREWALL = ResourceType(
    "gcp:compute/firewall:Firewall",
    noun="Firewall",
    identity=Path("projects/{project}/global/firewalls/{name}"),
    fields=_FIREWALL,
    schema_version=1,
    naming=NAMING,
    relations=(
        exactly_one("allows", "denies"),
        not_together("sourceServiceAccounts", "sourceTags"),
        not_together("sourceServiceAccounts", "targetTags"),
        not_together("targetServiceAccounts", "sourceTags"),
        not_together("targetServiceAccounts", "targetTags"),
    ),
    rules=(_has_a_source, _logs_what_it_describes),
    imports=1,
    calls=Firewall(
        base=BASE,
        collection=Path("projects/{project}/global/firewalls"),
        item=Path("projects/{project}/global/firewalls/{name}"),
        fields=_FIREWALL,
        create_wait=Wait.COMPUTE,
        update_wait=Wait.COMPUTE,
        delete_wait=Wait.COMPUTE,
        whole=True,
        carried=("description", "disabled"),
    ),
)

TYPES = (FIREWALL,)
