"""`./tidepool destroy STACK`: delete all that a stack has made, after asking."""

from __future__ import annotations

import click

from infra.cli import options
from infra.cli.asking import ask
from infra.cli.documents import run_document
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people
from infra.cli.render.outcome import show_outcome
from infra.cli.render.plan import show_plan
from infra.cli.render.progress import Progress
from infra.cli.render.teller import ConsoleTeller
from infra.operations.ports import CloudName, EngineName
from infra.operations.session import open_session
from infra.operations.stacks.destroy import destroy, preview_destroy


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
    plan = preview_destroy(session, exclude_protected=exclude_protected)
    show_plan(console, plan)
    if plan.failed:
        if not exclude_protected and any("is protected" in (step.error or "") for step in plan.steps):
            session.say("Nothing was deleted: --exclude-protected deletes all that is not protected.")
        if as_json:
            machines(run_document(plan, seconds=0.0, code=FAILED))
        ctx.exit(FAILED)
    extent = f"everything of {stack}" + (" that is not protected" if exclude_protected else "")
    what = f"{len(targets)} targets of {stack}" if targets else extent
    ask(f"Deleting {what} on {session.choice.cloud_name}", yes=yes)
    progress = Progress(console)
    run = destroy(session, plan, progress, drains=not no_drain, exclude_protected=exclude_protected)
    show_outcome(console, run, progress.seconds)
    code = FAILED if run.failed else 0
    if as_json:
        machines(run_document(run, seconds=progress.seconds, code=code))
    ctx.exit(code)
