"""Locations of the APIs below `/v1` and `/v2`; Cloud TPU's accelerator types, runtime versions and operations.

At one root the APIs of `/v1` share the paths of locations; a request is told by its headers whose it means.
"""

from __future__ import annotations

from infra.local.cloud.differences import asks_for_tpu
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import artifact_registry, tpu_lifecycle, tpu_shapes
from infra.local.cloud.services.collection import serve_known
from infra.model import catalogue


def _tpu_locations(call: Call) -> list[JsonObject]:
    asked = call.ids.get("locationsId")
    return [
        {
            "name": f"projects/{call.ids['projectsId']}/locations/{zone}",
            "locationId": zone,
            "labels": {"cloud.googleapis.com/region": catalogue.region_of(zone)},
        }
        for zone in ([tpu_shapes.known_zone(asked)] if asked else catalogue.zones())
    ]


def _locations(call: Call) -> list[JsonObject]:
    if asks_for_tpu(call.headers):
        return _tpu_locations(call)
    head = f"projects/{call.ids['projectsId']}/locations"
    return [
        {"name": f"{head}/{name}", "locationId": name, "displayName": name}
        for name in sorted(artifact_registry.LOCATIONS)
    ]


def _accelerator_types(call: Call) -> list[JsonObject]:
    """v1 knows names only."""
    types = tpu_shapes.accelerator_types_in(tpu_shapes.known_zone(call.ids["locationsId"]))
    configs = {} if call.version == "v1" else {each.name: tpu_shapes.accelerator_config(each) for each in types}
    return [
        {
            "name": f"{_zone(call)}/acceleratorTypes/{each.name}",
            "type": each.name,
            **({"acceleratorConfigs": [config]} if (config := configs.get(each.name)) else {}),
        }
        for each in types
    ]


def _runtime_versions(call: Call) -> list[JsonObject]:
    tpu_shapes.known_zone(call.ids["locationsId"])
    versions = tpu_shapes.runtimes()
    return [{"name": f"{_zone(call)}/runtimeVersions/{version}", "version": version} for version in versions]


def _zone(call: Call) -> str:
    return f"projects/{call.ids['projectsId']}/locations/{call.ids['locationsId']}"


serve_known("tpu.projects.locations", _tpu_locations)
serve_known("artifactregistry.projects.locations", _locations)
serve_known("tpu.projects.locations.acceleratorTypes", _accelerator_types)
serve_known("tpu.projects.locations.runtimeVersions", _runtime_versions)


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
