"""`./tidepool up STACK`: plan, apply, and show how the pools stand."""

from __future__ import annotations

import click

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.documents import plan_document, run_document
from infra.cli.failures import FAILED
from infra.cli.render.aftermath import show_aftermath
from infra.cli.render.console import machines, people
from infra.cli.render.findings import findings_document, show_findings
from infra.cli.render.outcome import show_outcome
from infra.cli.render.planned import show_planned
from infra.cli.render.progress import Progress
from infra.cli.render.teller import ConsoleTeller
from infra.model.fleet import capacity
from infra.model.outcome import outcomes
from infra.operations.ports import CloudName, EngineName
from infra.operations.session import open_session
from infra.operations.stacks.aftermath import look_after
from infra.operations.stacks.apply import apply, plan_apply
from infra.operations.stacks.declared import declared


@click.command(name="up", short_help="Make the cloud as the stack file says.")
@options.stack_argument
@options.place_options
@options.refresh_option
@options.work_options
@click.option("--no-drain", is_flag=True, help="Delete and replace VMs at once, and cut off the jobs that they run.")
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
    no_drain: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Make the cloud as the stack file says: show the plan, apply it, and show how every pool stands. The manifest
    and the start-up bundle are its first resources, so that the fleet bucket has them also when a part failed; where
    VMs come and others go, the manifest declares both until the others do.

    What is new is made first, and waited for until it serves. Then VMs that go or are made again take no more jobs, and
    what they run is waited for; if it runs on after the stack's `job_minutes`, they stay. Where a reservation or a
    quota has no room for both, the VMs that give chips back go before, under the same confirmation (docs/phases.md).
    One pool's failure keeps no other from being applied; the next run does only what is missing.

    The local cloud is started where it does not run, and left running. On Google Cloud the plan is asked about first.
    Exit code 0 when all is done, 1 when something failed or a rule stops it (docs/rules.md), 2 when the stack file is
    invalid and nothing was changed.
    """
    wanted = declared(stack)
    console = people(as_json=as_json)
    session = open_session(
        stack,
        engine=engine,
        cloud=cloud,
        teller=ConsoleTeller(console),
        parallel=parallel,
        targets=targets,
        refresh=refresh,
    )
    planned = plan_apply(session, wanted, drains=not no_drain)
    show_planned(console, planned)
    show_findings(console, planned.findings)
    rows, found = capacity(wanted.config), findings_document(planned.findings)
    if planned.stopped:
        if as_json:
            machines(plan_document(planned.plan, rows, planned.phases) | found | {"exit": FAILED})
        elif planned.findings:
            session.say("nothing was changed: what stops above is mended first, or excepted in the stack file")
        ctx.exit(FAILED)
    ask_before_google(f"Applying this plan for {stack}", session.cloud, yes=yes)
    progress = Progress(console, total=planned.changes, heard=planned.plan.diagnostics)
    run = apply(session, planned, progress, drains=not no_drain)
    show_outcome(console, run, progress.seconds)
    after = look_after(wanted.config, run, session.endpoint)
    show_aftermath(console, after)
    code = FAILED if run.failed or after.problems else 0
    if as_json:
        document = run_document(run, rows, planned.phases, seconds=progress.seconds, code=code) | found
        machines(document | {"outcomes": [each.to_json() for each in outcomes(run)]} | after.to_json())
    ctx.exit(code)
