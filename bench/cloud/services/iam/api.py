"""IAM: service accounts of a project with the policies on them.

Owns the rules of account ids, and the three ways an account is named: by its e-mail address, by its unique id, and
below `projects/-`. It makes no keys and signs nothing. Source:
cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts, read 2026-11.
"""

from __future__ import annotations

from types import MappingProxyType

from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import ApiError, JsonObject
from bench.cloud.services import bodies, policies
from bench.cloud.services.collection import Collection
from bench.cloud.services.policies import SERVICE_ACCOUNT_KIND
from bench.cloud.store import Resource


class _ServiceAccounts(Collection):
    api = "iam.projects.serviceAccounts"
    kind = SERVICE_ACCOUNT_KIND
    methods = "create get list patch delete enable disable"
    inside = MappingProxyType({"create": "serviceAccount", "patch": "serviceAccount"})
    key = "accounts"
    adds = ("etag",)
    has_policy = True

    def asked_id(self, call: ApiCall) -> str:
        return call.body.get("accountId", "")

    def new_name(self, call: ApiCall) -> str:
        name = super().new_name(call)
        return f"{name}@{name.split('/')[1]}.iam.gserviceaccount.com"

    def found(self, call: ApiCall) -> Resource:
        """The account of a call; below `projects/-` the address itself says the project."""
        project, key = call.ids["projectsId"], call.ids["serviceAccountsId"]
        below = "" if project == "-" else f"projects/{call.cloud.project(project).id}/"
        for held in call.cloud.store.each(self.kind, below):
            if key in (held.name.rpartition("/")[2], _unique_id(held)):
                return held
        raise ApiError(404, f"Unknown service account: projects/{project}/serviceAccounts/{key}")

    def clear(self, call: ApiCall, held: Resource) -> None:
        policies.mark_deleted(call.cloud, held.name.rpartition("/")[2], _unique_id(held))

    def enable(self, call: ApiCall) -> JsonObject:
        held = self.found(call)
        body = bodies.without_unset({**held.body, "disabled": call.method.endswith(".disable")})
        call.cloud.store.replace(held, body, now=call.cloud.now)
        return {}

    disable = enable

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        _, project, _, email = held.name.split("/")
        identity = _unique_id(held)
        says = {"projectId": project, "uniqueId": identity, "email": email, "oauth2ClientId": identity}
        return {**super().shown(cloud, held), **says}


_ServiceAccounts()


def _unique_id(held: Resource) -> str:
    """21 digits, as Google's are; another one when an account of the same name is made again."""
    return f"1{held.uid:020d}"
