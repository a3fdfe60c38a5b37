"""IAM policies of any resource: read, write with an etag, test permissions.

Owns the policy documents, their etags, and the refusal of members, roles and conditions that Google would refuse.
Each service says what its resource is called and that it exists, and deletes the policy with the resource. Policies
are documents only: nothing here grants or denies a call. `requestedPolicyVersion` is not looked at: every answer is
complete, with the version that its conditions need.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bench.cloud import cel
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, aborted, invalid
from bench.cloud.services import roles

KIND = "iam.policy"
SERVICE_ACCOUNT_KIND = "iam.serviceAccount"
# What Google answers for a resource that never had a policy.
_UNSET_ETAG = "ACAB"
_MEMBER = re.compile(
    r"allUsers|allAuthenticatedUsers|(?:user|group|serviceAccount):[^@\s]+@[^@\s]+\.[^@\s]+|domain:[^@\s:]+\.[^@\s:]+"
    r"|project(?:Owner|Editor|Viewer):[a-z0-9.:-]+|principal(?:Set|Hierarchy)?://[a-z]+\.googleapis\.com/\S+"
    r"|deleted:(?:user|group|serviceAccount):\S+\?uid=\d+"
    r"|serviceAccount:[a-z0-9-]+\.svc\.id\.goog\[[^\[\]/]+/[^\[\]/]+\]"
)
# cloud.google.com/iam/docs/conditions-attribute-reference, read 2026-11.
_CONDITION_NAMES = ("resource", "request", "destination", "principal", "api")


def read(cloud: Cloud, name: str, *, initial: JsonObject | None = None) -> JsonObject:
    """The policy of the resource with this full name; `initial` is what a new resource of its kind has."""
    held = cloud.store.find(KIND, name)
    if held is None:
        return {**(initial or {}), "version": 1, "etag": _UNSET_ETAG}
    return {**held.body, "etag": held.etag}


def write(
    cloud: Cloud,
    name: str,
    sent: JsonObject,
    *,
    project: str,
    mask: str | None = None,
    initial: JsonObject | None = None,
) -> JsonObject:
    """Replace a policy and return it.

    An etag that is no longer the current one is 409 ABORTED; none at all overwrites. A mask keeps what it leaves out.
    project: id of the resource's project; service accounts of that project must exist.
    """
    current = read(cloud, name, initial=initial)
    if sent.get("etag") and sent["etag"] != current["etag"]:
        raise aborted(
            "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff. "
            f"The request's ETag '{sent['etag']}' did not match the current policy's ETag '{current['etag']}'."
        )
    parts = {"bindings", "auditConfigs"} & set(mask.split(",")) if mask else {"bindings", "auditConfigs"}
    policy = {key: current[key] for key in ("bindings", "auditConfigs") if key not in parts and key in current}
    for key in parts:
        if sent.get(key):
            policy[key] = sent[key]
    if "bindings" in policy:
        policy["bindings"] = _normal(cloud, policy["bindings"], project)
    conditional = any("condition" in binding for binding in policy.get("bindings", ()))
    if conditional and sent.get("version") != 3:
        raise invalid("Specified policy version must be 3 when a binding has a condition.", field="policy.version")
    policy["version"] = 3 if conditional else 1
    return {**policy, "etag": cloud.store.put(KIND, name, policy, now=cloud.now).etag}


def forget(cloud: Cloud, name: str) -> None:
    """Drop the policy of a resource that is deleted."""
    cloud.store.delete(KIND, name)


def mark_deleted(cloud: Cloud, email: str, unique_id: str) -> None:
    """Show a deleted service account as what it was in every policy that names it, as Google does.

    Otherwise nobody could change such a policy: its members must exist. An account made again gets nothing back.
    """
    member, mark = f"serviceAccount:{email}", f"deleted:serviceAccount:{email}?uid={unique_id}"
    for held in list(cloud.store.each(KIND)):
        bindings = held.body.get("bindings", [])
        if any(member in binding["members"] for binding in bindings):
            marked = [
                {**each, "members": [mark if one == member else one for one in each["members"]]} for each in bindings
            ]
            cloud.store.replace(held, {**held.body, "bindings": marked}, now=cloud.now)


def serve(collection: str, resolve: Callable[[ApiCall], tuple[str, str]]) -> None:
    """Register get, set and test for resources with the usual three methods.

    collection: discovery prefix, `secretmanager.projects.secrets`. resolve: the full name and project id of the
    resource that a call names; raises 404.
    """

    @handles(f"{collection}.getIamPolicy")
    def get_policy(call: ApiCall) -> JsonObject:
        name, _ = resolve(call)
        return read(call.cloud, name)

    @handles(f"{collection}.setIamPolicy")
    def set_policy(call: ApiCall) -> JsonObject:
        name, project = resolve(call)
        sent = call.body.get("policy")
        if sent is None:
            raise invalid("A policy is required.", field="policy")
        return write(call.cloud, name, sent, project=project, mask=call.body.get("updateMask"))

    @handles(f"{collection}.testIamPermissions")
    def test_permissions(call: ApiCall) -> JsonObject:
        resolve(call)
        return permissions_held(call.body)


def permissions_held(asked: Mapping[str, Any]) -> JsonObject:
    """The caller of the local cloud owns everything, so it holds whatever it asks for."""
    permissions = asked.get("permissions") or []
    return {"permissions": permissions} if permissions else {}


def _normal(cloud: Cloud, bindings: list[JsonObject], project: str) -> list[JsonObject]:
    """Bindings as they are kept: checked, one for each role and condition, members in the order given, once each."""
    kept: dict[tuple[str, str], JsonObject] = {}
    for at, binding in enumerate(bindings):
        role, members = binding.get("role", ""), binding.get("members") or []
        where = f"policy.bindings[{at}]"
        if not roles.exists(role):
            raise invalid(f"Role {role} is not supported for this resource.", field=f"{where}.role")
        for member in members:
            _check_member(cloud, member, project, f"{where}.members")
        condition = binding.get("condition")
        if condition is not None:
            _check_condition(condition, f"{where}.condition")
        if not members:
            continue
        entry = kept.setdefault(
            (role, repr(sorted(condition.items())) if condition else ""), {"role": role, "members": []}
        )
        entry["members"] = list(dict.fromkeys([*entry["members"], *members]))
        if condition is not None:
            entry["condition"] = condition
    return list(kept.values())


def _check_condition(condition: JsonObject, field: str) -> None:
    if not (condition.get("title") and condition.get("expression")):
        raise invalid("A condition must have a title and an expression.", field=field)
    try:
        boolean = cel.read(condition["expression"], _CONDITION_NAMES).boolean
    except cel.CelError as error:
        raise invalid(f"Condition expression compilation failed: {error}.", field=f"{field}.expression") from None
    if not boolean:
        raise invalid("Condition expression must evaluate to a boolean.", field=f"{field}.expression")


def _check_member(cloud: Cloud, member: str, project: str, field: str) -> None:
    if not _MEMBER.fullmatch(member):
        raise invalid(
            f"Invalid member '{member}': write user:, group:, serviceAccount:, domain:, principal:// or "
            "principalSet:// with its value.",
            field=field,
        )
    kind, _, email = member.partition(":")
    if kind == "serviceAccount":
        check_account(cloud, project, email, field)


def check_account(cloud: Cloud, project: str, email: str, field: str) -> None:
    """Raises 400 for an account of the project that does not exist. Those of others are taken as they are."""
    own = email.endswith(f"@{project}.iam.gserviceaccount.com")
    if own and cloud.store.find(SERVICE_ACCOUNT_KIND, account_name(project, email)) is None:
        raise invalid(f"Service account {email} does not exist.", field=field)


def account_name(project: str, email: str) -> str:
    """The full name a service account is stored under."""
    return f"projects/{project}/serviceAccounts/{email}"
