"""What the configuration of a node pool amounts to: a machine, a slice, a kind of capacity, and the chips it takes.

TPU machines and their zones are the catalogue's, and so are the families of a zone that lacks some. What a stack file
cannot declare is not checked here: `infra.model.rules` refuses it before GKE is asked. Source of the refusals:
hashicorp/terraform-provider-google and cloud.google.com/kubernetes-engine/docs/troubleshooting, read 2026-11.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property

from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import ApiError, JsonObject, invalid, rpc_status
from bench.cloud.limits import Capacity, Limit, LimitScope, quota_error
from bench.cloud.services import places
from bench.cloud.services.gke.base import changed, struck, target_of
from bench.cloud.store import Resource
from infra.model import catalogue
from infra.model.catalogue import Generation, Topology
from infra.model.plain_machines import machine_size

_ORDINARY = re.compile(r"[a-z]\d[a-z]?-(standard|highmem|highcpu)-\d{1,3}")
_RESERVATION = re.compile(r"(?:projects/([^/]+)/reservations/)?([a-z][-a-z0-9]*)(?:/reservationBlocks/.+)?")


@dataclass(frozen=True, slots=True)
class NodeMachine:
    """What one node has. generation: of its TPU chips; None for a machine without."""

    name: str
    vcpus: int
    memory_gb: float
    generation: Generation | None = None
    chips: int = 0


@cache
def _tpu_machines() -> dict[str, NodeMachine]:
    return {
        each.name: NodeMachine(each.name, each.vcpus, float(each.memory_gb), generation, each.chips)
        for generation in catalogue.generations()
        for each in generation.machine_types
    }


def machine_in(zone: str, name: str) -> NodeMachine:
    """The machine type of that name in a zone. Raises 400."""
    found = _tpu_machines().get(name)
    families = catalogue.machine_families(zone)
    if found is not None and found.generation is not None and zone in found.generation.zones:
        return found
    if _ORDINARY.fullmatch(name) and zone in places.ZONES and (not families or name.partition("-")[0] in families):
        size = machine_size(name)
        return NodeMachine(name, size.cpus // 1000, size.memory / 1000)
    raise invalid(f"Machine type with name '{name}' does not exist in zone '{zone}'.")


@dataclass(frozen=True)
class PoolShape:
    """body: a pool as it is stored, defaults filled in, with at least one location."""

    body: JsonObject

    @property
    def config(self) -> JsonObject:
        return self.body["config"]

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(self.body["locations"])

    @cached_property
    def machine(self) -> NodeMachine:
        """Raises 400 for a machine type that one of the zones lacks."""
        first, *_ = [machine_in(zone, self.config["machineType"]) for zone in self.zones]
        return first

    @property
    def topology(self) -> str:
        return self.body.get("placementPolicy", {}).get("tpuTopology", "")

    @property
    def hosts(self) -> int:
        """Of one slice; 1 for everything that is no slice of several hosts."""
        return Topology.parse(self.topology).chips // self.machine.chips if self.topology else 1

    @property
    def accelerator(self) -> str:
        """The accelerator type that a slice would be called as a TPU VM, else the machine type."""
        for each in catalogue.accelerator_types().values():
            if each.generation is self.machine.generation and str(each.topology) == self.topology:
                return each.name
        return self.machine.name

    @property
    def capacity(self) -> Capacity:
        if self.config.get("spot") or self.config.get("flexStart"):
            return "preemptible"
        return "reserved" if self.reservation else "on-demand"

    @property
    def reservation(self) -> tuple[str, str] | None:
        """Project (empty for the pool's own) and name of the reservation that the pool takes its machines from."""
        affinity = self.config.get("reservationAffinity", {})
        if affinity.get("consumeReservationType") != "SPECIFIC_RESERVATION":
            return None
        hit = _RESERVATION.fullmatch((affinity.get("values") or [""])[0])
        return (hit[1] or "", hit[2]) if hit else ("", "")

    def scopes(self, project: str) -> list[LimitScope]:
        """What the chips of a pool are counted against, zone by zone; nothing for machines without chips."""
        generation = self.machine.generation
        return [LimitScope(project, zone, generation.name, self.capacity) for zone in self.zones] if generation else []


def check_size(shape: PoolShape, nodes: int) -> None:
    """Raises 400 for a number of nodes that a slice cannot have: all of them or none."""
    if shape.hosts > 1 and nodes not in (0, shape.hosts):
        raise invalid(f"Node count {nodes} is not a valid size of TPU pod slice with topology {shape.topology}")


# Chips


def lack(call: ApiCall, name: str, shape: PoolShape, nodes: int) -> JsonObject | None:
    """The error of an operation that gives a pool so many more machines a zone: a limit, a stockout or another fault.

    Raises 403 where a quota refuses the request at once. Without machines only the other faults strike.
    """
    cloud, project, zone = call.cloud, name.split("/")[1], shape.zones[0]
    for scope in shape.scopes(project) if nodes else ():
        asked = nodes * shape.machine.chips
        if limit := cloud.limits.exceeded(scope, asked):
            if scope.capacity != "reserved":
                raise _over_quota(limit, cloud.limits.held(limit), asked)
            return rpc_status("RESOURCE_EXHAUSTED", quota_error(limit).message)
    target = target_of(call, name, zone=zone, accelerator=shape.accelerator)
    if nodes and (rule := cloud.faults.strike("stockout", target, cloud.now)):
        text = rule.message or (
            f"Google Compute Engine: [GCE_STOCKOUT] Instance creation failed: The zone 'projects/{project}/zones/"
            f"{zone}' does not have enough resources available to fulfill the request. Try a different zone, or try "
            "again later."
        )
        return rpc_status("RESOURCE_EXHAUSTED", text)
    return struck(call, target)


def _over_quota(limit: Limit, held: int, asked: int) -> ApiError:
    left = max(0, limit.chips - held - limit.held_elsewhere)
    kind = "PREEMPTIBLE_TPU" if limit.capacity == "preemptible" else "TPU"
    return ApiError(
        403,
        f'Insufficient regional quota to satisfy request: resource "{kind}_{limit.generation.upper()}": request '
        f"requires {asked} chips, and the quota of {limit.chips} has {left}.",
        reason="forbidden",
    )


def hold_chips(cloud: Cloud, held: Resource, shape: PoolShape, nodes: int) -> Resource:
    """Let a pool hold the chips of so many nodes a zone, and no others."""
    holders = []
    for scope in shape.scopes(held.name.split("/")[1]):
        holders.append(holder := f"{held.name}@{scope.zone}")
        cloud.limits.give_back(holder)
        if nodes:
            cloud.limits.take(holder, scope, nodes * shape.machine.chips)
    return changed(cloud, held, holders=holders)
