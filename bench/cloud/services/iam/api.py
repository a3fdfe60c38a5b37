"""IAM: service accounts of a project with the policies on them, and the custom roles of a project.

Owns the rules of account ids, the three ways an account is named (by its e-mail address, by its unique id, and below
`projects/-`), and the seven days in which a deleted role can be undeleted. It makes no keys and signs nothing, and
nothing asks what a role permits. Sources: cloud.google.com/iam/docs/reference/rest/v1, its projects.serviceAccounts and
projects.roles, and cloud.google.com/iam/docs/creating-custom-roles, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import MappingProxyType

from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import ApiError, JsonObject, failed_precondition, invalid
from bench.cloud.services import bodies, policies
from bench.cloud.services.collection import Collection
from bench.cloud.services.policies import ROLE_KIND, SERVICE_ACCOUNT_KIND, account_name
from bench.cloud.store import Resource

_PERMISSION = re.compile(r"[a-z][A-Za-z0-9]*\.[A-Za-z0-9]+(?:\.[A-Za-z0-9]+)*")
_MOST_PERMISSIONS = 3000


class _ServiceAccounts(Collection):
    api = "iam.projects.serviceAccounts"
    kind = SERVICE_ACCOUNT_KIND
    new_id = "accountId"
    id_form = re.compile(r"[a-z](?=[a-z0-9-]{5,29}$)[a-z0-9-]*[a-z0-9]")
    id_rule = "it must hold 6 to 30 lowercase letters, digits and dashes, start with a letter and not end with a dash"
    mutable = frozenset({"displayName", "description"})
    inside = MappingProxyType({"create": "serviceAccount", "patch": "serviceAccount"})
    mask = "refused"
    key = "accounts"
    adds = ("etag",)
    has_policy = True

    def taken(self, cloud: Cloud, name: str) -> ApiError:
        project, _, account = name.partition("/serviceAccounts/")
        return ApiError(409, f"Service account {account.partition('@')[0]} already exists within project {project}.")

    def asked_id(self, call: ApiCall) -> str:
        return call.body.get("accountId", "")

    def new_name(self, call: ApiCall) -> str:
        head, _, identity = super().new_name(call).rpartition("/")
        return f"{head}/{identity}@{head.split('/')[1]}.iam.gserviceaccount.com"

    def found(self, call: ApiCall) -> Resource:
        """The account of a call; below `projects/-` the address itself says the project."""
        project, key = call.ids["projectsId"], call.ids["serviceAccountsId"]
        if "@" in key:
            owner = key.partition("@")[2].partition(".")[0] if project == "-" else call.cloud.project(project).id
            held = self.find(call.cloud, account_name(owner, key))
        else:
            prefix = "" if project == "-" else f"projects/{call.cloud.project(project).id}/"
            each = call.cloud.store.each(self.kind, prefix)
            held = next((account for account in each if _unique_id(account) == key), None)
        if held is None:
            raise ApiError(404, f"Unknown service account: projects/{project}/serviceAccounts/{key}")
        return held

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        for field, longest in (("displayName", 100), ("description", 256)):
            if len(body.get(field, "").encode()) > longest:
                raise invalid(f"{field} must have at most {longest} bytes.", field=f"service_account.{field}")
        return body

    def clear(self, call: ApiCall, held: Resource) -> None:
        policies.mark_deleted(call.cloud, held.name.rpartition("/")[2], _unique_id(held))

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        _, project, _, email = held.name.split("/")
        identity = _unique_id(held)
        says = {"projectId": project, "uniqueId": identity, "email": email, "oauth2ClientId": identity}
        return {**super().shown(cloud, held), **says}


ACCOUNTS = _ServiceAccounts()


@handles("iam.projects.serviceAccounts.enable", "iam.projects.serviceAccounts.disable")
def switch_account(call: ApiCall) -> JsonObject:
    held = ACCOUNTS.found(call)
    body = bodies.without_unset({**held.body, "disabled": call.method.endswith(".disable")})
    call.cloud.store.replace(held, body, now=call.cloud.now)
    return {}


def _unique_id(held: Resource) -> str:
    """21 digits, as Google's are; another one when an account of the same name is made again."""
    return f"1{held.uid:020d}"


class Recoverable(Collection):
    """A collection whose resources keep their names for a while after they were deleted, and can be undeleted.

    mark: the field that says until when. kept_seconds: how long.
    """

    methods = "create get list patch delete undelete"
    mark: str
    kept_seconds: float

    def find(self, cloud: Cloud, name: str) -> Resource | None:
        """What has this name, deleted ones too, unless its time is over."""
        held = cloud.store.find(self.kind, name)
        if held is None or held.body.get(self.mark, cloud.now + 1) > cloud.now:
            return held
        cloud.store.delete(self.kind, name)
        policies.forget(cloud, name)
        return None

    def listed(self, call: ApiCall) -> Iterable[Resource]:
        there = [each for each in super().listed(call) if self.find(call.cloud, each.name)]
        return [each for each in there if call.params.get("showDeleted") or self.mark not in each.body]

    def delete(self, call: ApiCall) -> JsonObject:
        held = self.found(call)
        self.check_etag(call, held)
        if self.mark in held.body:
            raise self.gone_already(call.cloud, held)
        return self._replaced(call, held, {**held.body, self.mark: call.cloud.now + self.kept_seconds})

    def gone_already(self, cloud: Cloud, held: Resource) -> ApiError:
        """The refusal to delete what is deleted."""
        return failed_precondition(f"'{self.public(cloud, held.name)}' is already deleted.")

    def undelete(self, call: ApiCall) -> JsonObject:
        held = self.found(call)
        if self.mark not in held.body:
            raise failed_precondition(f"'{self.public(call.cloud, held.name)}' is not deleted.")
        return self._replaced(call, held, {key: value for key, value in held.body.items() if key != self.mark})

    def _replaced(self, call: ApiCall, held: Resource, body: JsonObject) -> JsonObject:
        """Either way it is there still, so the answer shows it."""
        return self.answer(call, "undelete", call.cloud.store.replace(held, body, now=call.cloud.now))


class _Roles(Recoverable):
    api = "iam.projects.roles"
    kind = ROLE_KIND
    new_id = "roleId"
    id_form = re.compile(r"[A-Za-z0-9_.]{3,64}")
    id_rule = "it must have 3 to 64 letters, digits, underscores and periods"
    mutable = frozenset({"title", "description", "includedPermissions", "stage"})
    inside = MappingProxyType({"create": "role"})
    adds = ("etag",)
    mark = "deleted"
    kept_seconds = 7 * 86400.0

    def asked_id(self, call: ApiCall) -> str:
        return call.body.get("roleId", "")

    def list(self, call: ApiCall) -> JsonObject:
        """Permissions are shown in the FULL view alone."""
        answer = super().list(call)
        if call.params.get("view") != "FULL":
            for role in answer.get("roles", []):
                role.pop("includedPermissions", None)
        return answer

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        for field, longest in (("title", 100), ("description", 300)):
            if len(body.get(field, "")) > longest:
                raise invalid(f"The {field} of a role has at most {longest} characters.", field=f"role.{field}")
        permissions = body.get("includedPermissions", [])
        if len(permissions) > _MOST_PERMISSIONS:
            raise invalid(f"A role has at most {_MOST_PERMISSIONS} permissions.", field="role.included_permissions")
        for permission in permissions:
            if not _PERMISSION.fullmatch(permission):
                raise invalid(f"Permission {permission} is not valid.", field="role.included_permissions")
        return body if self.find(cloud, name) else {"stage": "ALPHA", **body}

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        shown = super().shown(cloud, held)
        return {**shown, "deleted": True} if "deleted" in shown else shown


_Roles()
