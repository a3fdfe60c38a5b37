"""Which VMs stand before and after a plan, and in which phases it has to be applied.

Owns reading fleets from a plan, with VMs that stand at fallbacks counted where they stand. The rule of phases is
`infra.model.phases`, the passes are `infra.engines.phased`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from infra.engines.away import Fallbacks
from infra.fleet.controller.rules import GIVEN_BACK
from infra.model.catalogue import CapacityKind, accelerator_types
from infra.model.phases import Bound, Fleet, Phases, Vm, phases
from infra.model.plan import Op, Plan
from infra.model.planned_capacity import VM_TYPE, place

_DRAWS = ("acceleratorType", "schedulingConfig")
"""What of a VM says which limit it draws on, and how much."""


def phases_of(plan: Plan, bounds: Sequence[Bound], away: Fallbacks | None = None) -> Phases:
    """The phases in which a plan has to be applied. away: VMs that stand at fallbacks, and count where they stand."""
    found = phases(*fleets(plan, away or Fallbacks()), bounds)
    # What stands may need what is replaced, so that neither is left alone.
    alone = any(step.op is Op.REPLACE and step.type != VM_TYPE for step in plan.steps)
    return found.at_once if alone else found


def fleets(plan: Plan, away: Fallbacks) -> tuple[Fleet, Fleet]:
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
