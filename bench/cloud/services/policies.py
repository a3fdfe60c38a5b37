"""IAM policies of any resource: read, write with an etag, test permissions.

Owns the policy documents, their etags, and the refusal of members, roles and conditions that Google would refuse.
Each service says what its resource is called and that it exists, and deletes the policy with the resource. Policies
are documents only: nothing here grants or denies a call. `requestedPolicyVersion` is not looked at: every answer is
complete, with the version that its conditions need.
"""

from __future__ import annotations

import re
from collections.abc import Callable

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


def write(cloud: Cloud, name: str, sent: JsonObject, *, project: str, initial: JsonObject | None = None) -> JsonObject:
    """Replace a policy and return it.

    An etag that is no longer the current one is 409 ABORTED; none at all overwrites.
    project: id of the resource's project; service accounts of that project must exist.
    """
    current = read(cloud, name, initial=initial)
    if sent.get("etag") and sent["etag"] != current["etag"]:
        raise aborted(
            "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff. "
            f"The request's ETag '{sent['etag']}' did not match the current policy's ETag '{current['etag']}'."
        )
    policy = {key: sent[key] for key in ("auditConfigs", "bindings") if sent.get(key)}
    if "bindings" in policy:
        policy["bindings"] = _normal(cloud, policy["bindings"], project)
    conditional = any("condition" in binding for binding in policy.get("bindings", ()))
    if conditional and sent.get("version") != 3:
        raise invalid("Specified policy version must be 3 when a binding has a condition.")
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
        return write(call.cloud, name, call.body.get("policy", {}), project=project)

    @handles(f"{collection}.testIamPermissions")
    def test_permissions(call: ApiCall) -> JsonObject:
        resolve(call)
        return {key: call.body[key] for key in ("permissions",) if call.body.get(key)}


def _normal(cloud: Cloud, bindings: list[JsonObject], project: str) -> list[JsonObject]:
    """Bindings as they are kept: checked, one for each role and condition, members in the order given, once each."""
    kept: dict[tuple[str, str], JsonObject] = {}
    for binding in bindings:
        role, members, condition = binding.get("role", ""), binding.get("members") or [], binding.get("condition")
        if not roles.exists(role):
            raise invalid(f"Role {role} is not supported for this resource.")
        for member in members:
            _check_member(cloud, member, project)
        if condition is not None:
            _check_condition(condition)
        if not members:
            continue
        key = (role, repr(condition and sorted(condition.items())))
        entry = kept.setdefault(key, {**binding, "members": []})
        entry["members"] = list(dict.fromkeys([*entry["members"], *members]))
    return list(kept.values())


def _check_condition(condition: JsonObject) -> None:
    if not (condition.get("title") and condition.get("expression")):
        raise invalid("A condition must have a title and an expression.")
    try:
        boolean = cel.read(condition["expression"], _CONDITION_NAMES).boolean
    except cel.CelError as error:
        raise invalid(f"Condition expression compilation failed: {error}.") from None
    if not boolean:
        raise invalid("Condition expression must evaluate to a boolean.")


def _check_member(cloud: Cloud, member: str, project: str) -> None:
    if not _MEMBER.fullmatch(member):
        raise invalid(
            f"Invalid member '{member}': write user:, group:, serviceAccount:, domain:, principal:// or "
            "principalSet:// with its value."
        )
    kind, _, email = member.partition(":")
    if kind == "serviceAccount":
        check_account(cloud, project, email)


def check_account(cloud: Cloud, project: str, email: str) -> None:
    """Raises 400 for an account of the project that does not exist. Those of others are taken as they are."""
    own = email.endswith(f"@{project}.iam.gserviceaccount.com")
    if own and cloud.store.find(SERVICE_ACCOUNT_KIND, f"projects/{project}/serviceAccounts/{email}") is None:
        raise invalid(f"Service account {email} does not exist.")
