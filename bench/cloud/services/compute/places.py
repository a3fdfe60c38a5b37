"""Compute Engine: projects, regions, zones, operations of all scopes, and disks so far as TPU nodes have them.

Owns a disk's size and type, and that one which a node holds is not deleted. Nothing is stored on them.
Source: cloud.google.com/compute/docs/reference/rest/v1, read 2026-11.
"""

from __future__ import annotations

from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import ApiError, JsonObject
from bench.cloud.services import bodies, places
from bench.cloud.services.compute import base
from bench.cloud.services.compute.base import OfCompute, linked, listed, scope
from bench.cloud.services.listings import page
from bench.cloud.store import Resource

# Before any project; places have no other beginning.
_CREATED = "2012-01-01T00:00:00.000-07:00"
_OPERATIONS = ("globalOperations", "regionOperations", "zoneOperations")
# The kind in which the TPU service keeps its nodes.
_TPU_NODE = "tpu.node"
_SMALLEST_GB, _LARGEST_GB = 10, 65536


@handles("compute.projects.get")
def get_project(call: ApiCall) -> JsonObject:
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


@handles("compute.regions.get", "compute.zones.get")
def get_place(call: ApiCall) -> JsonObject:
    scope(call)
    return _place(call, call.ids.get("region") or call.ids["zone"])


@handles("compute.regions.list", "compute.zones.list")
def list_places(call: ApiCall) -> JsonObject:
    collection = call.method.split(".")[1]
    items = [_place(call, name) for name in sorted(places.REGIONS if collection == "regions" else places.ZONES)]
    prefix = f"{scope(call).removesuffix('global')}{collection}"
    return listed(call, f"compute#{collection[:-1]}List", prefix, items)


def _place(call: ApiCall, name: str) -> JsonObject:
    project, zones = f"projects/{call.cloud.project(call.ids['project']).id}", places.REGIONS.get(name)
    noun = "zone" if zones is None else "region"
    place: JsonObject = {
        "kind": f"compute#{noun}",
        "id": str(sorted([*places.REGIONS, *places.ZONES]).index(name) + 1000),
        "name": name,
        "description": name,
        "status": "UP",
        "creationTimestamp": _CREATED,
        "selfLink": f"{project}/{noun}s/{name}",
    }
    if zones is None:
        return linked(call, {**place, "region": f"{project}/regions/{places.ZONES[name]}"})
    return linked(call, {**place, "zones": [f"{project}/zones/{zone}" for zone in zones]})


@handles(*(f"compute.{collection}.{verb}" for collection in _OPERATIONS for verb in ("get", "wait")))
def get_operation(call: ApiCall) -> JsonObject:
    """`wait` answers at once, as the service may: clients ask again until the status is DONE."""
    name = f"{scope(call)}/operations/{call.ids['operation']}"
    found = call.cloud.operations.find(f"compute/{name}")
    if found is None:
        raise ApiError(404, OfCompute.absent.format(name=name))
    return linked(call, found)


@handles(*(f"compute.{collection}.list" for collection in _OPERATIONS))
def list_operations(call: ApiCall) -> JsonObject:
    prefix = f"{scope(call)}/operations"
    items = [linked(call, body) for body in call.cloud.operations.each(f"compute/{prefix}/")]
    return listed(call, "compute#operationList", prefix, items)


class _Disks(OfCompute):
    api = "compute.disks"
    kind = "compute.disk"
    methods = "insert get list delete"

    def sent(self, call: ApiCall) -> JsonObject:
        """A size may stand in the query too."""
        asked = call.params.get("sizeGb")
        return {"sizeGb": "500", **call.body, **({"sizeGb": asked} if asked else {})}

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        size, where = body["sizeGb"], name.partition("/disks/")[0]
        if not _SMALLEST_GB <= int(size) <= _LARGEST_GB:
            raise base.bad_value("sizeGb", size, f"Must be from {_SMALLEST_GB} to {_LARGEST_GB}.")
        bodies.check_labels(body.get("labels", {}))
        made = {"sizeGb": str(size), "zone": where, "physicalBlockSizeBytes": "4096", "status": "READY"}
        return super().checked(cloud, name, {"type": f"{where}/diskTypes/pd-standard", **body, **made})

    def clear(self, call: ApiCall, held: Resource) -> None:
        """A node attaches disks of its own zone alone, by whatever form of link."""
        _, project, _, zone, _, name = held.name.split("/")
        for node in call.cloud.store.each(_TPU_NODE, f"projects/{project}/locations/{zone}/"):
            disks = node.body["public"].get("dataDisks", [])
            if name in {disk.get("sourceDisk", "").rpartition("/")[2] for disk in disks}:
                raise base.in_use(held.name, node.name)


DISKS = _Disks()


@handles("compute.disks.aggregatedList")
def list_everywhere(call: ApiCall) -> JsonObject:
    """The disks of every zone, by zone."""
    prefix = f"projects/{call.cloud.project(call.ids['project']).id}/"
    found = [linked(call, DISKS.shown(call.cloud, held)) for held in call.cloud.store.each(DISKS.kind, prefix)]
    answer = page(call, "items", found, identity="selfLink")
    scopes: JsonObject = {}
    for disk in answer.get("items", []):
        scopes.setdefault(f"zones/{disk['zone'].rpartition('/')[2]}", {"disks": []})["disks"].append(disk)
    head = {"kind": "compute#diskAggregatedList", "id": f"{prefix}aggregated/disks"}
    return {**head, "selfLink": call.base + head["id"], **answer, "items": scopes}
