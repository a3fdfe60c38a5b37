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
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from infra.model.bounds import Bound, Fleet, Load, Vm
from infra.model.json_shape import JsonShape


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
