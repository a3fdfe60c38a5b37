"""IAM: workload identity pools and their OIDC providers, by which tokens of others (GitHub's) become ours.

Owns their life with the thirty days in which what was deleted keeps its id and can be undeleted, and the rules of a
provider's mapping and condition. It exchanges no token. Names are answered with the project's number, as the service
does, and taken with the number or the id.
Sources: cloud.google.com/iam/docs/reference/rest/v1/projects.locations.workloadIdentityPools and .../providers,
cloud.google.com/iam/docs/manage-workload-identity-pools-providers, read 2026-11.
"""

from __future__ import annotations

import re
from typing import Final

from infra.local.cloud import cel
from infra.local.cloud.clock import timestamp
from infra.local.cloud.errors import already_exists, failed_precondition, invalid, not_found
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, listings, policies
from infra.local.cloud.store import Resource

_POOLS = "iam.projects.locations.workloadIdentityPools"
_PROVIDERS = f"{_POOLS}.providers"
_POOL, _PROVIDER = "iam.workloadIdentityPool", "iam.workloadIdentityPoolProvider"
_ID = re.compile(r"(?!gcp-)[a-z0-9-]{4,32}")
_POOL_MUTABLE = frozenset({"displayName", "description", "disabled"})
_PROVIDER_MUTABLE = frozenset(
    {"displayName", "description", "disabled", "attributeMapping", "attributeCondition", "oidc"}
)
_TEXTS: Final = {"displayName": 32, "description": 256, "attributeCondition": 4096}
"""The longest that each may be, in characters."""
_ATTRIBUTE = re.compile(r"google\.(subject|groups)|attribute\.[a-z0-9_]{1,90}")
_LONGEST_EXPRESSION = 2048
_MOST_ATTRIBUTES = 50
_SHARED_ISSUERS = frozenset({"https://token.actions.githubusercontent.com"})
"""Issuers of many customers' tokens: without a condition on a claim anybody there would be let in."""
_KEPT_SECONDS = 30 * 86400.0
_CALL_SECONDS = 3.0


@handles(f"{_POOLS}.create")
def create_pool(call: Call) -> JsonObject:
    name = f"{_parent(call)}/workloadIdentityPools/{_identity(call, 'workloadIdentityPoolId')}"
    if call.body.get("mode", "FEDERATION_ONLY") not in ("FEDERATION_ONLY", "MODE_UNSPECIFIED"):
        raise invalid("The local cloud serves pools of mode FEDERATION_ONLY alone.", field="mode")
    return _create(call, _POOL, name, _checked({"mode": "FEDERATION_ONLY", **bodies.without_unset(call.body)}))


@handles(f"{_PROVIDERS}.create")
def create_provider(call: Call) -> JsonObject:
    pool = _pool(call)
    _check_active(pool)
    name = f"{pool.name}/providers/{_identity(call, 'workloadIdentityPoolProviderId')}"
    return _create(call, _PROVIDER, name, _checked_provider(bodies.without_unset(call.body)))


@handles(f"{_POOLS}.get")
def get_pool(call: Call) -> JsonObject:
    return _shown(call, _pool(call))


@handles(f"{_PROVIDERS}.get")
def get_provider(call: Call) -> JsonObject:
    return _shown(call, _provider(call))


@handles(f"{_POOLS}.list")
def list_pools(call: Call) -> JsonObject:
    return _list(call, _POOL, f"{_parent(call)}/workloadIdentityPools/", "workloadIdentityPools")


@handles(f"{_PROVIDERS}.list")
def list_providers(call: Call) -> JsonObject:
    return _list(call, _PROVIDER, f"{_pool(call).name}/providers/", "workloadIdentityPoolProviders")


@handles(f"{_POOLS}.patch")
def patch_pool(call: Call) -> JsonObject:
    return _patch(call, _pool(call), _checked(_masked(call, _pool(call), _POOL_MUTABLE)))


@handles(f"{_PROVIDERS}.patch")
def patch_provider(call: Call) -> JsonObject:
    held = _provider(call)
    return _patch(call, held, _checked_provider(_masked(call, held, _PROVIDER_MUTABLE)))


@handles(f"{_POOLS}.delete")
def delete_pool(call: Call) -> JsonObject:
    return _delete(call, _pool(call))


@handles(f"{_PROVIDERS}.delete")
def delete_provider(call: Call) -> JsonObject:
    return _delete(call, _provider(call))


@handles(f"{_POOLS}.undelete")
def undelete_pool(call: Call) -> JsonObject:
    return _undelete(call, _pool(call))


@handles(f"{_PROVIDERS}.undelete")
def undelete_provider(call: Call) -> JsonObject:
    _check_active(_pool(call))
    return _undelete(call, _provider(call))


@handles(f"{_POOLS}.listAttestationRules")
def list_attestation_rules(call: Call) -> JsonObject:
    """Rules belong to managed identities, which this cloud has none of."""
    _pool(call)
    return {}


policies.serve(_POOLS, lambda call: (_pool(call).name, call.cloud.project(call.ids["projectsId"]).id))


def _parent(call: Call) -> str:
    location = call.ids["locationsId"]
    if location != "global":
        raise invalid(f"Workload identity pools are global; '{location}' has none.", field="parent")
    return f"projects/{call.cloud.project(call.ids['projectsId']).id}/locations/global"


def _pool(call: Call) -> Resource:
    return _found(call, _POOL, f"{_parent(call)}/workloadIdentityPools/{call.ids['workloadIdentityPoolsId']}")


def _provider(call: Call) -> Resource:
    return _found(call, _PROVIDER, f"{_pool(call).name}/providers/{call.ids['providersId']}")


def _found(call: Call, kind: str, name: str) -> Resource:
    held = _standing(call, kind, name)
    if held is None:
        raise not_found(_numbered(call, name))
    return held


def _standing(call: Call, kind: str, name: str) -> Resource | None:
    """What has this name, deleted ones too, unless it was purged after its thirty days."""
    store = call.cloud.store
    held = store.find(kind, name)
    if held is None or held.body.get("purge", call.cloud.now + 1) > call.cloud.now:
        return held
    store.delete(kind, name)
    policies.forget(call.cloud, name)
    for provider in list(store.each(_PROVIDER, f"{name}/providers/")):
        store.delete(_PROVIDER, provider.name)
    return None


def _identity(call: Call, parameter: str) -> str:
    value = call.params.get(parameter, "")
    if not _ID.fullmatch(value):
        raise invalid(
            f"Invalid id '{value}': it must hold 4 to 32 lowercase letters, digits and dashes, and not start with "
            "gcp-.",
            field=parameter,
        )
    return value


def _create(call: Call, kind: str, name: str, body: JsonObject) -> JsonObject:
    if _standing(call, kind, name):
        raise already_exists(_numbered(call, name))
    return _operation(call, call.cloud.store.insert(kind, name, {**body, "state": "ACTIVE"}, now=call.cloud.now))


def _patch(call: Call, held: Resource, body: JsonObject) -> JsonObject:
    _check_active(held)
    return _operation(call, call.cloud.store.replace(held, body, now=call.cloud.now))


def _delete(call: Call, held: Resource) -> JsonObject:
    if held.body["state"] == "DELETED":
        raise not_found(_numbered(call, held.name))
    body = {**held.body, "state": "DELETED", "purge": call.cloud.now + _KEPT_SECONDS}
    return _operation(call, call.cloud.store.replace(held, body, now=call.cloud.now))


def _undelete(call: Call, held: Resource) -> JsonObject:
    if held.body["state"] != "DELETED":
        raise failed_precondition(f"{_numbered(call, held.name)} is not deleted.")
    body = {key: value for key, value in held.body.items() if key != "purge"} | {"state": "ACTIVE"}
    return _operation(call, call.cloud.store.replace(held, body, now=call.cloud.now))


def _list(call: Call, kind: str, prefix: str, key: str) -> JsonObject:
    deleted_too = call.params.get("showDeleted", False)
    there = [each for each in call.cloud.store.each(kind, prefix) if deleted_too or each.body["state"] == "ACTIVE"]
    return listings.page(call, key, [_shown(call, held) for held in there])


def _operation(call: Call, held: Resource) -> JsonObject:
    kind = "WorkloadIdentityPoolProvider" if "/providers/" in held.name else "WorkloadIdentityPool"
    return call.cloud.operations.lro(
        _numbered(call, held.name),
        seconds=_CALL_SECONDS,
        metadata={"@type": f"type.googleapis.com/google.iam.admin.v1.{kind}OperationMetadata"},
        response={"@type": f"type.googleapis.com/google.iam.admin.v1.{kind}", **_shown(call, held)},
    )


def _check_active(held: Resource) -> None:
    if held.body["state"] != "ACTIVE":
        raise failed_precondition(f"{held.name} is deleted; undelete it first.")


def _masked(call: Call, held: Resource, mutable: frozenset[str]) -> JsonObject:
    return bodies.masked(held.body, call.body, call.params.get("updateMask"), mutable=mutable)


def _checked(body: JsonObject) -> JsonObject:
    for field, longest in _TEXTS.items():
        if len(body.get(field, "")) > longest:
            raise invalid(f"{field} must have at most {longest} characters.", field=field)
    return body


def _checked_provider(body: JsonObject) -> JsonObject:
    if "oidc" not in body or body.keys() & {"aws", "saml", "x509"}:
        raise invalid("The local cloud serves providers of OpenID Connect (oidc) alone.", field="provider_config")
    issuer = body["oidc"].get("issuerUri", "")
    if not issuer.startswith("https://"):
        raise invalid("The issuer URI must be an https URL.", field="oidc.issuer_uri")
    mapping = body.get("attributeMapping", {})
    if "google.subject" not in mapping:
        raise invalid("The attribute mapping must contain the key google.subject.", field="attribute_mapping")
    if sum(key.startswith("attribute.") for key in mapping) > _MOST_ATTRIBUTES:
        raise invalid(f"At most {_MOST_ATTRIBUTES} custom attributes are allowed.", field="attribute_mapping")
    for key, expression in mapping.items():
        if not _ATTRIBUTE.fullmatch(key) or not 0 < len(expression) <= _LONGEST_EXPRESSION:
            raise invalid(f"Invalid attribute mapping '{key}'.", field="attribute_mapping")
    _check_expressions(mapping, body.get("attributeCondition", ""))
    if issuer in _SHARED_ISSUERS and "assertion." not in body.get("attributeCondition", ""):
        raise invalid(
            "The attribute condition must reference one of the provider's claims.", field="attribute_condition"
        )
    return _checked(body)


def _check_expressions(mapping: JsonObject, condition: str) -> None:
    """Raises 400 for one that is no CEL, names what there is not, or is no condition."""
    for key, expression in mapping.items():
        _read_cel(expression, ("assertion",), field=f"attribute_mapping[{key}]")
    if not condition:
        return
    found = _read_cel(condition, ("assertion", "attribute", "google"), field="attribute_condition")
    if found.boolean is False:
        raise invalid("The attribute condition must be a boolean expression.", field="attribute_condition")
    for name in sorted(found.names):
        target = ".".join(name.split(".")[:2])
        if not name.startswith("assertion") and target not in mapping:
            raise invalid(
                f"The attribute condition refers to '{target}', which the attribute mapping does not set.",
                field="attribute_condition",
            )


def _read_cel(expression: str, roots: tuple[str, ...], *, field: str) -> cel.Expression:
    try:
        return cel.read(expression, roots)
    except cel.CelError as error:
        raise invalid(f"Error parsing '{expression}' of {field}: {error}.", field=field) from None


def _shown(call: Call, held: Resource) -> JsonObject:
    shown: JsonObject = {"name": _numbered(call, held.name), **held.body}
    if "purge" in shown:
        shown["expireTime"] = timestamp(shown.pop("purge"))
    return shown


def _numbered(call: Call, name: str) -> str:
    _, project, rest = name.split("/", 2)
    return f"projects/{call.cloud.project(project).number}/{rest}"
