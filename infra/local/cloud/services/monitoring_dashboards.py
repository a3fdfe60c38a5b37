"""Cloud Monitoring's dashboards, which are kept and show nothing.

Owns that a body replaces the one whose etag it has.
Source: cloud.google.com/monitoring/api/ref_v3/rest/v1/projects.dashboards, read 2026-11.
"""

from __future__ import annotations

from infra.local.cloud.errors import aborted, invalid, not_found
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, listings
from infra.local.cloud.store import Resource

_KIND = "monitoring.dashboard"
_LAYOUTS = frozenset({"columnLayout", "gridLayout", "mosaicLayout", "rowLayout"})


@handles("monitoring.projects.dashboards.create")
def create_dashboard(call: Call) -> JsonObject:
    name = f"{_parent(call)}/{10**18 + call.cloud.store.next_number(_KIND)}"
    return _shown(call.cloud.store.insert(_KIND, name, _checked(call.body), now=call.cloud.now))


@handles("monitoring.projects.dashboards.get")
def get_dashboard(call: Call) -> JsonObject:
    return _shown(_found(call))


@handles("monitoring.projects.dashboards.list")
def list_dashboards(call: Call) -> JsonObject:
    return listings.stored(call, "dashboards", _KIND, f"{_parent(call)}/", _shown)


@handles("monitoring.projects.dashboards.patch")
def patch_dashboard(call: Call) -> JsonObject:
    held = _found(call)
    if call.body.get("etag", held.etag) != held.etag:
        raise aborted(f"The etag is not the current one of '{held.name}'.")
    return _shown(call.cloud.store.replace(held, _checked(call.body), now=call.cloud.now))


@handles("monitoring.projects.dashboards.delete")
def delete_dashboard(call: Call) -> JsonObject:
    call.cloud.store.delete(_KIND, _found(call).name)
    return {}


def _parent(call: Call) -> str:
    return f"projects/{call.cloud.project(call.ids['projectsId']).id}/dashboards"


def _found(call: Call) -> Resource:
    name = f"{_parent(call)}/{call.ids['dashboardsId']}"
    held = call.cloud.store.find(_KIND, name)
    if held is None:
        raise not_found(name)
    return held


def _checked(body: JsonObject) -> JsonObject:
    if not body.get("displayName"):
        raise invalid("A dashboard has a display name.", field="dashboard.display_name")
    if len(_LAYOUTS & body.keys()) > 1:
        raise invalid("A dashboard has one layout.", field="dashboard")
    return bodies.without_unset({key: value for key, value in body.items() if key not in ("name", "etag")})


def _shown(held: Resource) -> JsonObject:
    return {**held.body, "name": held.name, "etag": held.etag}
