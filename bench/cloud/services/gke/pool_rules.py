"""What GKE refuses of a node pool, and what a pool's configuration amounts to: a machine, a shape, a kind of capacity.

Owns these rules alone; nothing is stored or begun here. A slice of several hosts is one thing: it has all of its nodes
or none, in one zone, and limits of autoscaling are counted a zone. Sources, read 2026-11:
cloud.google.com/kubernetes-engine/docs/how-to/tpus, .../docs/concepts/plan-tpus, .../docs/concepts/dws, and for the
words of the refusals the issues of GoogleCloudPlatform/cluster-toolkit (5111, 5218), AI-Hypercomputer/xpk (900) and
vllm-project/ci-infra (545, 547).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from bench.cloud.errors import ApiError, JsonObject, invalid
from bench.cloud.limits import Capacity
from bench.cloud.services import bodies
from bench.cloud.services.gke.machines import NodeMachine, machine_in
from infra.model import catalogue

_SHORTEST_RUN, _LONGEST_RUN = 600.0, 7 * 86400.0
_RESERVATION = re.compile(r"(?:projects/([^/]+)/reservations/)?([a-z][-a-z0-9]*)(?:/reservationBlocks/.+)?")
RESERVATION_KEY = "compute.googleapis.com/reservation-name"


@dataclass(frozen=True)
class PoolShape:
    """body: a pool as it would be kept, defaults filled in, with at least one location."""

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

    @cached_property
    def hosts(self) -> int:
        """Of one slice; 1 for everything that is no slice of several hosts."""
        return self.machine.hosts(self.topology) if self.topology else 1

    @property
    def accelerator(self) -> str:
        """The accelerator type that a slice would be called as a TPU VM, else the machine type."""
        for each in catalogue.accelerator_types().values():
            if each.generation is self.machine.generation and str(each.topology) == self.topology:
                return each.name
        return self.machine.name

    @property
    def capacity(self) -> Capacity:
        if self.config.get("spot") or self.config.get("preemptible") or self.config.get("flexStart"):
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

    def chips(self, nodes: int) -> int:
        """Of so many nodes in one zone."""
        return nodes * self.machine.chips


def check_pool(shape: PoolShape, nodes: int) -> None:
    """Raises 400 for what a pool of this configuration and so many nodes a zone cannot be."""
    wrong = next(_faults(shape), None)
    if wrong:
        raise invalid(wrong)
    check_size(shape, nodes)
    check_autoscaling(shape)


def check_size(shape: PoolShape, nodes: int) -> None:
    """Raises 400 for a number of nodes that a slice cannot have."""
    if shape.hosts > 1 and nodes not in (0, shape.hosts):
        raise _wrong_size(shape, "Node count", nodes)


def check_autoscaling(shape: PoolShape) -> None:
    """Raises 400. Where only totals are given, the limit of a zone is 0, which no slice has."""
    limits = shape.body.get("autoscaling", {})
    if not limits.get("enabled"):
        return
    least, most = limits.get("minNodeCount", 0), limits.get("maxNodeCount", 0)
    totals = {"totalMinNodeCount", "totalMaxNodeCount"} & limits.keys()
    if totals and {"minNodeCount", "maxNodeCount"} & limits.keys():
        raise invalid("Limits of autoscaling are given either a zone or in total, not both.")
    if shape.hosts > 1 and most != shape.hosts:
        raise _wrong_size(shape, "Maximum node count", most)
    if shape.hosts > 1 and least not in (0, shape.hosts):
        raise _wrong_size(shape, "Minimum node count", least)
    if totals:
        least, most = limits.get("totalMinNodeCount", 0), limits.get("totalMaxNodeCount", 0)
    if most < 1 or least > most:
        raise invalid(f"Autoscaling needs a maximum of at least 1 and of at least the minimum: {least} to {most}.")


def _wrong_size(shape: PoolShape, what: str, nodes: int) -> ApiError:
    return invalid(f"{what} {nodes} is not a valid size of TPU pod slice with topology {shape.topology}")


def _faults(shape: PoolShape) -> Iterator[str]:
    yield from _placement_faults(shape)
    yield from _capacity_faults(shape)
    if shape.config.get("flexStart"):
        yield from _flex_start_faults(shape)
    disk = shape.config.get("bootDisk", {}).get("diskType") or shape.config["diskType"]
    if shape.machine.needs_hyperdisk and not disk.startswith("hyperdisk"):
        yield f"Disk type '{disk}' cannot be used with machine type '{shape.machine.name}', only hyperdisk-balanced."


def _placement_faults(shape: PoolShape) -> Iterator[str]:
    placement = shape.body.get("placementPolicy", {})
    generation = shape.machine.generation
    if generation is not None and generation.gke_placement == "policy" and placement.get("type") == "COMPACT":
        yield (
            f"Creation of a managed instance group with {shape.machine.name} machine type with placement policy is "
            "not supported. Use workload policy instead."
        )
    if shape.hosts == 1:
        return
    if len(shape.zones) != 1:
        yield f"A TPU slice of several hosts is in one zone, and the node pool is in {', '.join(shape.zones)}."
    if shape.body["upgradeSettings"].get("strategy") == "BLUE_GREEN":
        yield "Blue-green upgrades are not supported for TPU slices of several hosts."


def _capacity_faults(shape: PoolShape) -> Iterator[str]:
    config = shape.config
    affinity = config.get("reservationAffinity", {})
    taken = affinity.get("consumeReservationType", "NO_RESERVATION")
    interruptible = [name for name in ("spot", "preemptible", "flexStart") if config.get(name)]
    if len(interruptible) > 1:
        yield f"Only one of {', '.join(interruptible)} may be set."
    if interruptible and taken != "NO_RESERVATION":
        yield f"{interruptible[0]} nodes cannot consume a reservation: {taken}."
    specific = taken == "SPECIFIC_RESERVATION"
    if specific and (affinity.get("key") != RESERVATION_KEY or len(affinity.get("values", ())) != 1):
        yield f"A specific reservation is named by the key {RESERVATION_KEY} and one value."
    if not specific and (affinity.get("key") or affinity.get("values")):
        yield f"A reservation is named only with SPECIFIC_RESERVATION, not with {taken}."


def _flex_start_faults(shape: PoolShape) -> Iterator[str]:
    if shape.body["management"].get("autoRepair"):
        yield "Node auto-repair must be disabled for flex-start node pools."
    if not shape.body.get("autoscaling", {}).get("enabled"):
        yield "Flex-start node pools need autoscaling: they have no fixed number of nodes."
    if shape.body.get("queuedProvisioning", {}).get("enabled") and shape.machine.generation is not None:
        yield "Flex start node pools don't support TPUs with queued provisioning."
    if length := shape.config.get("maxRunDuration"):
        seconds = bodies.seconds(length, field="node_pool.config.max_run_duration")
        if not _SHORTEST_RUN <= seconds <= _LONGEST_RUN:
            yield f"maxRunDuration {length} must be from 10 minutes to 7 days."
