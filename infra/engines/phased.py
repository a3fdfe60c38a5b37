"""Applying a plan in the order that its limits and failures allow, on either engine.

Owns the course of an apply: the VMs that must go first, then what is new, then what goes, and after a failure what has
nothing to do with it. All of it is told as one run of the plan that was shown. Does not own which VMs must go first
(`infra.model.phases`), what is safe after a failure (`infra.engines.passes`), what stands at fallbacks
(`infra.engines.fallback_course`), nor how jobs are waited for (`Hold`).

VMs go first by `destroy` of just these, which deletes one that is still declared too; `up` would replace it. What goes
last is excluded from the pass that makes what is new, and so is the manifest: it says what goes no more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from infra.engines.away import Fallbacks
from infra.engines.fallback_course import FallbackCourse
from infra.engines.passes import (
    ApplyRecord,
    HeldBackError,
    Hold,
    Maker,
    fleets,
    is_bad,
    may_go_alone,
    next_pass,
    phases_of,
    safe_to_continue,
)
from infra.engines.protocol import Listener
from infra.model import bucket_names
from infra.model.bounds import Bound
from infra.model.errors import EngineError
from infra.model.phases import Phases, phases
from infra.model.plan import Op, PhaseBegun, Plan, Status, Step
from infra.model.planned_capacity import VM_TYPE, holds_slices
from infra.model.planned_records import RECORDS_TYPE
from infra.preview.words import vms as in_words


def apply(
    plan: Plan,
    bounds: Sequence[Bound],
    make: Maker,
    listener: Listener,
    away: Fallbacks | None = None,
    hold: Hold | None = None,
    *,
    at_once: bool = True,
) -> Plan:
    """Apply a plan that `preview` has just made; what was done, step by step of the plan.

    away: VMs that stand at fallbacks; those whose slots the plan changes are deleted where they stand.
    hold: None where nothing is waited for. at_once: no VM is left standing until new ones serve.
    A step that was not done is SKIPPED and says why. What a person must do to go on is an `error` diagnostic.
    """
    return _Course(plan, bounds, make, listener, away or Fallbacks(), hold or _held_by_nobody).run(at_once=at_once)


def _held_by_nobody(**_: object) -> AbstractContextManager[None]:
    return nullcontext()


class _Course:
    """One apply."""

    def __init__(
        self,
        plan: Plan,
        bounds: Sequence[Bound],
        make: Maker,
        listener: Listener,
        away: Fallbacks,
        hold: Hold,
    ) -> None:
        self._plan = plan
        self._hold = hold
        self._bounds = bounds
        self._make = make
        self._listener = listener
        self._urns = {step.name: step.urn for step in plan.steps if holds_slices(step)}
        self._elsewhere = frozenset(self._urns[vm.name] for vm in away.changing)
        self._steps = ApplyRecord(plan, self._elsewhere)
        self._away = away
        self._fallbacks = FallbackCourse(away, self._steps, self._urns, listener)

    def run(self, *, at_once: bool) -> Plan:
        order = phases_of(self._plan, self._bounds, self._away)
        order = order.at_once if at_once else order
        count = len(order.order)
        later = self._later(order) if order.retires else frozenset()
        retired = self._taken - self._named(order.first) if order.retires else frozenset()
        leaving = self._taken - retired
        shrinks = bool(order.first or order.shrunk)
        with self._hold(leaving=leaving, staying=retired, begun=False, makes_room=bool(order.first)):
            if order.shrunk:
                self._begin(f"phase 1 of {count}, shrink: fewer nodes of {', '.join(order.shrunk)}")
                self._resize({self._urns[name] for name in order.shrunk})
            if order.first:
                self._adopt()
                self._begin(f"phase 1 of {count}, shrink: deleting {in_words(order.first)}")
                self._fallbacks.delete([vm for vm in self._away.leaving if str(vm) in order.first])
                self._shrink({self._urns[name] for name in order.first if name in self._urns})
            if count > 1:
                what = "everything that deletes no VM" if order.retires else "everything else"
                self._begin(f"phase {2 if shrinks else 1} of {count}, grow: {what}")
            self._hold_what_has_no_room()
            goes_on = self._grow(later)
            self._fallbacks.change()
            if not order.retires:
                self._fallbacks.leave()
        if order.retires and goes_on:
            self._begin(f"phase {count} of {count}, retire: {in_words(sorted(retired))}")
            self._retire(retired)
        return self._steps.plan()

    # The first phase, and what it means for the second

    def _adopt(self) -> None:
        """Take into the state what stands and is to go first: a pass that deletes works from the state alone.

        What is adopted and then replaced is planned as a replacement, so a plan does not say whether anything is. The
        components that are made with it are done.
        """
        for step in self._make(targets=(), continue_on_error=False).adopt(self._listener).steps:
            planned = self._steps.planned.get(step.urn)
            if planned is None or planned.op in (Op.ADOPT, step.op):
                self._steps.end(step)

    def _shrink(self, urns: Collection[str]) -> None:
        """Delete these VMs; one that cannot be deleted is not tried again."""
        if not urns:
            return
        engine = self._make(targets=tuple(sorted(urns)), continue_on_error=True)
        run = engine.destroy(self._listener)
        self._steps.said += run.diagnostics
        ended = {step.urn: step for step in run.steps if step.urn in urns}
        for urn in urns:
            step = ended.get(urn) or replace(self._steps.planned[urn], status=Status.FAILED, error="it was not deleted")
            if step.status is Status.DONE:
                self._steps.remove(step)
            else:
                self._steps.end(replace(step, status=Status.FAILED, error=step.error or "it was not deleted"))

    def _resize(self, urns: Collection[str]) -> None:
        """Give these node pools fewer nodes where they stand; one that cannot shrink is not tried again."""
        steps = tuple(self._steps.planned[urn] for urn in sorted(urns))
        engine = self._make(targets=tuple(step.urn for step in steps), continue_on_error=True)
        run = engine.up(self._listener, planned=replace(self._plan, steps=steps))
        self._steps.said += run.diagnostics
        ended = {step.urn: step for step in run.steps if step.urn in urns}
        for step in steps:
            done = ended.get(step.urn)
            self._steps.end(done or replace(step, status=Status.FAILED, error="it was not made smaller"))

    def _hold_what_has_no_room(self) -> None:
        """Leave alone the VMs whose chips are not to be had, also for VMs that could not be deleted, and say so."""
        before, after = fleets(self._plan, self._away)
        gone = self._steps.named(Status.DONE) | self._fallbacks.deleted
        gone |= {self._steps.planned[urn].name for urn in self._steps.removed}
        stuck = self._steps.named(Status.FAILED) | {*self._fallbacks.stuck}
        standing = {name: vm for name, vm in before.items() if name not in gone}
        rest = phases(standing, after, self._bounds, stuck=stuck)
        for name in rest.held:
            self._steps.kept[self._urns[name]] = "the limit has no chips left for it"
        if stuck:
            held = (
                f"{in_words(rest.held)} held back, since their chips are still taken"
                if rest.held
                else "everything else goes on"
            )
            self._steps.blame(f"{in_words(sorted(stuck))} could not be deleted: {held}; mend that and")
        elif rest.held:
            whys = "; ".join(load.why for load in rest.exceeded)
            self._steps.blame(f"{in_words(rest.held)} held back, since no chips are left: {whys}; declare less, and")

    # The phase that grows, in as many passes as failures make of it

    def _grow(self, later: frozenset[str]) -> bool:
        """Do all but `later`. False where an engine could not go on."""
        whole = self._steps.is_whole
        steps = tuple(step for step in self._steps.left() if step.urn not in later and (whole or may_go_alone(step)))
        return self._passes(steps, later, whole=whole)

    def _passes(self, steps: tuple[Step, ...], later: frozenset[str] = frozenset(), *, whole: bool) -> bool:
        """Do these steps, or all but `later`, and then what failures let be done. False as for one pass."""
        while whole or steps:
            go_on = safe_to_continue(steps)
            ended = len(self._steps.ended)
            if not self._pass(steps, later, whole=whole, go_on=go_on):
                return False
            if len(self._steps.ended) == ended:
                return True
            failed = [
                self._steps.planned.get(urn, step)
                for urn, step in self._steps.ended.items()
                if step.status is Status.FAILED
            ]
            left = tuple(step for step in self._steps.left() if step.urn not in later)
            steps = next_pass(left, failed) if failed else ()
            whole = False
        return True

    def _pass(self, steps: Sequence[Step], later: frozenset[str], *, whole: bool, go_on: bool) -> bool:
        """Have an engine do these steps, or all but `later`. False where it could not even start."""
        urns = {step.urn for step in steps}
        engine = (
            self._make(targets=(), continue_on_error=go_on, excludes=tuple(sorted(later | self._elsewhere)))
            if whole
            else self._make(targets=tuple(sorted(urns)), continue_on_error=go_on)
        )
        try:
            run = engine.up(self._listener, planned=replace(self._plan, steps=tuple(steps)))
        except EngineError as error:
            if not self._steps.ended and not self._steps.removed:
                raise
            self._steps.blame(f"{error}; then")
            return False
        self._steps.said += run.diagnostics
        self._steps.outputs = run.outputs or self._steps.outputs
        for step in run.steps:
            not_begun = step.status is Status.SKIPPED and not go_on
            if (step.urn not in later | self._elsewhere if whole else step.urn in urns) and not not_begun:
                self._steps.end(step)
        return True

    # The phase that takes away what was left standing until the new VMs serve

    @property
    def _taken(self) -> frozenset[str]:
        """VMs that the plan takes away, at home or at a fallback, or makes again."""
        vms = {step.name for step in self._plan.steps if step.type == VM_TYPE and step.op in (Op.DELETE, Op.REPLACE)}
        return frozenset(vms | {vm.name for vm in self._away.leaving})

    @property
    def _returning(self) -> frozenset[str]:
        """VMs that stand at fallbacks and that the plan makes at home."""
        return frozenset(
            vm.name for vm in self._away.leaving if self._steps.planned[self._urns[vm.name]].op is Op.CREATE
        )

    def _later(self, order: Phases) -> frozenset[str]:
        """The URNs that wait for it: all that goes, since what stands may need it, and what says that it goes."""
        made = {name for phase in order.order for name in phase.created}
        return frozenset(
            urn
            for urn, step in self._steps.todo.items()
            if step.op in (Op.DELETE, Op.RETAIN)
            or (step.op is Op.REPLACE and step.name not in made)
            or (step.op is Op.UPDATE and self._says_what_stands(step))
        )

    def _says_what_stands(self, step: Step) -> bool:
        """Whether it is the manifest, or what shows it in plans."""
        return step.type == RECORDS_TYPE or step.name == bucket_names.manifest_object(self._plan.stack)

    def _retire(self, retired: frozenset[str]) -> None:
        """Delete and replace these VMs but for those of pools that failed, and do what else is left.

        Also where none of them goes: the hold then declares what is new beside them, which is made by now.
        """
        whole = self._steps.is_whole
        steps = tuple(self._steps.left())
        if not whole:
            failed = [self._steps.planned.get(urn, step) for urn, step in self._steps.ended.items() if is_bad(step)]
            vms = tuple(step for step in steps if holds_slices(step))
            steps = next_pass(vms, failed) if failed else tuple(filter(may_go_alone, steps))
        going = {step.name for step in steps if step.type == VM_TYPE} & retired
        going |= {vm.name for vm in self._fallbacks.done() if vm.name in retired}
        staying = retired - going
        records = tuple(step for step in self._steps.left() if step.op is Op.UPDATE and self._says_what_stands(step))
        if staying:
            self._steps.kept |= {step.urn: "VMs exist that it no longer declares" for step in records}
            steps = tuple(step for step in steps if step not in records)
        else:
            steps += tuple(step for step in records if step not in steps)
        if not steps and not retired:
            return
        try:
            with self._hold(leaving=going, staying=staying, begun=True, returning=self._returning & going):
                self._passes(steps, whole=whole and bool(steps))
                self._fallbacks.leave()
        except HeldBackError as error:
            self._steps.kept |= {step.urn: str(error) for step in self._steps.left()}
            self._steps.blame(f"{error};")

    def _named(self, vms: Collection[str]) -> frozenset[str]:
        """VMs by the names that they have, also those at fallbacks."""
        elsewhere = {str(vm): vm.name for vm in self._away.leaving}
        return frozenset(elsewhere.get(name, name) for name in vms)

    def _begin(self, phase: str) -> None:
        self._listener(PhaseBegun(severity="info", message=phase))
