"""What decides the passes of an apply, what they need of its command, and what has become of its steps.

Owns reading the fleets before and after a plan, with VMs that stand at fallbacks counted where they stand; what may
still be done after a failure: one pool's failure keeps no other pool from being applied, and no pool loses VMs that it
could not replace; and the interfaces of what makes engines and holds the fleet meanwhile. The rule of phases is
`infra.model.phases`, the passes are `infra.engines.phased`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol, TypeGuard

from infra.engines.away import Fallbacks
from infra.engines.protocol import Engine
from infra.model.bounds import Bound, Fleet, Vm
from infra.model.catalogue import CapacityKind, accelerator_types
from infra.model.phases import Phases, phases
from infra.model.plan import Diagnostic, Op, Plan, Status, Step
from infra.model.planned_capacity import VM_TYPE, holds_slices, place, slices_of

_MAKING = frozenset((Op.CREATE, Op.UPDATE))
_DRAWS = ("acceleratorType", "schedulingConfig")
"""What of a VM says which limit it draws on, and how much."""

# What an apply needs of its command


class Maker(Protocol):
    """Makes an engine for one pass. targets: URNs that alone may change, empty for all that the command is about.

    excludes: URNs that stay as they are.
    """

    def __call__(
        self, *, targets: tuple[str, ...], continue_on_error: bool, excludes: tuple[str, ...] = ()
    ) -> Engine: ...


class HeldBackError(Exception):
    """VMs that were to go have to stay, though what is new is made; the text says why."""


class Hold(Protocol):
    """Keeps a fleet while passes change it."""

    def __call__(
        self,
        *,
        leaving: Collection[str],
        staying: Collection[str],
        begun: bool,
        returning: Collection[str] = (),
        makes_room: bool = False,
    ) -> AbstractContextManager[None]:
        """Entered before the passes that take VMs away, left after them.

        leaving: VMs that go, or are made again: they run nothing once it is entered. staying: VMs that stand on though
        the program declares them no more, or in another way. begun: whether anything was changed before; then it raises
        HeldBackError where `leaving` cannot go. returning: names of `leaving` that go at a fallback alone, since these
        passes have made them at home. makes_room: whether the passes can make others only in their place.
        """
        ...


# Which VMs stand before and after a plan


def phases_of(plan: Plan, bounds: Sequence[Bound], away: Fallbacks | None = None) -> Phases:
    """The phases in which a plan has to be applied. away: VMs that stand at fallbacks, and count where they stand."""
    found = phases(*fleets(plan, away or Fallbacks()), bounds)
    # What stands may need what is replaced, so that neither is left alone.
    alone = any(step.op is Op.REPLACE and not holds_slices(step) for step in plan.steps)
    return found.at_once if alone else found


def fleets(plan: Plan, away: Fallbacks) -> tuple[Fleet, Fleet]:
    """The VMs and node pools before and after a plan, by name.

    What the catalogue does not know draws on no limit of a stack file.

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
        elif holds_slices(step):
            if step.old_inputs is not None:
                before[step.name] = _vm(step.old_inputs)
            if step.new_inputs is not None:
                after[step.name] = _vm(step.new_inputs, form=step.op is Op.REPLACE)
    for vm in away.vms:
        if vm.alone:
            before.pop(vm.name, None)
        if vm not in away.leaving and vm.alone:
            after.pop(vm.name, None)
        if _is_known(vm.node) and not vm.given_back:
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
        slices=slices_of(inputs),
    )


# What may be done after a failure


def safe_to_continue(steps: Iterable[Step]) -> bool:
    """Whether all of these may go on in one pass after one of them has failed.

    A VM with a fixed name is deleted before its replacement is made. Going on after a stockout would take down one VM
    after another with nothing to put in their place, so a pass that replaces anything stops at its first failure. So
    does one that moves a pool: deletes come last, and would go through after the pool's creates have failed.
    """
    steps = list(steps)
    made, deleted = _pools(steps, Op.CREATE), _pools(steps, Op.DELETE)
    return all(step.op is not Op.REPLACE for step in steps) and not made & deleted


def next_pass(left: Collection[Step], failed: Collection[Step]) -> tuple[Step, ...]:
    """What to do in another pass, after one that stopped at a failure. Nothing where more than VMs is at fault.

    First all that takes nothing away, so that it is known which pools have failed; then replacements, but for the pool
    and zone that failed, and deletes, but for the pool. Node pools of slices count as VMs do. Other resources stay: a
    VM that is kept may need them.
    """
    if not all(map(holds_slices, failed)) or any(_replaces_no_vm(step) for step in left):
        return ()
    making = tuple(step for step in left if step.op in _MAKING)
    if making:
        return making
    places = {_where(step) for step in failed}
    pools = {pool for pool, _ in places}
    vms = [step for step in left if holds_slices(step)]
    replaced = tuple(step for step in vms if step.op is Op.REPLACE and _where(step) not in places)
    return replaced + tuple(step for step in vms if step.op is Op.DELETE and _where(step)[0] not in pools)


def _pools(steps: Iterable[Step], op: Op) -> set[str]:
    return {_where(step)[0] for step in steps if holds_slices(step) and step.op is op}


def _replaces_no_vm(step: Step) -> bool:
    return step.op is Op.REPLACE and not holds_slices(step)


def _where(step: Step) -> tuple[str, str]:
    """Pool and zone of a step of a VM or of a node pool."""
    found = place(step.new_inputs or step.old_inputs or {})
    return found.pool, found.zone


# What has become of it


class ApplyRecord:
    """What has become of a plan's steps so far, all passes together.

    elsewhere: URNs of VMs that are changed where they stand. todo: what the plan changes, VMs that went first as
    creates. ended: how steps ended. removed: the first half of replacements. kept: why a step is left as it is. said:
    what a person is to hear.
    """

    def __init__(self, plan: Plan, elsewhere: frozenset[str]) -> None:
        self._plan = plan
        self._elsewhere = elsewhere
        self.planned = {step.urn: step for step in plan.steps}
        self.todo = {step.urn: step for step in plan.steps if step.changes}
        self.ended: dict[str, Step] = {}
        self.removed: dict[str, Step] = {}
        self.kept: dict[str, str] = {}
        self.said: list[Diagnostic] = []
        self.outputs: Mapping[str, Any] = {}

    def plan(self) -> Plan:
        """The plan with what has become of it."""
        said = tuple(dict.fromkeys(self.said))
        return replace(self._plan, steps=tuple(self._steps()), diagnostics=said, outputs=self.outputs)

    def blame(self, message: str) -> None:
        """Say what a person must do; the message ends before the run that is then to be made."""
        again = f"run `./tidepool up {self._plan.stack}` again: it does only what is missing"
        self.said.append(Diagnostic(severity="error", message=f"{message} {again}"))

    def named(self, status: Status) -> set[str]:
        """Names of the resources whose steps ended so."""
        return {step.name for step in self.ended.values() if step.status is status}

    def remove(self, deleted: Step) -> None:
        """Keep that a VM was deleted that goes first."""
        planned = self.todo[deleted.urn]
        if planned.op is Op.DELETE:
            self.end(deleted)
        else:
            self.removed[deleted.urn] = deleted
            self.todo[deleted.urn] = replace(planned, op=Op.CREATE, old_inputs=None, diff={}, replace_reasons=())

    def left(self) -> Iterator[Step]:
        """What is still to be done and may be, VMs that went first as creates."""
        done = self.ended.keys() | self.kept.keys() | self._elsewhere
        return (step for urn, step in self.todo.items() if urn not in done)

    @property
    def is_whole(self) -> bool:
        """Whether nothing has to be left out so far."""
        return not self.kept and not any(map(is_bad, self.ended.values()))

    def end(self, step: Step) -> None:
        """Keep how a step ended. Both halves of a replacement are one step, as in the plan.

        What an earlier pass has done, a later one finds unchanged.
        """
        if not step.changes and step.urn in self.ended:
            return
        planned, removed = self.planned.get(step.urn), self.removed.get(step.urn)
        if planned is not None and planned.op is Op.REPLACE and (removed is not None or step.op is Op.DELETE):
            seconds = (step.seconds or 0.0) + (removed.seconds or 0.0 if removed is not None else 0.0)
            step = replace(planned, status=step.status, seconds=round(seconds, 3), error=step.error)
        self.ended[step.urn] = step

    def _steps(self) -> Iterator[Step]:
        """Every step of the plan that was come to or should have been, and what an engine did besides."""
        for urn, planned in self.planned.items():
            if urn in self.ended:
                ended = self.ended[urn]
                unsaid = ended.status is Status.SKIPPED and ended.error is None
                yield replace(ended, error=self._why_not(planned)) if unsaid else ended
            elif urn in self.todo:
                yield replace(planned, status=Status.SKIPPED, error=self._why_not(planned))
            else:
                yield replace(planned, status=Status.DONE, seconds=0.0)
        yield from (step for urn, step in self.ended.items() if urn not in self.planned)

    def _why_not(self, planned: Step) -> str:
        if planned.urn in self.kept:
            return f"held back: {self.kept[planned.urn]}"
        if planned.urn in self.removed:
            return "deleted to make room, and not created again"
        if planned.op in {Op.REPLACE, Op.DELETE} and holds_slices(planned):
            return "not changed, because of another failure"
        return "not started, because of another failure"


def is_bad(step: Step) -> bool:
    return step.status is not Status.DONE


def may_go_alone(step: Step) -> bool:
    """Whether a pass that leaves something out may do this. What is kept may need anything that is to be deleted."""
    return holds_slices(step) or step.op is not Op.DELETE
