"""What the Cloud TPU API accepts where: the catalogue, read as the service reads it.

Owns the refusals for unknown zones, accelerators and runtimes, and the reading of a node's capacity. The facts are
`infra.model.catalogue`'s.
"""

from __future__ import annotations

from functools import cache

from bench.cloud.errors import JsonObject, invalid
from bench.cloud.limits import Capacity, LimitScope
from infra.model import catalogue
from infra.model.catalogue import AcceleratorType, UnknownNameError

# Runtimes that are not a generation's documented one but that the service takes, seen in public fleets in 2026-09.
_FURTHER_RUNTIMES = ("tpu-ubuntu2204-base", "tpu-vm-base", "v2-alpha-tpuv5-lite", "v2-alpha-tpuv5", "v2-alpha-tpuv6e")


def known_zone(zone: str) -> str:
    """Raises 400 for a zone without TPUs."""
    if zone not in catalogue.zones():
        raise invalid(f"Location '{zone}' is not found or access is unauthorized.", field="parent")
    return zone


def accelerator_of(node: JsonObject, zone: str) -> AcceleratorType:
    """The type a node asks for, by its name or by its configuration. Raises 400."""
    config = node.get("acceleratorConfig", {})
    every = catalogue.accelerator_types().values()
    asked = (config.get("type"), config.get("topology"))
    try:
        named = next((each.name for each in every if (each.generation.api_type, str(each.topology)) == asked), "")
        found = AcceleratorType.parse(named or node.get("acceleratorType", ""))
    except UnknownNameError as error:
        raise invalid(f"Accelerator type {error}.", field="node.accelerator_type") from None
    if zone not in found.generation.zones:
        have = ", ".join(found.generation.zones)
        raise invalid(
            f"Accelerator type '{found.name}' is not available in location '{zone}'. It is available in: {have}.",
            field="node.accelerator_type",
        )
    return found


@cache
def _runtimes() -> tuple[str, ...]:
    """Every runtime version the service takes, sorted."""
    return tuple(sorted({generation.runtime for generation in catalogue.generations()} | set(_FURTHER_RUNTIMES)))


def check_runtime(node: JsonObject) -> None:
    """Raises 400."""
    version = node.get("runtimeVersion", "")
    if version not in _runtimes():
        raise invalid(
            f"Runtime version '{version}' was not found. Versions: {', '.join(_runtimes())}.",
            field="node.runtime_version",
        )


def scope_of(project: str, zone: str, accelerator: AcceleratorType, node: JsonObject) -> LimitScope:
    """What the chips of a node are counted against."""
    scheduling = node.get("schedulingConfig", {})
    capacity: Capacity = "on-demand"
    if scheduling.get("reserved"):
        capacity = "reserved"
    elif scheduling.get("spot") or scheduling.get("preemptible"):
        capacity = "preemptible"
    return LimitScope(project, zone, accelerator.generation.name, capacity)
