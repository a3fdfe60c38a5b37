"""Compute Engine: projects, regions, zones and the operations of all three scopes."""

from __future__ import annotations

from infra.local.cloud.errors import ApiError
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import places
from infra.local.cloud.services.compute_base import linked, listed, missing, project_of, scope

# Before any project; places have no other beginning.
_CREATED = "2012-01-01T00:00:00.000-07:00"
_OPERATIONS = ("globalOperations", "regionOperations", "zoneOperations")


@handles("compute.projects.get")
def get_project(call: Call) -> JsonObject:
    project = call.cloud.project(call.ids["project"])
    return linked(
        call,
        {
            "kind": "compute#project",
            "id": str(project.number),
            "name": project.id,
            "creationTimestamp": _CREATED,
            "selfLink": f"projects/{project.id}",
            "defaultServiceAccount": f"{project.number}-compute@developer.gserviceaccount.com",
            "defaultNetworkTier": "PREMIUM",
            "xpnProjectStatus": "UNSPECIFIED_XPN_PROJECT_STATUS",
        },
    )


@handles("compute.regions.get")
def get_region(call: Call) -> JsonObject:
    scope(call)
    return _region(call, call.ids["region"])


@handles("compute.regions.list")
def list_regions(call: Call) -> JsonObject:
    items = [_region(call, name) for name in places.REGIONS]
    return listed(call, "compute#regionList", f"projects/{project_of(call)}/regions", items)


@handles("compute.zones.get")
def get_zone(call: Call) -> JsonObject:
    scope(call)
    return _zone(call, call.ids["zone"])


@handles("compute.zones.list")
def list_zones(call: Call) -> JsonObject:
    items = [_zone(call, name) for name in sorted(places.ZONES)]
    return listed(call, "compute#zoneList", f"projects/{project_of(call)}/zones", items)


@handles(*(f"compute.{collection}.{verb}" for collection in _OPERATIONS for verb in ("get", "wait")))
def get_operation(call: Call) -> JsonObject:
    """`wait` answers at once, as the service may: clients ask again until the status is DONE."""
    name = f"{scope(call)}/operations/{call.ids['operation']}"
    try:
        return linked(call, call.cloud.operations.get(f"compute/{name}"))
    except ApiError:
        raise missing(name) from None


@handles(*(f"compute.{collection}.list" for collection in _OPERATIONS))
def list_operations(call: Call) -> JsonObject:
    prefix = f"{scope(call)}/operations"
    items = [linked(call, body) for body in call.cloud.operations.each(f"compute/{prefix}/")]
    return listed(call, "compute#operationList", prefix, items)


def _region(call: Call, name: str) -> JsonObject:
    project = project_of(call)
    return linked(
        call,
        {
            **_place(name, "region"),
            "selfLink": f"projects/{project}/regions/{name}",
            "zones": [f"projects/{project}/zones/{zone}" for zone in places.REGIONS[name]],
        },
    )


def _zone(call: Call, name: str) -> JsonObject:
    project = project_of(call)
    return linked(
        call,
        {
            **_place(name, "zone"),
            "selfLink": f"projects/{project}/zones/{name}",
            "region": f"projects/{project}/regions/{places.ZONES[name]}",
        },
    )


def _place(name: str, noun: str) -> JsonObject:
    numbered = sorted([*places.REGIONS, *places.ZONES]).index(name) + 1000
    return {
        "kind": f"compute#{noun}",
        "id": str(numbered),
        "name": name,
        "description": name,
        "status": "UP",
        "creationTimestamp": _CREATED,
    }
