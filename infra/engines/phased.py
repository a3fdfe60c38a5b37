"""Applying a plan in the order that its limits and failures allow, on either engine.

Owns the course of an apply: the VMs that must go first, then everything else, then what a failed VM kept from being
done though it has nothing to do with it. All of it is told as one run of the plan that was shown. Does not own which
VMs must go first (`infra.model.phases`) nor what is safe after a failure (`infra.engines.care`).

The fleet's records come first in the second phase. They have no pass before the first one: the pulumi CLI refuses to
update a target alone while resources that depend on it, as every VM does, are to be deleted and are no targets.

VMs go first by `destroy` of just these, which deletes one that is still declared too; `up` would replace it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeGuard

from infra.engines.away import AwayVm, Fallbacks
from infra.engines.care import next_pass, safe_to_continue
from infra.engines.protocol import Engine, EngineError, Listener
from infra.fleet.controller.rules import GIVEN_BACK
from infra.model.catalogue import CapacityKind, accelerator_types
from infra.model.phases import Bound, Fleet, Phases, Vm, phases
from infra.model.plan import Diagnostic, Op, Plan, Status, Step
from infra.model.planned_capacity import VM_TYPE, place
from infra.preview.words import vms as in_words

_UNCHANGING = frozenset((Op.SAME, Op.READ))
_DRAWS = ("acceleratorType", "schedulingConfig")
"""What of a VM says which limit it draws on, and how much."""


class Maker(Protocol):
    """Makes an engine for one pass. targets: URNs that alone may change, empty for all that the command is about."""

    def __call__(self, *, targets: tuple[str, ...], continue_on_error: bool) -> Engine: ...


def phases_of(plan: Plan, bounds: Sequence[Bound], away: Fallbacks | None = None) -> Phases:
    """The phases in which a plan has to be applied. away: VMs that stand at fallbacks, and count where they stand."""
    return phases(*_fleets(plan, away or Fallbacks()), bounds)


def apply(plan: Plan, bounds: Sequence[Bound], make: Maker, listener: Listener, away: Fallbacks | None = None) -> Plan:
    """Apply a plan that `preview` has just made; what was done, step by step of the plan.

    away: VMs that stand at fallbacks; those whose slots the plan changes are deleted where they stand.
    A step that was not done is SKIPPED and says why. What a person must do to go on is an `error` diagnostic.
    """
    return _Course(plan, bounds, make, listener, away or Fallbacks()).run()


def _fleets(plan: Plan, away: Fallbacks) -> tuple[Fleet, Fleet]:
    """The VMs before and after a plan, by name. What the catalogue does not know draws on no limit of a stack file.

    One that stands at a fallback is a VM of its own, where it stands; a slot that stays so has no other.
    """
    before: dict[str, Vm] = {}
    after: dict[str, Vm] = {}
    for step in plan.steps:
        if step.type == VM_TYPE:
            if _is_known(step.old_inputs):
                node = away.home.get(step.name, {}) if step.op in (Op.REPLACE, Op.DELETE) else {}
                before[step.name] = _vm({**step.old_inputs, **{key: node[key] for key in _DRAWS if key in node}})
            if _is_known(step.new_inputs):
                after[step.name] = _vm(step.new_inputs, form=step.op is Op.REPLACE)
    for vm in away.vms:
        if vm.alone:
            before.pop(vm.name, None)
        if vm not in away.leaving and vm.alone:
            after.pop(vm.name, None)
        if _is_known(vm.node) and vm.node.get("state") not in GIVEN_BACK:
            before[str(vm)] = _vm({**vm.node, "zone": vm.zone, "project": vm.project})
            if vm not in away.leaving:
                after[str(vm)] = before[str(vm)]
    return before, after


def _is_known(inputs: Mapping[str, Any] | None) -> TypeGuard[Mapping[str, Any]]:
    return inputs is not None and inputs.get("acceleratorType") in accelerator_types()


def _vm(inputs: Mapping[str, Any], *, form: bool = False) -> Vm:
    where = place(inputs)
    return Vm(
        pool=where.pool,
        project=inputs.get("project", ""),
        zone=where.zone,
        accelerator=where.shape,
        capacity=CapacityKind(where.capacity),
        form=form,
    )


class _Course:
    """One apply. What the plan changes is `_todo` until a pass has ended it or `_kept` says why it is left as it is."""

    def __init__(self, plan: Plan, bounds: Sequence[Bound], make: Maker, listener: Listener, away: Fallbacks) -> None:
        self._plan = plan
        self._away = away
        self._gone_away: set[str] = set()
        self._stuck_away: dict[str, str] = {}
        self._bounds = bounds
        self._make = make
        self._listener = listener
        self._planned = {step.urn: step for step in plan.steps}
        self._todo = {step.urn: step for step in plan.steps if step.op not in _UNCHANGING}
        self._urns = {step.name: step.urn for step in plan.steps if step.type == VM_TYPE}
        self._ended: dict[str, Step] = {}
        self._removed: dict[str, Step] = {}
        self._kept: dict[str, str] = {}
        self._said: list[Diagnostic] = []
        self._outputs: Mapping[str, Any] = {}

    def run(self) -> Plan:
        order = phases_of(self._plan, self._bounds, self._away)
        if order.needed:
            self._adopt()
            self._tell(f"phase 1 of 2, shrink: deleting {in_words(order.first)}")
            self._delete_away([vm for vm in self._away.leaving if str(vm) in order.first])
            self._shrink({self._urns[name] for name in order.first if name in self._urns})
            self._tell("phase 2 of 2, grow: everything else")
        self._hold_what_has_no_room()
        self._grow()
        self._leave_fallbacks()
        return replace(
            self._plan,
            steps=tuple(self._steps()),
            diagnostics=tuple(dict.fromkeys(self._said)),
            outputs=self._outputs,
        )

    # The first phase, and what it means for the second

    def _adopt(self) -> None:
        """Take into the state what stands and is to go first: a pass that deletes works from the state alone.

        What is adopted and then replaced is planned as a replacement, so a plan does not say whether anything is.
        """
        for step in self._make(targets=(), continue_on_error=False).adopt(self._listener).steps:
            planned = self._planned.get(step.urn)
            if planned is None or planned.op is Op.ADOPT:
                self._end(step)

    def _delete_away(self, vms: Sequence[AwayVm]) -> None:
        """Delete these where they stand. One that cannot be is a failure of its slot, whose step had another end."""
        if not vms:
            return
        self._tell(f"deleting {in_words([str(vm) for vm in vms])}, at fallbacks")
        failed = self._away.delete(vms)
        self._gone_away |= {str(vm) for vm in vms} - failed.keys()
        self._stuck_away |= failed
        for vm in vms:
            if str(vm) in failed:
                step = self._planned[self._urns[vm.name]]
                if step.op is Op.DELETE:
                    self._ended[step.urn] = replace(
                        step, status=Status.FAILED, error=f"it stands in {vm.zone}: {failed[str(vm)]}"
                    )
                self._blame(f"{vm} could not be deleted: {failed[str(vm)]}; mend that and {self._again}")

    def _leave_fallbacks(self) -> None:
        """Delete what stands at fallbacks once its slot is gone, or stands at home again."""
        left = [vm for vm in self._away.leaving if str(vm) not in self._gone_away | self._stuck_away.keys()]
        ended = (self._ended.get(self._urns[vm.name]) for vm in left)
        done = [vm for vm, step in zip(left, ended, strict=True) if step is not None and step.status is Status.DONE]
        self._delete_away(done)

    def _shrink(self, urns: Collection[str]) -> None:
        """Delete these VMs; one that cannot be deleted is not tried again."""
        if not urns:
            return
        engine = self._make(targets=tuple(sorted(urns)), continue_on_error=True)
        run = engine.destroy(self._listener)
        self._said += run.diagnostics
        ended = {step.urn: step for step in run.steps if step.urn in urns}
        for urn in urns:
            step = ended.get(urn) or replace(self._planned[urn], status=Status.FAILED, error="it was not deleted")
            if step.status is Status.DONE:
                self._remove(step)
            else:
                self._end(replace(step, status=Status.FAILED, error=step.error or "it was not deleted"))

    def _remove(self, deleted: Step) -> None:
        planned = self._todo[deleted.urn]
        if planned.op is Op.DELETE:
            self._end(deleted)
        else:
            self._removed[deleted.urn] = deleted
            self._todo[deleted.urn] = replace(planned, op=Op.CREATE, old_inputs=None, diff={}, replace_reasons=())

    def _hold_what_has_no_room(self) -> None:
        """Leave alone the VMs whose chips are not to be had, also for VMs that could not be deleted, and say so."""
        before, after = _fleets(self._plan, self._away)
        gone = {self._planned[urn].name for urn, step in self._ended.items() if step.status is Status.DONE}
        gone |= {self._planned[urn].name for urn in self._removed} | self._gone_away
        stuck = {*self._stuck_away} | {
            self._planned[urn].name for urn, step in self._ended.items() if step.status is Status.FAILED
        }
        standing = {name: vm for name, vm in before.items() if name not in gone}
        rest = phases(standing, after, self._bounds, stuck=stuck)
        for name in rest.held:
            self._kept[self._urns[name]] = "the limit has no room for its chips"
        if stuck:
            held = f"{in_words(rest.held)} held back, whose chips they have" if rest.held else "everything else goes on"
            self._blame(f"{in_words(sorted(stuck))} could not be deleted: {held}; mend that and {self._again}")
        elif rest.held:
            whys = "; ".join(load.why for load in rest.exceeded)
            self._blame(
                f"{in_words(rest.held)} held back, since no room is left: {whys}; declare less, and {self._again}"
            )

    # The second phase, in as many passes as failures make of it

    def _grow(self) -> None:
        whole = not self._kept and not self._ended_badly
        steps = tuple(step for step in self._left() if whole or _may_go_alone(step))
        while whole or steps:
            go_on = safe_to_continue(steps)
            ended = len(self._ended)
            if not self._pass(steps, whole=whole, go_on=go_on) or len(self._ended) == ended:
                return
            failed = [self._planned.get(urn, step) for urn, step in self._ended.items() if step.status is Status.FAILED]
            steps = next_pass(tuple(self._left()), failed) if failed else ()
            whole = False

    def _pass(self, steps: Sequence[Step], *, whole: bool, go_on: bool) -> bool:
        """Have an engine do these steps, or all there is to do. False where it could not even start."""
        urns = {step.urn for step in steps}
        engine = self._make(targets=() if whole else tuple(sorted(urns)), continue_on_error=go_on)
        try:
            run = engine.up(self._listener, planned=replace(self._plan, steps=tuple(steps)))
        except EngineError as error:
            if not self._ended and not self._removed:
                raise
            self._blame(f"{error}; then {self._again}")
            return False
        self._said += run.diagnostics
        self._outputs = run.outputs or self._outputs
        for step in run.steps:
            not_begun = step.status is Status.SKIPPED and not go_on
            if (whole or step.urn in urns) and not not_begun:
                self._end(step)
        return True

    def _left(self) -> Iterator[Step]:
        """What is still to be done and may be, VMs that went first as creates."""
        return (step for urn, step in self._todo.items() if urn not in self._ended and urn not in self._kept)

    # What has become of it

    @property
    def _ended_badly(self) -> bool:
        return any(step.status is not Status.DONE for step in self._ended.values())

    @property
    def _again(self) -> str:
        return f"run `./tidepool up {self._plan.stack}` again: it does only what is missing"

    def _end(self, step: Step) -> None:
        """Keep how a step ended. Both halves of a replacement are one step, as in the plan.

        What an earlier pass has done, a later one finds unchanged.
        """
        if step.op in _UNCHANGING and step.urn in self._ended:
            return
        planned, removed = self._planned.get(step.urn), self._removed.get(step.urn)
        if planned is not None and planned.op is Op.REPLACE and (removed is not None or step.op is Op.DELETE):
            seconds = (step.seconds or 0.0) + (removed.seconds or 0.0 if removed is not None else 0.0)
            step = replace(planned, status=step.status, seconds=round(seconds, 3), error=step.error)
        self._ended[step.urn] = step

    def _steps(self) -> Iterator[Step]:
        """Every step of the plan that was come to or should have been, and what an engine did besides."""
        for urn, planned in self._planned.items():
            if urn in self._ended:
                ended = self._ended[urn]
                unsaid = ended.status is Status.SKIPPED and ended.error is None
                yield replace(ended, error=self._why_not(planned)) if unsaid else ended
            elif urn in self._todo:
                yield replace(planned, status=Status.SKIPPED, error=self._why_not(planned))
            else:
                yield replace(planned, status=Status.DONE, seconds=0.0)
        yield from (step for urn, step in self._ended.items() if urn not in self._planned)

    def _why_not(self, planned: Step) -> str:
        if planned.urn in self._kept:
            return f"held back: {self._kept[planned.urn]}"
        if planned.urn in self._removed:
            return "deleted to make room, and not made again"
        if planned.op in {Op.REPLACE, Op.DELETE} and planned.type == VM_TYPE:
            return "left as it is, because of what failed"
        return "not begun, because of what failed"

    def _tell(self, message: str) -> None:
        self._listener(Diagnostic(severity="info", message=message))

    def _blame(self, message: str) -> None:
        self._said.append(Diagnostic(severity="error", message=message))


def _may_go_alone(step: Step) -> bool:
    """Whether a pass that leaves something out may do this. What is kept may need anything that is to be deleted."""
    return step.type == VM_TYPE or step.op is not Op.DELETE
