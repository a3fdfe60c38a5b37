"""Operations that write a stack's state, and nothing of its cloud."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from infra.fleet.history import Verb
from infra.model import urns
from infra.model.plan import Diagnostic, Op, Plan, Step
from infra.operations.declared.stack_file import stack_file
from infra.operations.declared.targets import insist_found
from infra.operations.ports import UNWATCHED, Watch
from infra.operations.session import Session, interruptible
from infra.operations.stacks.history import kept

_SERVICES_OWN: Final = (
    "etag", "fingerprint", "metadataFingerprint", "effectiveLabels", "pulumiLabels", "updateTime",
)  # fmt: skip
"""Outputs that a service or the provider keeps for itself: they change with anything and say nothing by themselves."""


def adopt(session: Session, watch: Watch = UNWATCHED) -> Plan:
    """Take into the state the VMs that stand under declared slots' names with the stack's labels, and its targets.

    A target is taken over whoever made it: a VM with other labels, a registry, whatever the program declares, the state
    lacks and the cloud has. Refusal for one that nobody declares; one that the cloud has not is an error of the run.
    """
    request = session.request
    claiming = replace(session, request=replace(request, targets=(), claims=request.targets))
    planned = claiming.engine().preview() if request.targets else None
    if planned:
        insist_found(session.place.root, planned, request.targets)
    config = stack_file(request.stack).config
    with kept(config, session, Verb.ADOPT) as entry, interruptible(request.stack, "adopt"), watch as listener:
        run = claiming.engine().adopt(listener, planned=planned)
        absent = _absent(planned, run, request.targets) if planned else ()
        return entry.ran(replace(run, diagnostics=(*run.diagnostics, *absent)))


def _absent(planned: Plan, run: Plan, claims: Iterable[str]) -> Iterator[Diagnostic]:
    """What was claimed and is not in the cloud."""
    taken, wanted = {step.urn for step in run.steps}, urns.Patterns(claims)
    for step in planned.steps:
        if step.op is Op.CREATE and step.urn in wanted and step.urn not in taken:
            said = "not taken over: the cloud has none as it is declared, or its id is Google's own"
            yield Diagnostic(severity="error", message=said, urn=step.urn)


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
