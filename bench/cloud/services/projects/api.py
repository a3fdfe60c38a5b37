"""Projects: how they look to Resource Manager, their policies, which APIs they have switched on, and their operations.

A project exists as soon as somebody names it; making, moving and deleting one is not served. Nothing is refused for
want of a service; one is known when Google publishes an API of that name. The APIs below `/v1` and `/v1beta1` share the
paths of their operations at one root, so one answer serves them all; those of builds are made from their builds.
Sources: cloud.google.com/resource-manager/reference/rest and cloud.google.com/service-usage/docs/reference/rest/v1,
read 2026-11.
"""

from __future__ import annotations

import re
from functools import cache

from bench.cloud import discovery
from bench.cloud.cloud import ApiCall, ProjectNames, handles
from bench.cloud.errors import ApiError, JsonObject, invalid
from bench.cloud.services import policies
from bench.cloud.services.cloudbuild import builds as cloudbuild_builds
from bench.cloud.services.listings import listing

# What Service Usage names an operation that had nothing to do.
_NOTHING_TO_DO = "operations/noop.DONE_OPERATION"
# Any project is older than everything in it.
_CREATED = "2020-01-01T00:00:00.000000Z"
_KIND = "serviceusage.service"
_SUFFIX = ".googleapis.com"
_MOST_IN_A_BATCH = 20
_CHANGE_SECONDS = 4.0
_FILTER = re.compile(r"\s*state\s*:\s*(ENABLED|DISABLED)\s*")
# Services whose name is not that of a published discovery document.
_UNPUBLISHED = frozenset(
    {"storage-api", "storage-component", "cloudapis", "containerfilesystem", "containerregistry", "source"}
)
_TYPE = "type.googleapis.com/google.api.serviceusage.v1"


@handles("cloudresourcemanager.projects.get")
def get_project(call: ApiCall) -> JsonObject:
    project = _project(call)
    shown = {"projectId": project.id, "createTime": _CREATED}
    if call.version == "v1":
        return {**shown, "projectNumber": str(project.number), "lifecycleState": "ACTIVE", "name": project.id}
    named = {"name": f"projects/{project.number}", "displayName": project.id}
    return {**shown, **named, "state": "ACTIVE", "updateTime": _CREATED}


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
    return cloudbuild_builds.operation_named(call.cloud, name) or call.cloud.operations.get(name)


@handles("serviceusage.services.list")
def list_services(call: ApiCall) -> JsonObject:
    parent = _parent(call)
    wanted = call.params.get("filter")
    hit = _FILTER.fullmatch(wanted) if wanted else None
    if wanted and hit is None:
        raise invalid(f"Invalid filter '{wanted}': use state:ENABLED or state:DISABLED.", field="filter")
    enabled = {held.name.rpartition("/")[2] for held in call.cloud.store.each(_KIND, f"{parent}/services/")}
    names = sorted(enabled if hit and hit[1] == "ENABLED" else _known() | enabled)
    if hit and hit[1] == "DISABLED":
        names = [name for name in names if name not in enabled]
    after, size = call.params.get("pageToken", ""), call.params.get("pageSize") or 50
    rest = [name for name in names if name > after]
    token = rest[size - 1] if len(rest) > size else None
    return listing("services", [_service(call, name) for name in rest[:size]], token)


@handles("serviceusage.services.get")
def get_service(call: ApiCall) -> JsonObject:
    name = call.ids["servicesId"]
    _check_known([name])
    return _service(call, name)


@handles("serviceusage.services.enable")
def enable_service(call: ApiCall) -> JsonObject:
    name = call.ids["servicesId"]
    changed = _enable(call, [name])
    return _operation(call, changed, {"@type": f"{_TYPE}.EnableServiceResponse", "service": _service(call, name)})


@handles("serviceusage.services.batchEnable")
def enable_services(call: ApiCall) -> JsonObject:
    names = call.body.get("serviceIds") or []
    if not 1 <= len(names) <= _MOST_IN_A_BATCH:
        raise invalid(f"{len(names)} services were given; 1 to {_MOST_IN_A_BATCH} are allowed.", field="serviceIds")
    changed = _enable(call, names)
    services = [_service(call, name) for name in names]
    return _operation(call, changed, {"@type": f"{_TYPE}.BatchEnableServicesResponse", "services": services})


@handles("serviceusage.services.disable")
def disable_service(call: ApiCall) -> JsonObject:
    name = call.ids["servicesId"]
    _check_known([name])
    changed = call.cloud.store.delete(_KIND, f"{_parent(call)}/services/{name}")
    return _operation(call, changed, {"@type": f"{_TYPE}.DisableServiceResponse", "service": _service(call, name)})


def _parent(call: ApiCall) -> str:
    """`projects/ID`, whether the path has an id or a number."""
    collection, named = (call.ids[key] for key in (f"{call.version}Id", f"{call.version}Id1"))
    if collection != "projects":
        raise invalid(f"Services of {collection} are not served; name a project.", field="parent")
    return f"projects/{call.cloud.project(named).id}"


def _service(call: ApiCall, name: str) -> JsonObject:
    parent = f"projects/{call.cloud.project(_parent(call).rpartition('/')[2]).number}"
    on = call.cloud.store.find(_KIND, f"{_parent(call)}/services/{name}") is not None
    return {
        "name": f"{parent}/services/{name}",
        "parent": parent,
        "config": {"name": name, "title": name},
        "state": "ENABLED" if on else "DISABLED",
    }


def _enable(call: ApiCall, names: list[str]) -> bool:
    """Switch all of them on; whether any was off."""
    _check_known(names)
    changed = False
    for name in names:
        full = f"{_parent(call)}/services/{name}"
        if call.cloud.store.find(_KIND, full) is None:
            call.cloud.store.insert(_KIND, full, {}, now=call.cloud.now)
            changed = True
    return changed


def _operation(call: ApiCall, changed: bool, response: JsonObject) -> JsonObject:
    if not changed:
        return {"name": _NOTHING_TO_DO, "done": True, "response": response}
    return call.cloud.operations.lro("", seconds=_CHANGE_SECONDS, response=response)


def _check_known(names: list[str]) -> None:
    unknown = sorted(set(names) - _known())
    if unknown:
        raise ApiError(
            403,
            f"Not found or permission denied for service(s): {', '.join(unknown)}.",
            details=[
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "SERVICE_CONFIG_NOT_FOUND_OR_PERMISSION_DENIED",
                    "domain": "serviceusage.googleapis.com",
                    "metadata": {"services": ",".join(unknown)},
                }
            ],
        )


@cache
def _known() -> frozenset[str]:
    """Services with a discovery document in Google's client library, and the few without one."""
    return frozenset(stem + _SUFFIX for stem in discovery.published() | _UNPUBLISHED)
