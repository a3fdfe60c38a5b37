"""Letting a stack's state go of what it has, while the cloud keeps it; and what a person should know before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from infra.fleet.google import GoogleError
from infra.fleet.history import Verb
from infra.model.errors import ConfigError, meant
from infra.model.plan import Plan
from infra.model.planned_capacity import VM_TYPE
from infra.operations.declared.stack_file import stack_file
from infra.operations.declared.targets import insist_found
from infra.operations.errors import Refusal
from infra.operations.fleet.looks import Fleet, declared_place
from infra.operations.ports import UNWATCHED, Tone, Watch
from infra.operations.session import Session, interruptible
from infra.operations.stacks.history import kept


def preview_forget(session: Session) -> Plan:
    """What the state would let go of: the targets, and all that needs them. Refusal where one is nowhere."""
    plan = session.engine().forget(planning=True)
    if plan.steps:
        insist_found(session.place.root, plan, session.request.targets)
        return plan
    there = sorted({step.name for step in session.engine(targets=("**",)).forget(planning=True).steps})
    asked = [each.rpartition("::")[2] for each in session.request.targets]
    said = ", ".join(dict.fromkeys(asked))
    raise Refusal(f"the state of {plan.stack} has nothing named {said}.{meant(asked[0], there)}")


def forget(session: Session, watch: Watch = UNWATCHED) -> Plan:
    """Let the state go of what `preview_forget` has shown. Its history is where the stack file says, if it says it."""
    stack = session.request.stack
    with ExitStack() as stacked:
        try:
            entry = stacked.enter_context(kept(stack_file(stack).config, session, Verb.FORGET))
        except ConfigError:
            session.say(f"warning: no file of {stack} says where its history is; this is not in it", Tone.WARNING)
            entry = None
        stacked.enter_context(interruptible(stack, "forget"))
        run = session.engine().forget(stacked.enter_context(watch))
        return entry.ran(run) if entry else run


def warnings(session: Session, plan: Plan) -> Iterator[str]:
    """What is protected, and VMs that run jobs or of which nobody knows it: somebody is asked about these."""
    if protected := sorted(step.name for step in plan.steps if step.protect):
        yield f"protected from deletion while the state has it: {', '.join(protected)}"
    vms = sorted(step.name for step in plan.steps if step.type == VM_TYPE)
    if not vms:
        return
    try:
        config = stack_file(session.request.stack).config
        scene = Fleet(config=config, session=session, place=declared_place(config, session.endpoint)).look()
    except (ConfigError, GoogleError) as error:
        yield f"not known whether jobs run on {', '.join(vms)}: {error}"
        return
    observed = scene.observed
    if observed is None:
        yield f"not known whether jobs run on {', '.join(vms)}: {'; '.join(scene.problems)}"
    elif busy := [vm for vm in vms if any(runner.busy for runner in observed.runners_of(vm))]:
        yield f"jobs run on {', '.join(busy)}"


def afterwards(plan: Plan) -> Iterator[str]:
    """What becomes of what the cloud has still."""
    yield f"next: ./tidepool preview {plan.stack} says what an up adopts or makes again of it while it is declared"
    if any(step.type == VM_TYPE for step in plan.steps):
        yield "a VM that leaves the stack file too is deleted by the controller for its labels: take off tidepool-stack"
