"""IAM: workload identity pools and their OIDC providers, by which tokens of others (GitHub's) become ours.

Owns their life with the thirty days in which what was deleted keeps its id and can be undeleted, and the rules of a
provider's mapping and condition. It exchanges no token. Names are answered with the project's number, as the service
does, and taken with the number or the id.
Sources: cloud.google.com/iam/docs/reference/rest/v1/projects.locations.workloadIdentityPools and .../providers,
cloud.google.com/iam/docs/manage-workload-identity-pools-providers, read 2026-11.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from bench.cloud import cel
from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import ApiError, JsonObject, failed_precondition, invalid
from bench.cloud.services.collection import numbered
from bench.cloud.services.iam.api import Recoverable
from bench.cloud.store import Resource

_POOLS = "iam.projects.locations.workloadIdentityPools"
_ATTRIBUTE = re.compile(r"google\.(subject|groups)|attribute\.[a-z0-9_]{1,90}")
_LONGEST_EXPRESSION = 2048
_MOST_ATTRIBUTES = 50
# Issuers of many customers' tokens: without a condition on a claim anybody there would be let in.
_SHARED_ISSUERS = frozenset({"https://token.actions.githubusercontent.com"})
_TYPE = "type.googleapis.com/google.iam.admin.v1"


class _Federated(Recoverable):
    """Pools and providers. A deleted one is found, says so in its state, and takes no change."""

    id_form = re.compile(r"(?!gcp-)[a-z0-9-]{4,32}")
    id_rule = "it must hold 4 to 32 lowercase letters, digits and dashes, and not start with gcp-"
    fixed = None
    mark = "purge"
    kept_seconds = 30 * 86400.0
    seconds = MappingProxyType({"create": 3.0, "patch": 3.0, "undelete": 3.0})
    by_number = True

    def parent(self, call: ApiCall) -> str:
        if (location := call.ids["locationsId"]) != "global":
            raise invalid(f"Workload identity pools are global; '{location}' has none.", field="parent")
        return super().parent(call)

    def gone_already(self, cloud: Cloud, held: Resource) -> ApiError:
        return self.missing(cloud, held.name)

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        for field, longest in (("displayName", 32), ("description", 256), ("attributeCondition", 4096)):
            if len(body.get(field, "")) > longest:
                raise invalid(f"{field} must have at most {longest} characters.", field=field)
        return body

    def check_change(self, cloud: Cloud, held: Resource, body: JsonObject) -> None:
        check_active(held)

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        shown: JsonObject = {**super().shown(cloud, held), "state": "ACTIVE"}
        if self.mark in shown:
            shown |= {"expireTime": timestamp(shown.pop(self.mark)), "state": "DELETED"}
        return shown

    def operation(self, call: ApiCall, method: str, name: str, response: JsonObject | None) -> JsonObject:
        metadata = {"@type": f"{self.message}OperationMetadata"}
        place = numbered(call.cloud, name)
        return call.cloud.operations.lro(place, seconds=self.seconds[method], metadata=metadata, response=response)


def check_active(held: Resource) -> None:
    """Raises 400 for one that is deleted."""
    if _Federated.mark in held.body:
        raise failed_precondition(f"{held.name} is deleted; undelete it first.")


class _Pools(_Federated):
    api = _POOLS
    kind = "iam.workloadIdentityPool"
    new_id = "workloadIdentityPoolId"
    mutable = frozenset({"displayName", "description", "disabled"})
    message = f"{_TYPE}.WorkloadIdentityPool"
    has_policy = True

    def find(self, cloud: Cloud, name: str) -> Resource | None:
        """A pool whose days are over takes its providers with it."""
        held = super().find(cloud, name)
        if held is None:
            for provider in list(cloud.store.each(_Providers.kind, f"{name}/providers/")):
                cloud.store.delete(provider.kind, provider.name)
        return held

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        if body.setdefault("mode", "FEDERATION_ONLY") != "FEDERATION_ONLY":
            raise invalid("The local cloud serves pools of mode FEDERATION_ONLY alone.", field="mode")
        return super().checked(cloud, name, body)


POOLS = _Pools()


class _Providers(_Federated):
    api = f"{_POOLS}.providers"
    kind = "iam.workloadIdentityPoolProvider"
    above = POOLS
    new_id = "workloadIdentityPoolProviderId"
    mutable = frozenset({"displayName", "description", "disabled", "attributeMapping", "attributeCondition", "oidc"})
    key = "workloadIdentityPoolProviders"
    message = f"{_TYPE}.WorkloadIdentityPoolProvider"

    def create(self, call: ApiCall) -> JsonObject:
        check_active(POOLS.found(call))
        return super().create(call)

    def undelete(self, call: ApiCall) -> JsonObject:
        check_active(POOLS.found(call))
        return super().undelete(call)

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        if "oidc" not in body or body.keys() & {"aws", "saml", "x509"}:
            raise invalid("The local cloud serves providers of OpenID Connect (oidc) alone.", field="provider_config")
        issuer = body["oidc"].get("issuerUri", "")
        if not issuer.startswith("https://"):
            raise invalid("The issuer URI must be an https URL.", field="oidc.issuer_uri")
        mapping, condition = body.get("attributeMapping", {}), body.get("attributeCondition", "")
        if "google.subject" not in mapping:
            raise invalid("The attribute mapping must contain the key google.subject.", field="attribute_mapping")
        if sum(key.startswith("attribute.") for key in mapping) > _MOST_ATTRIBUTES:
            raise invalid(f"At most {_MOST_ATTRIBUTES} custom attributes are allowed.", field="attribute_mapping")
        for key, expression in mapping.items():
            if not _ATTRIBUTE.fullmatch(key) or not 0 < len(expression) <= _LONGEST_EXPRESSION:
                raise invalid(f"Invalid attribute mapping '{key}'.", field="attribute_mapping")
            _read_cel(expression, ("assertion",), field=f"attribute_mapping[{key}]")
        if condition:
            _check_condition(mapping, condition)
        if issuer in _SHARED_ISSUERS and "assertion." not in condition:
            raise invalid(
                "The attribute condition must reference one of the provider's claims.", field="attribute_condition"
            )
        return super().checked(cloud, name, body)


_Providers()


@handles(f"{_POOLS}.listAttestationRules")
def list_attestation_rules(call: ApiCall) -> JsonObject:
    """Rules belong to managed identities, which this cloud has none of."""
    POOLS.found(call)
    return {}


def _check_condition(mapping: JsonObject, condition: str) -> None:
    """Raises 400 for one that is no CEL, names what there is not, or is no condition."""
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
