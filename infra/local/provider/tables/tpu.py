"""Cloud TPU: the TPU VM.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and the TPU API's discovery document v2alpha1,
which is the version that the official provider calls (2026-10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.provider.checker import Naming
from infra.local.provider.fields import block, blocks, flag, not_together, table, text, texts, whole
from infra.local.provider.operations import Wait
from infra.local.provider.resource import Call, Path, ResourceType
from infra.local.provider.rest import Rest
from infra.local.provider.tables.common import COMMON

_PUBSUB = "https://www.googleapis.com/auth/pubsub"
_IN_TRANSIT = frozenset({"CREATING", "DELETING"})


def _in_transit(node: Mapping[str, Any]) -> bool:
    """A node that is being made may still end in a stockout and vanish: what it becomes is waited for."""
    return node.get("state") in _IN_TRANSIT


def _is_same_but_for_pubsub(old: Any, new: Any, *_: Any) -> bool:
    """The service adds this scope by itself; the order of the others counts."""
    return isinstance(new, list) and _without_pubsub(old) == _without_pubsub(new)


def _without_pubsub(scopes: list[Any] | None) -> list[Any]:
    return [scope for scope in scopes or () if scope != _PUBSUB]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Rest):
    """A TPU VM; what is said of `Rest` holds but for the accelerator of a declaration that names none."""

    def create(self, call: Call) -> None:
        if "acceleratorConfig" not in call.body:
            call.body.setdefault("acceleratorType", "v2-8")
        Rest.create(self, call)


# Compared as text, as the official provider does: a name in another spelling than the service's replaces the VM.
_NETWORK = {
    "network": text(replaces=True, server=True),
    "subnetwork": text(replaces=True, server=True),
    "enableExternalIps": flag(replaces=True, always=True),
    "canIpForward": flag(replaces=True, always=True),
    "queueCount": whole(replaces=True),
}

_FIELDS = {
    "name": text(replaces=True, local=True),
    "zone": text(replaces=True, server=True, local=True),
    **COMMON,
    "acceleratorType": text(replaces=True, server=True),
    "acceleratorConfig": block(
        {"type": text(required=True, replaces=True), "topology": text(required=True, replaces=True)},
        replaces=True,
        server=True,
    ),
    "runtimeVersion": text(required=True, replaces=True),
    "description": text(),
    "labels": table(),
    "metadata": table(),
    "tags": texts(),
    "cidrBlock": text(replaces=True, server=True),
    "networkConfig": block(_NETWORK, replaces=True, server=True),
    "networkConfigs": blocks(_NETWORK, replaces=True),
    "schedulingConfig": block(
        {
            "preemptible": flag(replaces=True, always=True),
            "reserved": flag(replaces=True, always=True),
            "spot": flag(replaces=True),
        },
        replaces=True,
    ),
    "serviceAccount": block(
        {
            "email": text(replaces=True, server=True),
            "scopes": texts(wire="scope", replaces=True, server=True, hidden=_is_same_but_for_pubsub),
        },
        replaces=True,
        server=True,
    ),
    "shieldedInstanceConfig": block(
        {"enableSecureBoot": flag(required=True, replaces=True, always=True)}, replaces=True
    ),
    "dataDisks": blocks(
        {
            "sourceDisk": text(required=True),
            "mode": text(default="READ_WRITE", choices=("READ_WRITE", "READ_ONLY")),
        }
    ),
    "state": text(computed=True),
    "health": text(computed=True),
    "healthDescription": text(computed=True),
    "apiVersion": text(computed=True),
    "multisliceNode": flag(computed=True),
    "queuedResource": text(computed=True),
    "networkEndpoints": blocks(
        {
            "ipAddress": text(),
            "port": whole(),
            "accessConfigs": blocks({"externalIp": text()}, wire="accessConfig"),
        },
        computed=True,
    ),
    "symptoms": blocks(
        {
            "createTime": text(),
            "details": text(),
            "symptomType": text(),
            "workerId": text(),
        },
        computed=True,
    ),
}

V2_VM = ResourceType(
    "gcp:tpu/v2Vm:V2Vm",
    noun="Vm",
    identity=Path("projects/{project}/locations/{zone}/nodes/{name}"),
    fields=_FIELDS,
    relations=(
        not_together("acceleratorType", "acceleratorConfig"),
        not_together("networkConfig", "networkConfigs"),
    ),
    labelled=True,
    naming=Naming(longest=255),
    imports=1,
    calls=Node(
        base="v2alpha1",
        collection=Path("projects/{project}/locations/{zone}/nodes"),
        item=Path("projects/{project}/locations/{zone}/nodes/{name}"),
        fields=_FIELDS,
        query={"nodeId": Path("{name}")},
        create_wait=Wait.LRO,
        update_wait=Wait.LRO,
        delete_wait=Wait.LRO,
        settling=_in_transit,
    ),
)

TYPES = (V2_VM,)
