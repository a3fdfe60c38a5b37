"""What a plan means in capacity, before and after, per pool and zone; and which VMs of a run are as planned.

Owns the reading of TPU VMs and of a cluster's node pools in a plan, whichever engine made it. Does not own what an
accelerator type holds (`infra.model.catalogue`) nor how capacity is printed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.json_shape import JsonShape
from infra.model.plan import Plan, Status, Step

if TYPE_CHECKING:
    from infra.model.fleet import CapacityRow

VM_TYPE = "gcp:tpu/v2Vm:V2Vm"
POOL_TYPE = "tidepool:runner_pool:RunnerPool"
"""Of the component that a pool's VMs are below."""
POOL_LABEL = "tidepool-pool"

NODE_POOL_TYPE = "gcp:container/nodePool:NodePool"
SLICES_TYPE = "tidepool:node_pools:SlicePools"
"""Of the component that the node pools of one entry of `slices:` are below."""
SLICES_LABEL = "tidepool-slices"
ACCELERATOR_LABEL = "tidepool-accelerator"
"""Labels of a slice's VMs; a plan tells by them what a node pool is."""


@dataclass(frozen=True, slots=True, order=True)
class CapacityPlace:
    """Where slices of one kind stand: a pool in one zone, with its accelerator type and capacity kind.

    in_cluster: of node pools, at the most nodes that they may have, and not of TPU VMs.
    """

    pool: str
    zone: str
    accelerator: str
    capacity: str
    in_cluster: bool = False

    @property
    def shape(self) -> AcceleratorType:
        return AcceleratorType.parse(self.accelerator)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityChange(JsonShape):
    """Slices, hosts and chips of one place before and after a plan."""

    JSON = ("place.pool", "place.zone", "place.accelerator", "place.capacity", "sums.*")

    place: CapacityPlace
    before: int
    after: int

    @property
    def hosts(self) -> tuple[int, int]:
        return self.before * self.place.shape.hosts, self.after * self.place.shape.hosts

    @property
    def chips(self) -> tuple[int, int]:
        return self.before * self.place.shape.chips, self.after * self.place.shape.chips

    @property
    def sums(self) -> dict[str, dict[str, int]]:
        counts = {"slices": (self.before, self.after), "hosts": self.hosts, "chips": self.chips}
        return {name: {"before": before, "after": after} for name, (before, after) in counts.items()}

    @property
    def counts(self) -> str:
        """`2 -> 3 VMs, 8 -> 12 chips`; hosts are told where a slice has several."""
        parts = [f"{self.before} -> {self.after} {'slices at most' if self.place.in_cluster else 'VMs'}"]
        if self.place.shape.multi_host:
            parts.append("{} -> {} hosts".format(*self.hosts))
        parts.append("{} -> {} chips".format(*self.chips))
        return ", ".join(parts)


def capacity(plan: Plan, declared: Iterable[CapacityRow] = ()) -> tuple[CapacityChange, ...]:
    """Every pool and zone that has slices before or after the plan, sorted; unchanged ones included.

    declared: pools and zones that have their row without any slice too.
    """
    counts: defaultdict[CapacityPlace, list[int]] = defaultdict(lambda: [0, 0])
    for row in declared:
        _ = counts[
            CapacityPlace(pool=row.pool, zone=row.zone, accelerator=row.accelerator, capacity=row.capacity.value)
        ]
    for step in plan.steps:
        if not holds_slices(step):
            continue
        for side, inputs in enumerate((step.old_inputs, step.new_inputs)):
            if inputs is not None:
                counts[place(inputs)][side] += slices_of(inputs)
    return tuple(
        CapacityChange(place=where, before=before, after=after) for where, (before, after) in sorted(counts.items())
    )


def holds_slices(step: Step) -> bool:
    """Whether it is of a TPU VM, or of a node pool of TPU slices."""
    if step.type == VM_TYPE:
        return True
    return step.type == NODE_POOL_TYPE and ACCELERATOR_LABEL in _node_labels(step.new_inputs or step.old_inputs or {})


def chips_of(step: Step) -> int:
    """Chips of a TPU VM or node pool as it stands before the step, or after it where it did not exist before."""
    inputs = step.old_inputs or step.new_inputs
    return place(inputs).shape.chips * slices_of(inputs) if inputs and holds_slices(step) else 0


def slices_of(inputs: Mapping[str, Any]) -> int:
    """Slices of a TPU VM, which is one, or of a node pool at the most nodes that it may have."""
    if ACCELERATOR_LABEL not in _node_labels(inputs):
        return 1
    nodes = (inputs.get("autoscaling") or {}).get("maxNodeCount") or inputs.get("nodeCount") or 0
    return int(nodes) // place(inputs).shape.hosts


def place(inputs: Mapping[str, Any]) -> CapacityPlace:
    """Where the slices with these inputs stand."""
    labels, marks = inputs.get("labels") or {}, _node_labels(inputs)
    if ACCELERATOR_LABEL in marks:
        return CapacityPlace(
            pool=marks.get(SLICES_LABEL, ""),
            zone=(inputs.get("nodeLocations") or [""])[0],
            accelerator=marks[ACCELERATOR_LABEL],
            capacity=_node_kind(inputs["nodeConfig"]),
            in_cluster=True,
        )
    return CapacityPlace(
        pool=labels.get(POOL_LABEL, ""),
        zone=inputs.get("zone", ""),
        accelerator=inputs["acceleratorType"],
        capacity=_kind(inputs.get("schedulingConfig") or {}),
    )


def _node_labels(inputs: Mapping[str, Any]) -> Mapping[str, str]:
    """The labels of a node pool's VMs; none of anything else."""
    return (inputs.get("nodeConfig") or {}).get("resourceLabels") or {}


def _node_kind(config: Mapping[str, Any]) -> CapacityKind:
    if config.get("flexStart"):
        return CapacityKind.FLEX_START
    if config.get("spot"):
        return CapacityKind.SPOT
    affinity = (config.get("reservationAffinity") or {}).get("consumeReservationType")
    return CapacityKind.RESERVED if affinity == "SPECIFIC_RESERVATION" else CapacityKind.ON_DEMAND


def _kind(scheduling: Mapping[str, Any]) -> CapacityKind:
    for kind in (CapacityKind.SPOT, CapacityKind.PREEMPTIBLE, CapacityKind.RESERVED):
        if scheduling.get(kind.value):
            return kind
    return CapacityKind.ON_DEMAND


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOutcome(JsonShape):
    """The VMs of one pool and zone, or the node pools of one entry of slices, that a run was to change, by status."""

    JSON = ("pool", "zone", "planned", "ended.*")

    pool: str
    zone: str
    in_cluster: bool
    counts: Mapping[Status, int]

    @property
    def planned(self) -> int:
        return sum(self.counts.values())

    @property
    def missing(self) -> int:
        """VMs that are not as planned; the next run does just these."""
        return self.planned - self.counts.get(Status.DONE, 0)

    @property
    def ended(self) -> dict[str, int]:
        return {status.value: self.counts.get(status, 0) for status in (Status.DONE, Status.FAILED, Status.SKIPPED)}


def outcomes(run: Plan) -> tuple[PoolOutcome, ...]:
    """An outcome for each pool and zone whose VMs a run was to change, sorted."""
    counts: defaultdict[tuple[str, str, bool], Counter[Status]] = defaultdict(Counter)
    for step in run.steps:
        inputs = step.new_inputs or step.old_inputs
        if holds_slices(step) and inputs and step.changes:
            where = place(inputs)
            counts[where.pool, where.zone, where.in_cluster][step.status] += 1
    return tuple(
        PoolOutcome(pool=pool, zone=zone, in_cluster=in_cluster, counts=each)
        for (pool, zone, in_cluster), each in sorted(counts.items())
    )
