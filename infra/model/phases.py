"""Whether one pass of an engine can make an edit, or what must be deleted first so that no limit is ever passed.

Owns the rule and its reasons. Does not own what draws on a limit (ledger) nor the passes (`infra.engines.phased`).

A Pulumi engine makes and replaces VMs in any order, many at once, and deletes last what is no longer declared. So at
the worst instant of one pass each VM holds the more of its chips before and after, and a limit is safe if it covers the
sum of those. Where it does not, the VMs that give chips of it back are deleted in a pass of their own, those that are
only replaced too; the pass after that cannot hold more at any instant than the declared fleet does.

Within that pass, what is new comes first, and what goes or is replaced only after it, so that a pool that moves serves
all the while. This asks for no room beyond what the pass asks for: each VM comes or goes at some instant of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.fleet import Slot, pool_slots
from infra.model.json_shape import JsonShape
from infra.model.ledger import account, draws_on
from infra.model.node import CHANGED_IN_PLACE, NodeSpec, node_spec
from infra.model.partial import has
from infra.model.schema import Pool, Quota, Reservation, Slices, StackConfig
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
    """A limit as one stack meets it. others: chips of it that other stacks and other people hold."""

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


class Work(StrEnum):
    """What a phase is for. Without a need for phases the only one is GROW, which does all there is to do."""

    SHRINK = "shrink"
    """Deletes VMs whose chips the next phase needs, and nothing else."""
    GROW = "grow"
    RETIRE = "retire"
    """Deletes and replaces what was left standing until the new VMs serve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase(JsonShape):
    """One pass of an engine, with the names of the VMs that it deletes, replaces in place, and makes.

    resized: node pools that get another number of nodes and stand on.
    """

    work: Work
    deleted: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    resized: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.deleted or self.replaced or self.created or self.resized)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases(JsonShape):
    """In which order an edit is made.

    order: no phase where no VM comes or goes; else one that grows, a shrink before it where a single pass is not safe,
    and a retirement after it where VMs come and others go.
    reasons: the limits that a single pass could pass. Empty where one is safe.
    exceeded: limits with more chips drawn than they have, before the edit or after it.
    held: VMs that cannot be made because the limit has no room for them even then.
    """

    JSON = ("needed", "order", "reasons", "exceeded", "held")

    order: tuple[Phase, ...]
    reasons: tuple[Load, ...] = ()
    exceeded: tuple[Load, ...] = ()
    held: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        return len(self.order) > 1

    @property
    def first(self) -> tuple[str, ...]:
        """The VMs to delete in a pass of their own; some may be made anew in the next."""
        return next((phase.deleted for phase in self.order if phase.work is Work.SHRINK), ())

    @property
    def shrunk(self) -> tuple[str, ...]:
        """The node pools that get fewer nodes in that pass."""
        return next((phase.resized for phase in self.order if phase.work is Work.SHRINK), ())

    @property
    def retires(self) -> bool:
        """Whether VMs go only once the new ones are made."""
        return any(phase.work is Work.RETIRE for phase in self.order)

    @property
    def at_once(self) -> Phases:
        """The same without a retirement: nothing that is new is waited for."""
        if not self.retires:
            return self
        *before, grow, retire = self.order
        return replace(
            self, order=(*before, replace(retire, work=Work.GROW, created=grow.created, resized=grow.resized))
        )

    @property
    def remade(self) -> tuple[str, ...]:
        """Those of them that are declared still."""
        made = {name for phase in self.order for name in phase.created}
        return tuple(name for name in self.first if name in made)


def fleet(config: StackConfig) -> Fleet:
    """The VMs and node pools that a stack declares; a pool with mistakes has none."""
    if not has(config, "project", "owner", "bucket", "vm_labels"):
        return {}
    made: dict[str, Vm] = {}
    for pool in config.pools:
        if has(pool, *Pool.model_fields):
            alike: dict[str, Vm] = {}
            for slot in pool_slots(config, pool):
                if slot.zone not in alike:
                    alike[slot.zone] = _vm(config, slot)
                made[slot.name] = alike[slot.zone]
    return made | dict(_node_pools(config))


def _node_pools(config: StackConfig) -> Iterator[tuple[str, Vm]]:
    """A pool as limits see it. Its form is what replaces it beside what its name says."""
    for entry in config.slices:
        for pool in entry_pools(entry) if has(entry, *Slices.model_fields) else ():
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
            if has(limit, *type(limit).model_fields) and has(config, "project") and limit.project == config.project:
                kind = limit.kind if isinstance(limit, Quota) else CapacityKind.RESERVED
                identity = (limit.zone, limit.generation.name, kind)
                bounds.setdefault(identity, Bound(limit=limit, others=account(limit, siblings).used))
    return tuple(bounds.values())


def phases(before: Fleet, after: Fleet, limits: Sequence[Bound], *, stuck: Collection[str] = ()) -> Phases:
    """The order in which `before` becomes `after` without any limit being passed at any instant.

    before: what stands. stuck: VMs of it that could not be deleted, whose chips stay taken.
    """
    draws = _Draws(limits)
    pending = {name for name, vm in after.items() if name not in stuck and before.get(name) != vm}
    held = _held(draws, before, after, pending, frozenset(stuck))
    goal = _goal(before, after, held | frozenset(stuck))
    peak = draws.peak(before, goal)
    growing = {draws.on(after[name]) for name in pending - held}
    passed = {bound for bound in growing - {NO_BOUND} if peak[bound] > limits[bound].limit.chips}
    first = {name for name, vm in before.items() if draws.on(vm) in passed and draws.less(vm, goal.get(name))}
    resized = {name for name in pending - held if name in before and before[name].becomes(after[name])}
    standing = before.keys() - (first - resized)
    shrink = Phase(work=Work.SHRINK, deleted=_sorted(before, first - resized), resized=_sorted(before, first & resized))
    grow = Phase(
        work=Work.GROW,
        created=_sorted(after, (pending - held) - standing),
        resized=_sorted(after, resized - first),
    )
    retire = Phase(
        work=Work.RETIRE if grow else Work.GROW,
        deleted=_sorted(before, standing - goal.keys()),
        replaced=_sorted(after, (pending - held) & standing - resized),
    )
    held_now, declared = draws.sums(before), draws.sums(after)
    loads = {
        index: Load(bound=bound, before=held_now[index], after=declared[index], peak=peak[index])
        for index, bound in enumerate(limits)
    }
    drawn_on = {draws.on(vm) for fleet in (before, after) for vm in fleet.values()}
    return Phases(
        order=tuple(phase for phase in (shrink, grow, retire) if phase),
        reasons=tuple(load for index, load in loads.items() if index in passed),
        exceeded=tuple(load for index, load in loads.items() if index in drawn_on and load.exceeds),
        held=_sorted(after, held),
    )


NO_BOUND = -1
"""Stands for the limit of VMs that no limit holds."""


class _Draws:
    """Which limit a VM draws on, as an index; a VM draws on one at most."""

    def __init__(self, bounds: Sequence[Bound]) -> None:
        self._bounds = bounds
        self._known: dict[tuple[str, ...], int] = {}

    def on(self, vm: Vm) -> int:
        key = (vm.project, vm.zone, vm.accelerator.name, vm.capacity.value)
        if key not in self._known:
            covering = (index for index, bound in enumerate(self._bounds) if bound.covers(vm))
            self._known[key] = next(covering, NO_BOUND)
        return self._known[key]

    def excess(self, fleet: Fleet) -> Counter[int]:
        """By how many chips a fleet passes each limit; negative where there is room."""
        over = self.sums(fleet)
        over.subtract({index: bound.limit.chips for index, bound in enumerate(self._bounds)})
        return over

    def less(self, was: Vm, becomes: Vm | None) -> bool:
        """Whether the limit that `was` draws on gets chips of it back."""
        return becomes is None or self.on(becomes) != self.on(was) or becomes.chips < was.chips

    def sums(self, fleet: Fleet) -> Counter[int]:
        """Chips drawn on each limit, those of others included."""
        drawn = self._of_others()
        for vm in fleet.values():
            drawn[self.on(vm)] += vm.chips
        return drawn

    def peak(self, before: Fleet, goal: Fleet) -> Counter[int]:
        """The most that a single pass could come to: each VM holds the more of before and after."""
        drawn = self._of_others()
        for name in before.keys() | goal.keys():
            each = [(self.on(vm), vm.chips) for vm in (before.get(name), goal.get(name)) if vm is not None]
            for index in {index for index, _ in each}:
                drawn[index] += max(chips for on, chips in each if on == index)
        return drawn

    def _of_others(self) -> Counter[int]:
        return Counter({index: bound.others for index, bound in enumerate(self._bounds)})


def _goal(before: Fleet, after: Fleet, kept: Collection[str]) -> Fleet:
    """What will stand in the end: the declared fleet, where the VMs in `kept` are left as they are."""
    declared = {name: vm for name, vm in after.items() if name not in kept}
    return declared | {name: before[name] for name in kept if name in before}


def _held(draws: _Draws, before: Fleet, after: Fleet, pending: Collection[str], stuck: frozenset[str]) -> set[str]:
    """The VMs to hold back so that the rest fits in every limit: new ones before replaced ones, the last first."""
    held: set[str] = set()
    # A node pool that only gives chips back makes room, whatever else asks for some.
    taking = {name for name in pending if name not in before or not before[name].shrinks_to(after[name])}
    last_first = sorted(_sorted(after, taking), key=lambda name: name not in before)[::-1]
    while True:
        excess = draws.excess(_goal(before, after, held | stuck))
        more: set[str] = set()
        for name in last_first:
            on = draws.on(after[name])
            if name not in held and on != NO_BOUND and excess[on] > 0:
                more.add(name)
                excess[on] -= after[name].chips  # what it keeps of them by standing on is in the next round's sum
        if not more:
            return held
        held |= more


def _sorted(fleet: Fleet, names: Collection[str]) -> tuple[str, ...]:
    """By pool, zone and index."""
    return tuple(sorted(names, key=lambda name: (fleet[name].pool, fleet[name].zone, len(name), name)))


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
