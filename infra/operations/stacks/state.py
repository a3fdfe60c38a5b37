"""Operations that write a stack's state, and nothing of its cloud."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from infra.model.plan import Op, Plan, Step
from infra.operations.ports import UNWATCHED, Watch
from infra.operations.session import Session, interruptible
from infra.operations.stacks.targets import insist_found

_SERVICES_OWN: Final = (
    "etag", "fingerprint", "metadataFingerprint", "effectiveLabels", "pulumiLabels", "updateTime",
)  # fmt: skip
"""Outputs that a service or the provider keeps for itself: they change with anything and say nothing by themselves."""


def adopt(session: Session, watch: Watch = UNWATCHED) -> Plan:
    """Take into the state the VMs that stand under declared slots' names with the stack's labels."""
    with interruptible(session.request.stack, "adopt"), watch as listener:
        return session.engine().adopt(listener)


def refresh(session: Session, watch: Watch = UNWATCHED) -> Plan:
    """Take over into the state what the cloud says of every resource in it; the steps are what differed."""
    with interruptible(session.request.stack, "refresh"), watch as listener:
        run = without_services_own(session.engine().refresh(listener))
    insist_found(session.place.root, run, session.request.targets)
    return run


def without_services_own(run: Plan) -> Plan:
    """A refresh in which a resource with nothing but a new etag and its like is as it was."""
    return replace(run, steps=tuple(_own_differences(step) for step in run.steps))


def _own_differences(step: Step) -> Step:
    if step.op is not Op.UPDATE:
        return step
    diff = {path: each for path, each in step.diff.items() if path.partition(".")[0] not in _SERVICES_OWN}
    return replace(step, op=Op.UPDATE if diff else Op.SAME, diff=diff)
