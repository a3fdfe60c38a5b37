"""`./tidepool preview STACK`: what `up` would do, in resources and in capacity."""

from __future__ import annotations

import click

from infra.cli import options
from infra.cli.documents import plan_document
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people
from infra.cli.render.phases import describe_phases
from infra.cli.render.plan import describe
from infra.cli.session import Declared, Session, declared, open_session
from infra.engines.phased import phases_of
from infra.engines.protocol import CloudName, EngineName
from infra.model.fleet import capacity
from infra.model.phases import Phases
from infra.model.plan import Plan


@click.command(name="preview", short_help="Say what up would change, and change nothing.")
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
    """Say what up would change, resource by resource and in VMs and chips. Nothing is changed.

    Exit code 0 when the plan could be made, 1 when it could not, 2 when the stack file is invalid.
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
    if refresh:
        session.ask_before_google(f"Reading every resource of {stack}", yes=yes)
    plan, order = planned(session, wanted)
    code = FAILED if plan.failed else 0
    if as_json:
        machines(plan_document(plan, capacity(wanted.config), order) | {"exit": code})
    ctx.exit(code)


def planned(session: Session, wanted: Declared) -> tuple[Plan, Phases | None]:
    """What `up` would do and in which phases, told on the way. No phases for targets or where no plan could be made."""
    plan = session.engine().preview()
    for line in describe(plan, session.console.width):
        session.say(line)
    if plan.failed or session.request.targets:
        return plan, None
    order = phases_of(plan, wanted.bounds)
    for line in describe_phases(order):
        session.say(line)
    return plan, order
