"""What the Cloud TPU API accepts where: the catalogue, read as the service reads it, and as it lists it.

Owns the refusals for unknown zones, accelerators and runtimes, the reading of a node's capacity, and the lists of
accelerator types, runtime versions and locations. At one root the APIs of `/v1` share the paths of locations; a request
is told by its headers whose it means. The facts are `infra.model.catalogue`'s.
"""

from __future__ import annotations

from functools import cache

from bench.cloud.cloud import ApiCall
from bench.cloud.differences import asks_for_tpu
from bench.cloud.errors import JsonObject, invalid
from bench.cloud.limits import Capacity, LimitScope
from bench.cloud.services.artifact_registry import repositories as artifact_registry
from bench.cloud.services.listings import serve_known
from infra.model import catalogue
from infra.model.catalogue import AcceleratorType, UnknownNameError

# Runtimes that are not a generation's documented one but that the service takes, seen in public fleets in 2026-09.
_FURTHER_RUNTIMES = ("tpu-ubuntu2204-base", "tpu-vm-base", "v2-alpha-tpuv5-lite", "v2-alpha-tpuv5", "v2-alpha-tpuv6e")


def known_zone(zone: str) -> str:
    """Raises 400 for a zone without TPUs."""
    if zone not in catalogue.zones():
        raise invalid(f"Location '{zone}' is not found or access is unauthorized.", field="parent")
    return zone


def accelerator_types_in(zone: str) -> list[AcceleratorType]:
    """Every type that a zone has, smallest first within a generation."""
    return [each for each in catalogue.accelerator_types().values() if zone in each.generation.zones]


def accelerator_of(node: JsonObject, zone: str) -> AcceleratorType:
    """The type a node asks for, by its name or by its configuration. Raises 400."""
    if "acceleratorConfig" in node and "acceleratorType" in node:
        raise invalid("acceleratorType and acceleratorConfig cannot both be set.", field="node.accelerator_type")
    found = _configured(node["acceleratorConfig"]) if "acceleratorConfig" in node else _named(node)
    if zone not in found.generation.zones:
        have = ", ".join(found.generation.zones)
        raise invalid(
            f"Accelerator type '{found.name}' is not available in location '{zone}'. It is available in: {have}.",
            field="node.accelerator_type",
        )
    return found


def _named(node: JsonObject) -> AcceleratorType:
    name = node.get("acceleratorType")
    if not name:
        raise invalid("One of acceleratorType and acceleratorConfig is required.", field="node.accelerator_type")
    try:
        return AcceleratorType.parse(name)
    except UnknownNameError as error:
        raise invalid(f"Accelerator type {error}.", field="node.accelerator_type") from None


def _configured(config: JsonObject) -> AcceleratorType:
    kind, topology = config.get("type"), config.get("topology")
    for each in catalogue.accelerator_types().values():
        if each.generation.api_type == kind and str(each.topology) == topology:
            return each
    raise invalid(
        f"No accelerator has type '{kind}' and topology '{topology}'.", field="node.accelerator_config.topology"
    )


@cache
def runtimes() -> tuple[str, ...]:
    """Every runtime version the service takes, sorted."""
    return tuple(sorted({generation.runtime for generation in catalogue.generations()} | set(_FURTHER_RUNTIMES)))


def check_runtime(node: JsonObject) -> None:
    """Raises 400."""
    version = node.get("runtimeVersion")
    if not version:
        raise invalid("runtimeVersion is required.", field="node.runtime_version")
    if version not in runtimes():
        raise invalid(
            f"Runtime version '{version}' was not found. Versions: {', '.join(runtimes())}.",
            field="node.runtime_version",
        )


def accelerator_config(accelerator: AcceleratorType) -> JsonObject | None:
    """The API's own form of a type; None for a generation that its enum does not have."""
    kind = accelerator.generation.api_type
    return {"type": kind, "topology": str(accelerator.topology)} if kind else None


def scope_of(project: str, zone: str, accelerator: AcceleratorType, node: JsonObject) -> LimitScope:
    """What the chips of a node are counted against."""
    scheduling = node.get("schedulingConfig", {})
    capacity: Capacity = "on-demand"
    if scheduling.get("reserved"):
        capacity = "reserved"
    elif scheduling.get("spot") or scheduling.get("preemptible"):
        capacity = "preemptible"
    return LimitScope(project, zone, accelerator.generation.name, capacity)


def _tpu_locations(call: ApiCall) -> list[JsonObject]:
    asked = call.ids.get("locationsId")
    return [
        {
            "name": f"projects/{call.ids['projectsId']}/locations/{zone}",
            "locationId": zone,
            "labels": {"cloud.googleapis.com/region": catalogue.region_of(zone)},
        }
        for zone in ([known_zone(asked)] if asked else catalogue.zones())
    ]


def _locations(call: ApiCall) -> list[JsonObject]:
    if asks_for_tpu(call.headers):
        return _tpu_locations(call)
    head = f"projects/{call.ids['projectsId']}/locations"
    return [
        {"name": f"{head}/{name}", "locationId": name, "displayName": name}
        for name in sorted(artifact_registry.LOCATIONS)
    ]


def _accelerator_types(call: ApiCall) -> list[JsonObject]:
    """v1 knows names only."""
    types = accelerator_types_in(known_zone(call.ids["locationsId"]))
    configs = {} if call.version == "v1" else {each.name: accelerator_config(each) for each in types}
    return [
        {
            "name": f"{_zone(call)}/acceleratorTypes/{each.name}",
            "type": each.name,
            **({"acceleratorConfigs": [config]} if (config := configs.get(each.name)) else {}),
        }
        for each in types
    ]


def _runtime_versions(call: ApiCall) -> list[JsonObject]:
    known_zone(call.ids["locationsId"])
    versions = runtimes()
    return [{"name": f"{_zone(call)}/runtimeVersions/{version}", "version": version} for version in versions]


def _zone(call: ApiCall) -> str:
    return f"projects/{call.ids['projectsId']}/locations/{call.ids['locationsId']}"


serve_known("tpu.projects.locations", _tpu_locations)
serve_known("artifactregistry.projects.locations", _locations)
serve_known("tpu.projects.locations.acceleratorTypes", _accelerator_types)
serve_known("tpu.projects.locations.runtimeVersions", _runtime_versions)
