"""IAM: the custom roles of a project.

Owns their life with the seven days in which a deleted one can be undeleted, and that a policy names none that is not
there. What a role permits is kept, and nothing here asks for it.
Source: cloud.google.com/iam/docs/reference/rest/v1/projects.roles and .../creating-custom-roles, read 2026-11.
"""

from __future__ import annotations

import re

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import aborted, already_exists, failed_precondition, invalid, not_found
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, listings
from infra.local.cloud.store import Resource

_KIND = "iam.role"
_ID = re.compile(r"[A-Za-z0-9_.]{3,64}")
_OF_PROJECT = re.compile(r"projects/([^/]+)/roles/([^/]+)")
_MUTABLE = frozenset({"title", "description", "includedPermissions", "stage"})
_LONGEST_TITLE, _LONGEST_DESCRIPTION, _MOST_PERMISSIONS = 100, 300, 3000
_PERMISSION = re.compile(r"[a-z][A-Za-z0-9]*\.[A-Za-z0-9]+(?:\.[A-Za-z0-9]+)*")
_KEPT_SECONDS = 7 * 86400.0


def missing(cloud: Cloud, role: str, project: str) -> bool:
    """Whether a role is a custom one of this project that does not exist, or is deleted. Others are not known here."""
    hit = _OF_PROJECT.fullmatch(role)
    if hit is None or cloud.project(hit[1]).id != project:
        return False
    held = _standing(cloud, f"projects/{project}/roles/{hit[2]}")
    return held is None or "deleted" in held.body


@handles("iam.projects.roles.create")
def create_role(call: Call) -> JsonObject:
    identity = call.body.get("roleId", "")
    if not _ID.fullmatch(identity):
        raise invalid(
            f"The role id '{identity}' must have 3 to 64 letters, digits, underscores and periods.", field="role_id"
        )
    name = f"{_parent(call)}/{identity}"
    if _standing(call.cloud, name):
        raise already_exists(name)
    body = _checked(call.body.get("role", {}))
    return _shown(call.cloud.store.insert(_KIND, name, {"stage": "ALPHA", **body}, now=call.cloud.now))


@handles("iam.projects.roles.get")
def get_role(call: Call) -> JsonObject:
    return _shown(_found(call))


@handles("iam.projects.roles.list")
def list_roles(call: Call) -> JsonObject:
    """Permissions are shown in the FULL view alone."""
    there = [each for each in call.cloud.store.each(_KIND, f"{_parent(call)}/") if _standing(call.cloud, each.name)]
    shown = [_shown(each) for each in there if call.params.get("showDeleted") or "deleted" not in each.body]
    if call.params.get("view") != "FULL":
        shown = [{key: value for key, value in each.items() if key != "includedPermissions"} for each in shown]
    return listings.page(call, "roles", shown)


@handles("iam.projects.roles.patch")
def patch_role(call: Call) -> JsonObject:
    held = _found(call)
    _check_etag(call.body.get("etag"), held)
    body = _checked(bodies.masked(held.body, call.body, call.params.get("updateMask"), mutable=_MUTABLE))
    return _shown(call.cloud.store.replace(held, body, now=call.cloud.now))


@handles("iam.projects.roles.delete")
def delete_role(call: Call) -> JsonObject:
    held = _found(call)
    _check_etag(call.params.get("etag"), held)
    if "deleted" in held.body:
        raise failed_precondition(f"The role {held.name} is already deleted.")
    body = {**held.body, "deleted": call.cloud.now + _KEPT_SECONDS}
    return _shown(call.cloud.store.replace(held, body, now=call.cloud.now))


@handles("iam.projects.roles.undelete")
def undelete_role(call: Call) -> JsonObject:
    held = _found(call)
    if "deleted" not in held.body:
        raise failed_precondition(f"The role {held.name} is not deleted.")
    body = {key: value for key, value in held.body.items() if key != "deleted"}
    return _shown(call.cloud.store.replace(held, body, now=call.cloud.now))


def _parent(call: Call) -> str:
    return f"projects/{call.cloud.project(call.ids['projectsId']).id}/roles"


def _found(call: Call) -> Resource:
    name = f"{_parent(call)}/{call.ids['rolesId']}"
    held = _standing(call.cloud, name)
    if held is None:
        raise not_found(name)
    return held


def _standing(cloud: Cloud, name: str) -> Resource | None:
    """The role of this name, a deleted one too until its days are over."""
    held = cloud.store.find(_KIND, name)
    if held is None or held.body.get("deleted", cloud.now + 1) > cloud.now:
        return held
    cloud.store.delete(_KIND, name)
    return None


def _check_etag(sent: str | None, held: Resource) -> None:
    if sent and sent != held.etag:
        raise aborted(f"There were concurrent changes: the role's ETag is '{held.etag}', the request's '{sent}'.")


def _checked(body: JsonObject) -> JsonObject:
    body = bodies.without_unset({key: value for key, value in body.items() if key in _MUTABLE})
    for field, longest in (("title", _LONGEST_TITLE), ("description", _LONGEST_DESCRIPTION)):
        if len(body.get(field, "")) > longest:
            raise invalid(f"The {field} of a role has at most {longest} characters.", field=f"role.{field}")
    permissions = body.get("includedPermissions", [])
    if len(permissions) > _MOST_PERMISSIONS:
        raise invalid(f"A role has at most {_MOST_PERMISSIONS} permissions.", field="role.included_permissions")
    for permission in permissions:
        if not _PERMISSION.fullmatch(permission):
            raise invalid(f"Permission {permission} is not valid.", field="role.included_permissions")
    return body


def _shown(held: Resource) -> JsonObject:
    shown = {"name": held.name, **held.body, "etag": held.etag}
    return {**shown, "deleted": True} if "deleted" in shown else shown
