"""Service Usage: which APIs a project has switched on. A list only: nothing here is refused for want of a service.

Owns the states and the operations that change them. A service is known when Google publishes an API of that name.
"""

from __future__ import annotations

import re
from functools import cache

from infra.local.cloud import discovery
from infra.local.cloud.errors import ApiError, invalid
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies
from infra.local.cloud.services.operations import NOTHING_TO_DO

_KIND = "serviceusage.service"
_SUFFIX = ".googleapis.com"
_MOST_IN_A_BATCH = 20
_CHANGE_SECONDS = 4.0
_FILTER = re.compile(r"\s*state\s*:\s*(ENABLED|DISABLED)\s*")
# Services whose name is not that of a published discovery document.
_UNPUBLISHED = frozenset({"storage-api", "storage-component", "cloudapis", "containerregistry", "source"})
_ENABLED = "type.googleapis.com/google.api.serviceusage.v1.EnableServiceResponse"
_BATCH_ENABLED = "type.googleapis.com/google.api.serviceusage.v1.BatchEnableServicesResponse"
_DISABLED = "type.googleapis.com/google.api.serviceusage.v1.DisableServiceResponse"


@handles("serviceusage.services.list")
def list_services(call: Call) -> JsonObject:
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
    return bodies.listing("services", [_service(call, name) for name in rest[:size]], token)


@handles("serviceusage.services.get")
def get_service(call: Call) -> JsonObject:
    name = call.ids["servicesId"]
    _check_known([name])
    return _service(call, name)


@handles("serviceusage.services.enable")
def enable_service(call: Call) -> JsonObject:
    name = call.ids["servicesId"]
    changed = _enable(call, [name])
    return _operation(call, changed, {"@type": _ENABLED, "service": _service(call, name)})


@handles("serviceusage.services.batchEnable")
def enable_services(call: Call) -> JsonObject:
    names = call.body.get("serviceIds") or []
    if not 1 <= len(names) <= _MOST_IN_A_BATCH:
        raise invalid(f"{len(names)} services were given; 1 to {_MOST_IN_A_BATCH} are allowed.", field="serviceIds")
    changed = _enable(call, names)
    return _operation(call, changed, {"@type": _BATCH_ENABLED, "services": [_service(call, name) for name in names]})


@handles("serviceusage.services.disable")
def disable_service(call: Call) -> JsonObject:
    name = call.ids["servicesId"]
    _check_known([name])
    changed = call.cloud.store.delete(_KIND, f"{_parent(call)}/services/{name}")
    return _operation(call, changed, {"@type": _DISABLED, "service": _service(call, name)})


def _parent(call: Call) -> str:
    """`projects/ID`, whether the path has an id or a number."""
    collection, named = (call.ids[key] for key in (f"{call.version}Id", f"{call.version}Id1"))
    if collection != "projects":
        raise invalid(f"Services of {collection} are not served; name a project.", field="parent")
    return f"projects/{call.cloud.project(named).id}"


def _service(call: Call, name: str) -> JsonObject:
    parent = f"projects/{call.cloud.project(_parent(call).rpartition('/')[2]).number}"
    on = call.cloud.store.find(_KIND, f"{_parent(call)}/services/{name}") is not None
    return {
        "name": f"{parent}/services/{name}",
        "parent": parent,
        "config": {"name": name, "title": name},
        "state": "ENABLED" if on else "DISABLED",
    }


def _enable(call: Call, names: list[str]) -> bool:
    """Switch all of them on; whether any was off."""
    _check_known(names)
    changed = False
    for name in names:
        full = f"{_parent(call)}/services/{name}"
        if call.cloud.store.find(_KIND, full) is None:
            call.cloud.store.insert(_KIND, full, {}, now=call.cloud.now)
            changed = True
    return changed


def _operation(call: Call, changed: bool, response: JsonObject) -> JsonObject:
    if not changed:
        return {"name": NOTHING_TO_DO, "done": True, "response": response}
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
