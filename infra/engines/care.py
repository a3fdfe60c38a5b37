"""When an apply may go on after a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.model.plan import Op
from infra.model.planned_capacity import VM_TYPE

if TYPE_CHECKING:
    from infra.model.plan import Plan


def safe_to_continue(plan: Plan) -> bool:
    """Whether other resources may still be worked on after one has failed.

    A VM with a fixed name is deleted before its replacement is made. Going on after a stockout would take down one VM
    after another with nothing to put in their place, so a plan that replaces anything stops at its first failure. So
    does one that deletes VMs beside making others: deletes come last, and would go through after the creates failed.
    """
    vms = {step.op for step in plan.steps if step.type == VM_TYPE}
    return all(step.op is not Op.REPLACE for step in plan.steps) and not {Op.CREATE, Op.DELETE} <= vms
