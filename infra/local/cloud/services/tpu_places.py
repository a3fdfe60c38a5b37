"""Cloud TPU: what exists where (locations, accelerator types, runtime versions) and its operations."""

from __future__ import annotations

from infra.local.cloud.errors import not_found
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import listings, tpu_lifecycle, tpu_shapes
from infra.model import catalogue
from infra.model.catalogue import AcceleratorType


@handles("tpu.projects.locations.list")
def list_locations(call: Call) -> JsonObject:
    return listings.page(call, "locations", [_location(call, zone) for zone in catalogue.zones()])


@handles("tpu.projects.locations.get")
def get_location(call: Call) -> JsonObject:
    return _location(call, tpu_shapes.known_zone(call.ids["locationsId"]))


@handles("tpu.projects.locations.acceleratorTypes.list")
def list_accelerator_types(call: Call) -> JsonObject:
    zone = tpu_shapes.known_zone(call.ids["locationsId"])
    types = [_accelerator(call, each) for each in tpu_shapes.accelerator_types_in(zone)]
    return listings.page(call, "acceleratorTypes", types)


@handles("tpu.projects.locations.acceleratorTypes.get")
def get_accelerator_type(call: Call) -> JsonObject:
    zone = tpu_shapes.known_zone(call.ids["locationsId"])
    for each in tpu_shapes.accelerator_types_in(zone):
        if each.name == call.ids["acceleratorTypesId"]:
            return _accelerator(call, each)
    raise not_found(call.params["name"])


@handles("tpu.projects.locations.runtimeVersions.list")
def list_runtime_versions(call: Call) -> JsonObject:
    tpu_shapes.known_zone(call.ids["locationsId"])
    return listings.page(call, "runtimeVersions", [_runtime(call, each) for each in tpu_shapes.runtimes()])


@handles("tpu.projects.locations.runtimeVersions.get")
def get_runtime_version(call: Call) -> JsonObject:
    tpu_shapes.known_zone(call.ids["locationsId"])
    if call.ids["runtimeVersionsId"] not in tpu_shapes.runtimes():
        raise not_found(call.params["name"])
    return _runtime(call, call.ids["runtimeVersionsId"])


@handles("tpu.projects.locations.operations.get")
def get_operation(call: Call) -> JsonObject:
    return call.cloud.operations.get(call.params["name"])


@handles("tpu.projects.locations.operations.list")
def list_operations(call: Call) -> JsonObject:
    return call.cloud.operations.page(f"{call.params['name']}/operations/", call.params)


@handles("tpu.projects.locations.operations.delete")
def delete_operation(call: Call) -> JsonObject:
    call.cloud.operations.delete(call.params["name"])
    return {}


@handles("tpu.projects.locations.operations.cancel")
def cancel_operation(call: Call) -> JsonObject:
    tpu_lifecycle.cancel(call.cloud, call.params["name"])
    return {}


def _parent(call: Call) -> str:
    return f"projects/{call.ids['projectsId']}/locations/{call.ids['locationsId']}"


def _location(call: Call, zone: str) -> JsonObject:
    return {
        "name": f"projects/{call.ids['projectsId']}/locations/{zone}",
        "locationId": zone,
        "labels": {"cloud.googleapis.com/region": catalogue.region_of(zone)},
    }


def _accelerator(call: Call, accelerator: AcceleratorType) -> JsonObject:
    # v1 knows names only.
    config = None if call.version == "v1" else tpu_shapes.accelerator_config(accelerator)
    return {
        "name": f"{_parent(call)}/acceleratorTypes/{accelerator.name}",
        "type": accelerator.name,
        **({"acceleratorConfigs": [config]} if config else {}),
    }


def _runtime(call: Call, version: str) -> JsonObject:
    return {"name": f"{_parent(call)}/runtimeVersions/{version}", "version": version}
