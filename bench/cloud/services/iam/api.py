"""IAM: service accounts of a project with the policies on them.

Owns the two ways an account is named: by its e-mail address in its project, and below `projects/-`. It makes no keys
and signs nothing. Source: cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts, read 2026-11.
"""

from __future__ import annotations

from types import MappingProxyType

from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import JsonObject
from bench.cloud.services import policies
from bench.cloud.services.collection import Collection
from bench.cloud.services.policies import SERVICE_ACCOUNT_KIND
from bench.cloud.store import Resource


class _ServiceAccounts(Collection):
    api = "iam.projects.serviceAccounts"
    kind = SERVICE_ACCOUNT_KIND
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
        project, email = call.ids["projectsId"], call.ids["serviceAccountsId"]
        owner = email.partition("@")[2].partition(".")[0] if project == "-" else call.cloud.project(project).id
        return self.named(call.cloud, f"projects/{owner}/serviceAccounts/{email}")

    def clear(self, call: ApiCall, held: Resource) -> None:
        policies.mark_deleted(call.cloud, held.name.rpartition("/")[2], _unique_id(held))

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        _, project, _, email = held.name.split("/")
        identity = _unique_id(held)
        says = {"projectId": project, "uniqueId": identity, "email": email, "oauth2ClientId": identity}
        return {**super().shown(cloud, held), **says}


_ServiceAccounts()


def _unique_id(held: Resource) -> str:
    """21 digits, as Google's are; another one when an account of the same name is made again."""
    return f"1{held.uid:020d}"
