"""IAM: workload identity pools and their OIDC providers, by which tokens of others (GitHub's) become ours.

Owns that what was deleted keeps its id, and the rules of a provider's mapping and condition. It exchanges no token.
Names are answered with the project's number, as the service does, and taken with the number or the id.
Sources: cloud.google.com/iam/docs/reference/rest/v1/projects.locations.workloadIdentityPools and .../providers,
cloud.google.com/iam/docs/manage-workload-identity-pools-providers, read 2026-11.
"""

from __future__ import annotations

from types import MappingProxyType

from bench.cloud import cel
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, invalid
from bench.cloud.services.collection import Collection, numbered
from bench.cloud.store import Resource

_POOLS = "iam.projects.locations.workloadIdentityPools"
# Issuers of many customers' tokens: without a condition on a claim anybody there would be let in.
_SHARED_ISSUERS = frozenset({"https://token.actions.githubusercontent.com"})
_TYPE = "type.googleapis.com/google.iam.admin.v1"


class _Federated(Collection):
    """Pools and providers. A deleted one keeps its name, and says so in its state."""

    seconds = MappingProxyType({"create": 3.0, "patch": 3.0, "delete": 3.0})
    by_number = True

    def delete(self, call: ApiCall) -> JsonObject:
        held = self.found(call)
        if held.body.get("state") == "DELETED":
            raise self.missing(call.cloud, held.name)
        body = {**held.body, "state": "DELETED"}
        return self.answer(call, "delete", call.cloud.store.replace(held, body, now=call.cloud.now))

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {"state": "ACTIVE", **super().shown(cloud, held)}

    def response(self, cloud: Cloud, method: str, held: Resource) -> JsonObject:
        return {"@type": self.message, **self.shown(cloud, held)}

    def operation(self, call: ApiCall, method: str, name: str, response: JsonObject | None) -> JsonObject:
        metadata = {"@type": f"{self.message}OperationMetadata"}
        place = numbered(call.cloud, name)
        return call.cloud.operations.lro(place, seconds=self.seconds[method], metadata=metadata, response=response)


class _Pools(_Federated):
    api = _POOLS
    kind = "iam.workloadIdentityPool"
    new_id = "workloadIdentityPoolId"
    message = f"{_TYPE}.WorkloadIdentityPool"

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        return {"mode": "FEDERATION_ONLY", **body}


POOLS = _Pools()


class _Providers(_Federated):
    api = f"{_POOLS}.providers"
    kind = "iam.workloadIdentityPoolProvider"
    above = POOLS
    new_id = "workloadIdentityPoolProviderId"
    key = "workloadIdentityPoolProviders"
    message = f"{_TYPE}.WorkloadIdentityPoolProvider"

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        mapping, condition = body.get("attributeMapping", {}), body.get("attributeCondition", "")
        for expression in mapping.values():
            _read_cel(expression, ("assertion",))
        if condition:
            _check_condition(mapping, condition)
        if body.get("oidc", {}).get("issuerUri") in _SHARED_ISSUERS and "assertion." not in condition:
            raise invalid("The attribute condition must reference one of the provider's claims.")
        return body


_Providers()


@handles(f"{_POOLS}.listAttestationRules")
def list_attestation_rules(call: ApiCall) -> JsonObject:
    """Rules belong to managed identities, which this cloud has none of; the provider asks."""
    POOLS.found(call)
    return {}


def _check_condition(mapping: JsonObject, condition: str) -> None:
    """Raises 400 for one that is no CEL, names what there is not, or is no condition."""
    found = _read_cel(condition, ("assertion", "attribute", "google"))
    if not found.boolean:
        raise invalid("The attribute condition must be a boolean expression.")
    for name in sorted(found.names):
        if not name.startswith("assertion") and name not in mapping:
            raise invalid(f"The attribute condition refers to '{name}', which the attribute mapping does not set.")


def _read_cel(expression: str, roots: tuple[str, ...]) -> cel.Expression:
    try:
        return cel.read(expression, roots)
    except cel.CelError as error:
        raise invalid(f"Error parsing '{expression}': {error}.") from None
