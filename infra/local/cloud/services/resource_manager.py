"""Resource Manager v1 and v3: projects, which exist as soon as somebody names them, and their IAM policies.

Owns how a project looks in both versions. Creating, moving and deleting projects is not served.
"""

from __future__ import annotations

from infra.local.cloud.cloud import Project
from infra.local.cloud.errors import invalid
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import policies

# Any project is older than everything in it.
_CREATED = "2020-01-01T00:00:00.000000Z"


@handles("cloudresourcemanager.projects.get")
def get_project(call: Call) -> JsonObject:
    project = _project(call)
    if call.version == "v1":
        return {
            "projectNumber": str(project.number),
            "projectId": project.id,
            "lifecycleState": "ACTIVE",
            "name": project.id,
            "createTime": _CREATED,
        }
    return {
        "name": f"projects/{project.number}",
        "projectId": project.id,
        "state": "ACTIVE",
        "displayName": project.id,
        "createTime": _CREATED,
        "updateTime": _CREATED,
    }


@handles("cloudresourcemanager.projects.getIamPolicy")
def get_policy(call: Call) -> JsonObject:
    return policies.read(call.cloud, f"projects/{_project(call).id}")


@handles("cloudresourcemanager.projects.setIamPolicy")
def set_policy(call: Call) -> JsonObject:
    project = _project(call).id
    sent = call.body.get("policy")
    if sent is None:
        raise invalid("A policy is required.", field="policy")
    mask = call.body.get("updateMask")
    return policies.write(call.cloud, f"projects/{project}", sent, project=project, mask=mask)


@handles("cloudresourcemanager.projects.testIamPermissions")
def test_permissions(call: Call) -> JsonObject:
    return policies.permissions_held(call.body)


def _project(call: Call) -> Project:
    """v1 has the project in a variable of its own, v3 in the path of the name."""
    named = next(call.ids[key] for key in ("projectId", "projectsId", "resource") if key in call.ids)
    return call.cloud.project(named)
