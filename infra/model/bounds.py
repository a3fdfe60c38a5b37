"""VMs and node pools as phases see them, and the limits on their chips.

Owns which limits there are for a stack. What draws on one is the ledger's, what must go first `infra.model.phases`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.fleet import Slot, pool_slots
from infra.model.json_shape import JsonShape
from infra.model.ledger import account, draws_on
from infra.model.node import CHANGED_IN_PLACE, NodeSpec, node_spec
from infra.model.schema import Quota, Reservation, StackConfig
from infra.model.slices import entry_pools


@dataclass(frozen=True, slots=True, kw_only=True)
class Vm:
    """What limits and engines distinguish in one VM; one that differs from the one of its name replaces it.

    form: whatever else forces a replacement where it differs; compared with `==` alone. slices: of a node pool, at the
    most that it may have; one that differs in these alone is resized and stands on.
    """

    pool: str = field(compare=False)
    project: str
    zone: str
    accelerator: AcceleratorType
    capacity: CapacityKind
    form: object = None
    slices: int = 1

    @property
    def chips(self) -> int:
        return self.accelerator.chips * self.slices

    def becomes(self, other: Vm) -> bool:
        """Whether the two are one node pool of two sizes."""
        return self != other and replace(self, slices=other.slices) == other

    def shrinks_to(self, other: Vm) -> bool:
        """Whether it stands on with fewer slices."""
        return self.becomes(other) and other.slices < self.slices


Fleet = Mapping[str, Vm]
"""VMs, and node pools of slices, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A limit as one stack meets it. others: chips of it that other stacks, other people and VMs of runs hold."""

    limit: Reservation | Quota
    others: int

    def __str__(self) -> str:
        """`us-central2-b v4 reservation lab`, `us-west4-a v5e preemptible quota`."""
        limit = self.limit
        what = f"reservation {limit.name}" if isinstance(limit, Reservation) else f"{limit.kind.value} quota"
        return f"{limit.zone} {limit.generation.name} {what}"

    def covers(self, vm: Vm) -> bool:
        limit = self.limit
        same_place = (limit.project, limit.zone) == (vm.project, vm.zone)
        return same_place and draws_on(limit, vm.accelerator.generation, vm.capacity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(JsonShape):
    """Chips drawn on one limit, those of others included. peak: the most that a single pass could come to."""

    JSON = ("limit", "chips", "before", "after", "peak", "why")

    bound: Bound
    before: int
    after: int
    peak: int

    @property
    def limit(self) -> str:
        return str(self.bound)

    @property
    def chips(self) -> int:
        return self.bound.limit.chips

    @property
    def exceeds(self) -> bool:
        return max(self.before, self.after) > self.chips

    @property
    def why(self) -> str:
        """What is the matter with this limit, for people."""
        if self.after > self.chips:
            return f"{self.bound}: {self.after} of {self.chips} chips are declared, {self.before} are held"
        if self.peak > self.chips:
            return (
                f"{self.bound}: {self.before} -> {self.after} of {self.chips} chips, "
                f"and a single pass could hold {self.peak} before it deletes"
            )
        return f"{self.bound}: {self.before} -> {self.after} of {self.chips} chips"


def fleet(config: StackConfig) -> Fleet:
    """The VMs and node pools that a stack declares."""
    made: dict[str, Vm] = {}
    for pool in config.pools:
        alike: dict[str, Vm] = {}
        for slot in pool_slots(config, pool):
            if slot.zone not in alike:
                alike[slot.zone] = _vm(config, slot)
            made[slot.name] = alike[slot.zone]
    return made | dict(_node_pools(config))


def _node_pools(config: StackConfig) -> Iterator[tuple[str, Vm]]:
    """A pool as limits see it. Its form is what replaces it beside what its name says."""
    for entry in config.slices:
        for pool in entry_pools(entry):
            yield (
                pool.name,
                Vm(
                    pool=entry.name,
                    project=config.project,
                    zone=entry.zone,
                    accelerator=entry.accelerator,
                    capacity=entry.capacity.kind,
                    form=entry.capacity,
                    slices=pool.most.slices,
                ),
            )


def limits(config: StackConfig, siblings: Sequence[StackConfig] = ()) -> tuple[Bound, ...]:
    """Every limit on a stack's project, whichever of the stack files declares it."""
    bounds: dict[tuple[object, ...], Bound] = {}
    for stack in (config, *siblings):
        for limit in (*stack.reservations, *stack.quotas):
            if limit.project == config.project:
                kind = limit.kind if isinstance(limit, Quota) else CapacityKind.RESERVED
                identity = (limit.zone, limit.generation.name, kind)
                others = account(limit, siblings).used + account(limit, [config]).runs
                bounds.setdefault(identity, Bound(limit=limit, others=others))
    return tuple(bounds.values())


_FORM = tuple(each.name for each in fields(NodeSpec) if each.name not in CHANGED_IN_PLACE | {"name"})


def _vm(config: StackConfig, slot: Slot) -> Vm:
    """A slot as limits see it."""
    spec = node_spec(config, slot)
    return Vm(
        pool=slot.pool.name,
        project=config.project,
        zone=slot.zone,
        accelerator=slot.accelerator,
        capacity=slot.capacity.kind,
        form=tuple(getattr(spec, each) for each in _FORM),
    )
