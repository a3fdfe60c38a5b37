"""`./tidepool destroy STACK`: delete all that a stack has made, after asking."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import click

from infra.cli import options
from infra.cli.asking import ask
from infra.cli.documents import run_document
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say
from infra.cli.render.outcome import outcome
from infra.cli.render.plan import describe
from infra.cli.render.progress import Progress
from infra.cli.render.teller import ConsoleTeller
from infra.engines.protocol import CloudName, EngineName
from infra.fleet.controller.lease import Kind
from infra.fleet.google import GoogleError
from infra.fleet.withdraw import declare_again, withdraw
from infra.model import names
from infra.model.errors import ConfigError
from infra.model.partial import partial_stack
from infra.model.plan import Op, Plan
from infra.model.planned_capacity import VM_TYPE
from infra.model.schema import StackConfig
from infra.model.stack import load_stack
from infra.operations.errors import Failure
from infra.operations.fleet.drained import drained_before
from infra.operations.fleet.looks import Fleet
from infra.operations.fleet.place import declared_place
from infra.operations.leased import leased
from infra.operations.session import Session, interruptible, open_session
from infra.operations.stacks.stack_file import stack_file


@click.command(name="destroy", short_help="Delete all that a stack has made.")
@options.stack_argument
@options.place_options
@options.work_options
@click.option("--no-drain", is_flag=True, help="Delete VMs at once, and cut off the jobs that they run.")
@click.option("--exclude-protected", is_flag=True, help="Leave protected resources and what they need.")
@options.yes_option
@options.json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    stack: str,
    engine: EngineName | None,
    cloud: CloudName | None,
    targets: tuple[str, ...],
    parallel: int,
    no_drain: bool,
    exclude_protected: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete all that a stack has made: show what goes, ask on every cloud, drain the VMs, and delete.

    Registries, secrets and the fleet bucket are protected: while the state has them, nothing is deleted at all, and
    nothing asked, unless --exclude-protected leaves them or --target names what shall go. What VMs run is waited for;
    if it runs on after the stack's `job_minutes`, nothing is deleted.
    """
    console = people(as_json=as_json)
    session = open_session(
        stack, engine=engine, cloud=cloud, teller=ConsoleTeller(console), parallel=parallel, targets=targets
    )
    work = session.engine(continue_on_error=True, exclude_protected=exclude_protected)
    plan = work.preview_destroy()
    for line in describe(plan, console.width):
        say(console, line)
    if plan.failed:
        if not exclude_protected and any("is protected" in (step.error or "") for step in plan.steps):
            session.say("Nothing was deleted: --exclude-protected deletes all that is not protected.")
        if as_json:
            machines(run_document(plan, seconds=0.0, code=FAILED))
        ctx.exit(FAILED)
    extent = f"everything of {stack}" + (" that is not protected" if exclude_protected else "")
    what = f"{len(targets)} targets of {stack}" if targets else extent
    ask(f"Deleting {what} on {session.choice.cloud_name}", yes=yes)
    records = _records_of(session, plan)
    # The bucket stays, and from a manifest that stays in it the controller would make every VM again.
    withdraws = exclude_protected and not targets
    with (
        nullcontext() if no_drain else _drained(session, plan),
        leased(records, session, Kind.DESTROY) if records else nullcontext(),
        _withdrawn(records, session) if records and withdraws else nullcontext(),
        interruptible(stack, "destroy"),
        Progress(console) as progress,
    ):
        run = work.destroy(progress)
        seconds = progress.seconds
    for line in outcome(run, seconds):
        say(console, line)
    code = FAILED if run.failed else 0
    if as_json:
        machines(run_document(run, seconds=seconds, code=code))
    ctx.exit(code)


def _config(session: Session) -> StackConfig | None:
    """What the stack file says; None where it is wrong, for what it made once can be deleted all the same."""
    try:
        return load_stack(session.request.root, session.request.stack, alone=True)
    except ConfigError:
        return None


def _records_of(session: Session, plan: Plan) -> StackConfig | None:
    """A stack file that says where the fleet's records are, though it may say nothing else; None where none are.

    What is wrong in the file is taken from its last commit, or else from what goes.
    """
    try:
        return stack_file(session.request.stack).config
    except ConfigError:
        pass
    inputs = {step.name: step.old_inputs or {} for step in plan.steps}
    bucket = inputs.get(names.manifest_object(session.request.stack), {}).get("bucket")
    projects = {step.old_inputs["project"] for step in plan.steps if step.old_inputs and "project" in step.old_inputs}
    if bucket and len(projects) == 1:
        (project,) = projects
        return partial_stack(
            {"stack": session.request.stack, "project": project, "bucket": {"name": bucket, "location": "us"}}
        )
    if any(step.type == VM_TYPE for step in plan.steps):
        raise Failure(
            f"nothing was deleted: stacks/Pulumi.{session.request.stack}.yaml is wrong, and nothing else says where "
            "the fleet's records are, from which the controller would make its VMs again: mend it"
        )
    return None


def _drained(session: Session, plan: Plan) -> AbstractContextManager[None]:
    vms = sorted(step.name for step in plan.steps if step.type == VM_TYPE and step.op is Op.DELETE)
    if not vms:
        return nullcontext()
    config = _config(session)
    if config is None:
        file = f"stacks/Pulumi.{session.request.stack}.yaml"
        raise Failure(
            f"nothing was deleted: {file} is wrong, so that its VMs cannot be drained: mend it, or say --no-drain, "
            "which cuts off what they run"
        )
    place = declared_place(config, session.endpoint)
    return drained_before(Fleet(config=config, session=session, place=place), vms, "destroy")


@contextmanager
def _withdrawn(config: StackConfig, session: Session) -> Generator[None]:
    """The manifest without VMs, for as long as the block lasts; one that then still stands declares them again."""
    try:
        before = withdraw(config, session.endpoint)
    except GoogleError as error:
        raise Failure(f"nothing was deleted: the manifest could not be emptied: {error}") from None
    try:
        yield
    finally:
        if before is not None:
            try:
                if declare_again(config, session.endpoint, before):
                    session.say("the manifest stays, and declares again what it did: not everything was deleted")
            except GoogleError as error:
                again = f"`./tidepool up {config.stack}` writes it again"
                session.say(f"problem: the manifest stays, and declares no VM: {error}; {again}")
