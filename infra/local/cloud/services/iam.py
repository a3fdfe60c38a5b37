"""IAM: service accounts of a project and the policies on them. It makes no keys and signs nothing.

Owns the rules of account ids and the three ways an account is named: by its e-mail address, by its unique id, and
below `projects/-`. Sources: cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts, read 2026-11.
"""

from __future__ import annotations

import re

from infra.local.cloud.errors import ApiError, aborted, invalid
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, listings, policies
from infra.local.cloud.services.policies import SERVICE_ACCOUNT_KIND, account_name
from infra.local.cloud.store import Resource

_ID = re.compile(r"[a-z](?=[a-z0-9-]{5,29}$)[a-z0-9-]*[a-z0-9]")
_LONGEST_DISPLAY_NAME = 100
_LONGEST_DESCRIPTION = 256
_MUTABLE = frozenset({"displayName", "description"})


@handles("iam.projects.serviceAccounts.create")
def create_account(call: Call) -> JsonObject:
    cloud, project = call.cloud, call.cloud.project(call.ids["projectsId"]).id
    identity = call.body.get("accountId", "")
    if not _ID.fullmatch(identity):
        raise invalid(
            f"Invalid account id '{identity}': it must hold 6 to 30 lowercase letters, digits and dashes, start with a "
            "letter and not end with a dash.",
            field="account_id",
        )
    email = f"{identity}@{project}.iam.gserviceaccount.com"
    name = account_name(project, email)
    if cloud.store.find(SERVICE_ACCOUNT_KIND, name):
        raise ApiError(409, f"Service account {identity} already exists within project projects/{project}.")
    sent = call.body.get("serviceAccount") or {}
    body = bodies.without_unset({key: sent.get(key) for key in sorted(_MUTABLE)})
    return _shown(cloud.store.insert(SERVICE_ACCOUNT_KIND, name, _checked(body), now=cloud.now))


@handles("iam.projects.serviceAccounts.get")
def get_account(call: Call) -> JsonObject:
    return _shown(_found(call))


@handles("iam.projects.serviceAccounts.list")
def list_accounts(call: Call) -> JsonObject:
    project = call.cloud.project(call.ids["projectsId"]).id
    return listings.stored(call, "accounts", SERVICE_ACCOUNT_KIND, f"projects/{project}/serviceAccounts/", _shown)


@handles("iam.projects.serviceAccounts.patch")
def patch_account(call: Call) -> JsonObject:
    held = _found(call)
    sent = call.body.get("serviceAccount") or {}
    if sent.get("etag") and sent["etag"] != held.etag:
        raise aborted(f"The service account '{held.name}' was changed meanwhile: its etag is {held.etag}.")
    mask = call.body.get("updateMask")
    if not mask:
        raise invalid("An update mask is required.", field="update_mask")
    body = _checked(bodies.masked(held.body, sent, mask, mutable=_MUTABLE))
    return _shown(call.cloud.store.replace(held, body, now=call.cloud.now))


@handles("iam.projects.serviceAccounts.enable", "iam.projects.serviceAccounts.disable")
def switch_account(call: Call) -> JsonObject:
    held = _found(call)
    body = bodies.without_unset({**held.body, "disabled": call.method.endswith(".disable")})
    call.cloud.store.replace(held, body, now=call.cloud.now)
    return {}


@handles("iam.projects.serviceAccounts.delete")
def delete_account(call: Call) -> JsonObject:
    held = _found(call)
    call.cloud.store.delete(SERVICE_ACCOUNT_KIND, held.name)
    policies.forget(call.cloud, held.name)
    policies.mark_deleted(call.cloud, held.name.rpartition("/")[2], _unique_id(held))
    return {}


policies.serve("iam.projects.serviceAccounts", lambda call: (_found(call).name, _found(call).name.split("/")[1]))


def _found(call: Call) -> Resource:
    """The account of a call; below `projects/-` the address itself says the project."""
    project, key = call.ids["projectsId"], call.ids["serviceAccountsId"]
    store = call.cloud.store
    if "@" in key:
        owner = key.partition("@")[2].partition(".")[0] if project == "-" else call.cloud.project(project).id
        held = store.find(SERVICE_ACCOUNT_KIND, account_name(owner, key))
    else:
        prefix = "" if project == "-" else f"projects/{call.cloud.project(project).id}/"
        held = next((each for each in store.each(SERVICE_ACCOUNT_KIND, prefix) if _unique_id(each) == key), None)
    if held is None:
        raise ApiError(404, f"Unknown service account: projects/{project}/serviceAccounts/{key}")
    return held


def _unique_id(held: Resource) -> str:
    """21 digits, as Google's are; another one when an account of the same name is made again."""
    return f"1{held.uid:020d}"


def _shown(held: Resource) -> JsonObject:
    _, project, _, email = held.name.split("/")
    return {
        "name": held.name,
        "projectId": project,
        "uniqueId": _unique_id(held),
        "email": email,
        "etag": held.etag,
        "oauth2ClientId": _unique_id(held),
        **held.body,
    }


def _checked(body: JsonObject) -> JsonObject:
    for field, longest in (("displayName", _LONGEST_DISPLAY_NAME), ("description", _LONGEST_DESCRIPTION)):
        if len(body.get(field, "").encode()) > longest:
            raise invalid(f"{field} must have at most {longest} bytes.", field=f"service_account.{field}")
    return body
