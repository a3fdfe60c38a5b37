"""Projects: how they look to Resource Manager, their policies, which APIs they have switched on, and their operations.

A project exists as soon as somebody names it; making, moving and deleting one is not served. Nothing is refused for
want of a service; one is known when Google publishes an API of that name. The APIs below `/v1` and `/v1beta1` share the
paths of their operations at one root, so one answer serves them all.
Sources: cloud.google.com/resource-manager/reference/rest and cloud.google.com/service-usage/docs/reference/rest/v1,
read 2026-11.
"""

from __future__ import annotations

from functools import cache

from bench.cloud import discovery
from bench.cloud.cloud import ApiCall, ProjectNames, handles
from bench.cloud.errors import ApiError, JsonObject
from bench.cloud.services import policies
from bench.cloud.services.listings import page

# What Service Usage names an operation that had nothing to do.
_NOTHING_TO_DO = "operations/noop.DONE_OPERATION"
_KIND = "serviceusage.service"
_CHANGE_SECONDS = 4.0
# Services whose name is not that of a published discovery document.
_UNPUBLISHED = frozenset(
    {"storage-api", "storage-component", "cloudapis", "containerfilesystem", "containerregistry", "source"}
)
_TYPE = "type.googleapis.com/google.api.serviceusage.v1"


@handles("cloudresourcemanager.projects.get")
def get_project(call: ApiCall) -> JsonObject:
    project = _project(call)
    # Any project is older than everything in it.
    shown = {"projectId": project.id, "createTime": "2020-01-01T00:00:00.000000Z"}
    if call.version == "v1":
        return {**shown, "projectNumber": str(project.number), "lifecycleState": "ACTIVE", "name": project.id}
    return {**shown, "name": f"projects/{project.number}", "displayName": project.id, "state": "ACTIVE"}


def _project(call: ApiCall) -> ProjectNames:
    """v1 has the project in a variable of its own, v3 in the path of the name."""
    named = next(call.ids[key] for key in ("projectId", "projectsId", "resource") if key in call.ids)
    return call.cloud.project(named)


policies.serve("cloudresourcemanager.projects", lambda call: (f"projects/{_project(call).id}", _project(call).id))


@handles(
    "artifactregistry.projects.locations.operations.get",
    "cloudbuild.projects.locations.operations.get",
    "firestore.projects.databases.operations.get",
    "iam.projects.locations.workloadIdentityPools.operations.get",
    "iam.projects.locations.workloadIdentityPools.providers.operations.get",
    "redis.projects.locations.operations.get",
    "serviceusage.operations.get",
)
def get_operation(call: ApiCall) -> JsonObject:
    name = call.params["name"]
    if name == _NOTHING_TO_DO:
        return {"name": name, "done": True}
    return call.cloud.operations.get(name)


@handles("serviceusage.services.list")
def list_services(call: ApiCall) -> JsonObject:
    return page(call, "services", [_service(call, name) for name in sorted(_known())])


@handles("serviceusage.services.get")
def get_service(call: ApiCall) -> JsonObject:
    return _service(call, *_asked(call))


@handles("serviceusage.services.enable", "serviceusage.services.batchEnable")
def switch_services(call: ApiCall) -> JsonObject:
    verb, names = call.method.rpartition(".")[2], _asked(call)
    settings = {f"{_KIND}/{_parent(call)}/{name}" for name in names}
    changed = {key for key in settings if not call.cloud.store.setting(key)}
    for key in changed:
        call.cloud.store.set_setting(key, value=True)
    services = [_service(call, name) for name in names]
    said = {"services": services} if verb == "batchEnable" else {"service": services[0]}
    response = {"@type": f"{_TYPE}.{verb[0].upper()}{verb[1:]}Service{'s' * (verb == 'batchEnable')}Response", **said}
    if not changed:
        return {"name": _NOTHING_TO_DO, "done": True, "response": response}
    return call.cloud.operations.lro("", seconds=_CHANGE_SECONDS, response=response)


def _parent(call: ApiCall) -> str:
    """The number of a project, whether the path has it or an id."""
    return f"projects/{call.cloud.project(call.ids[f'{call.version}Id1']).number}"


def _asked(call: ApiCall) -> list[str]:
    """The services that a call names. Raises 403 for those that Google does not have."""
    names = [call.ids["servicesId"]] if "servicesId" in call.ids else call.body.get("serviceIds", [])
    if unknown := sorted(set(names) - _known()):
        raise ApiError(403, f"Not found or permission denied for service(s): {', '.join(unknown)}.")
    return names


def _service(call: ApiCall, name: str) -> JsonObject:
    parent = _parent(call)
    on = call.cloud.store.setting(f"{_KIND}/{parent}/{name}", default=False)
    return {
        "name": f"{parent}/services/{name}",
        "parent": parent,
        "config": {"name": name, "title": name},
        "state": "ENABLED" if on else "DISABLED",
    }


@cache
def _known() -> frozenset[str]:
    """Services with a discovery document in Google's client library, and the few without one."""
    return frozenset(f"{stem}.googleapis.com" for stem in discovery.published() | _UNPUBLISHED)
