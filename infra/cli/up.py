"""`./tidepool up STACK`: plan, apply, publish the desired fleet, and show how the pools stand."""

from __future__ import annotations

import click

from infra.cli import options
from infra.cli.aftermath import look_after
from infra.cli.documents import plan_document, run_document
from infra.cli.failures import FAILED, Failure
from infra.cli.render.console import machines, people
from infra.cli.render.outcome import outcome
from infra.cli.render.plan import UNCHANGING, describe
from infra.cli.render.progress import Progress
from infra.cli.session import Session, declared, interruptible, open_session
from infra.engines.care import safe_to_continue
from infra.engines.protocol import CloudName, EngineName
from infra.model.plan import Plan


@click.command(name="up", short_help="Make the cloud as the stack file says.")
@options.stack_argument
@options.place_options
@options.refresh_option
@options.work_options
@options.yes_option
@options.json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    stack: str,
    engine: EngineName | None,
    cloud: CloudName | None,
    refresh: bool,
    targets: tuple[str, ...],
    parallel: int,
    yes: bool,
    as_json: bool,
) -> None:
    """Make the cloud as the stack file says: show the plan, apply it, publish the desired fleet to the fleet bucket
    (also when a part failed), and show how every pool stands.

    The local cloud is started where it does not run, and left running. On Google Cloud the plan is asked about first.
    Exit code 0 when all is done, 1 when something failed, 2 when the stack file is invalid and nothing was changed.
    """
    wanted = declared(stack)
    session = open_session(
        stack,
        engine=engine,
        cloud=cloud,
        console=people(as_json=as_json),
        parallel=parallel,
        targets=targets,
        refresh=refresh,
    )
    plan = session.engine().preview()
    for line in describe(plan, session.console.width):
        session.say(line)
    if plan.failed:
        if as_json:
            machines(plan_document(plan) | {"exit": FAILED})
        ctx.exit(FAILED)
    session.ask_before_google(f"Applying this plan for {stack}", yes=yes)
    if declared(stack) != wanted:
        raise Failure(f"the file of {stack} was edited while its plan was shown; nothing was changed, run up again")
    run, seconds = apply(session, plan)
    for line in outcome(run, seconds):
        session.say(line)
    after = look_after(wanted, session.endpoint)
    after.show(session)
    code = FAILED if run.failed or after.problems else 0
    if as_json:
        machines(run_document(run, seconds=seconds, code=code) | after.to_json())
    ctx.exit(code)


def apply(session: Session, plan: Plan) -> tuple[Plan, float]:
    """Apply the plan with live progress; what was done, and in how many seconds of wall time."""
    changes = sum(step.op not in UNCHANGING for step in plan.steps)
    working = session.engine(continue_on_error=safe_to_continue(plan))
    progress = Progress(session.console, total=changes, heard=plan.diagnostics)
    with interruptible(session.request.stack, "up"), progress:
        run = working.up(progress, planned=plan)
        return run, progress.seconds
