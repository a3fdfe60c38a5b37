"""Workload identity federation: pools and their OpenID Connect providers.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and the discovery document iam v1 (2026-10).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from infra.local.provider.fields import block, exactly_one, flag, table, text, texts
from infra.local.provider.operations import Wait
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.rest import Rest
from infra.local.provider.tables.common import COMMON
from infra.local.provider.tables.rules import shaped

_POOLS = "projects/{project}/locations/global/workloadIdentityPools"
_POOL = f"{_POOLS}/{{workloadIdentityPoolId}}"
_PROVIDER = f"{_POOL}/providers/{{workloadIdentityPoolProviderId}}"
_FORM = "4 to 32 lower-case letters, digits and dashes, and does not start with gcp-"
_ID = shaped(r"(?!gcp-)[a-z0-9-]{4,32}", _FORM)
_GKE = ".svc.id.goog"


def _is_pool(value: str) -> str | None:
    """Google's own pools are named by a project, which is judged alone."""
    return _ID(value.removesuffix(_GKE))


def _same_json(old: str, new: str) -> bool:
    try:
        return json.loads(old) == json.loads(new)
    except ValueError:
        return old == new


def _deleted(body: Mapping[str, Any]) -> bool:
    """For thirty days the service still shows what was deleted."""
    return body.get("state") == "DELETED"


_DESCRIBED = {
    **COMMON,
    "displayName": text(),
    "description": text(),
    "disabled": flag(),
    "name": text(computed=True),
    "state": text(computed=True),
}

_POOL_FIELDS = {
    "workloadIdentityPoolId": text(required=True, replaces=True, local=True, rule=_is_pool),
    "mode": text(server=True, choices=("FEDERATION_ONLY", "TRUST_DOMAIN", "SYSTEM_TRUST_DOMAIN")),
    **_DESCRIBED,
}

POOL = ResourceType(
    "gcp:iam/workloadIdentityPool:WorkloadIdentityPool",
    noun="WorkloadIdentityPool",
    identity=Path(_POOL),
    fields=_POOL_FIELDS,
    imports=1,
    calls=Rest(
        base="v1",
        collection=Path(_POOLS),
        item=Path(_POOL),
        fields=_POOL_FIELDS,
        query={"workloadIdentityPoolId": Path("{workloadIdentityPoolId}")},
        create_wait=Wait.LRO,
        update_wait=Wait.LRO,
        delete_wait=Wait.LRO,
        gone=_deleted,
    ),
)

_PROVIDER_FIELDS = {
    "workloadIdentityPoolId": text(required=True, replaces=True, local=True),
    "workloadIdentityPoolProviderId": text(required=True, replaces=True, local=True, rule=_ID),
    "attributeMapping": table(),
    "attributeCondition": text(),
    "oidc": block({"issuerUri": text(required=True), "allowedAudiences": texts(), "jwksJson": text(same=_same_json)}),
    **_DESCRIBED,
}

PROVIDER = ResourceType(
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider",
    noun="WorkloadIdentityPoolProvider",
    identity=Path(_PROVIDER),
    fields=_PROVIDER_FIELDS,
    relations=(exactly_one("oidc"),),
    imports=2,
    calls=Rest(
        base="v1",
        collection=Path(f"{_POOL}/providers"),
        item=Path(_PROVIDER),
        fields=_PROVIDER_FIELDS,
        query={"workloadIdentityPoolProviderId": Path("{workloadIdentityPoolProviderId}")},
        create_wait=Wait.LRO,
        update_wait=Wait.LRO,
        delete_wait=Wait.LRO,
        gone=_deleted,
        masks={"oidc": ("oidc.allowed_audiences", "oidc.issuer_uri", "oidc.jwks_json")},
    ),
)

TYPES = (POOL, PROVIDER)
