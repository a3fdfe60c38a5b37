"""What an apply may still do after something has failed, pass by pass.

Owns the rule: one pool's failure keeps no other pool from being applied, and no pool loses VMs that it could not
replace. Does not own the passes (`infra.engines.phased`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from infra.model.plan import Op, Step
from infra.model.planned_capacity import VM_TYPE, place

_MAKING = frozenset((Op.CREATE, Op.UPDATE))


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
    and zone that failed, and deletes, but for the pool. Other resources stay: a VM that is kept may need them.
    """
    if any(step.type != VM_TYPE for step in failed) or any(_replaces_no_vm(step) for step in left):
        return ()
    making = tuple(step for step in left if step.op in _MAKING)
    if making:
        return making
    places = {_where(step) for step in failed}
    pools = {pool for pool, _ in places}
    vms = [step for step in left if step.type == VM_TYPE]
    replaced = tuple(step for step in vms if step.op is Op.REPLACE and _where(step) not in places)
    return replaced + tuple(step for step in vms if step.op is Op.DELETE and _where(step)[0] not in pools)


def _pools(steps: Iterable[Step], op: Op) -> set[str]:
    return {_where(step)[0] for step in steps if step.type == VM_TYPE and step.op is op}


def _replaces_no_vm(step: Step) -> bool:
    return step.op is Op.REPLACE and step.type != VM_TYPE


def _where(step: Step) -> tuple[str, str]:
    """Pool and zone of a VM's step."""
    found = place(step.new_inputs or step.old_inputs or {})
    return found.pool, found.zone
