"""`./tidepool preview STACK`: what `up` would do, in resources and in capacity."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from infra.cli import grants, options
from infra.cli.asking import ask_before_google
from infra.cli.commented import print_comment, telling_failures
from infra.cli.documents import plan_document
from infra.cli.failures import FAILED
from infra.cli.judgement import findings_document, judged
from infra.cli.options import Form
from infra.cli.recorded import recorded
from infra.cli.render.console import machines, people, say
from infra.cli.render.phases import describe_phases
from infra.cli.render.plan import describe
from infra.cli.render.teller import ConsoleTeller
from infra.engines.away import Fallbacks, vms_away
from infra.engines.planned_phases import phases_of
from infra.engines.protocol import CloudName, EngineName
from infra.model.fleet import capacity
from infra.model.phases import Phases
from infra.model.plan import Plan
from infra.operations.fleet.grants import policies_of
from infra.operations.ports import Tone
from infra.operations.session import Session, open_session
from infra.operations.stacks.declared import Declared, declared
from infra.preview.comment import Preview
from infra.rules.book import stops


@click.command(name="preview", short_help="Say what up would change, and change nothing.")
@options.stack_argument
@click.option(
    "--from",
    "source",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Ask no engine: read what `pulumi preview --json --show-sames` has printed.",
)
@click.option("--base", metavar="REF|FILE", help="With markdown: the stack file's version before.  [default: HEAD]")
@click.option(
    "--facts",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With markdown: a JSON file of what other rooms know, as for explain.",
)
@options.place_options
@options.refresh_option
@options.work_options
@options.yes_option
@options.format_options
@click.pass_context
def command(
    ctx: click.Context,
    *,
    stack: str,
    source: Path | None,
    base: str | None,
    facts: Path | None,
    engine: EngineName | None,
    cloud: CloudName | None,
    refresh: bool,
    targets: tuple[str, ...],
    parallel: int,
    yes: bool,
    form: Form,
) -> None:
    """Say what up would change, resource by resource and in VMs and chips. Nothing is changed. With --refresh also
    which grants stand in policies of registries, buckets, accounts and secrets that no stack declares.

    Exit code 0 when the plan could be made, 1 when it could not or a rule would stop it (docs/rules.md), 2 when the
    stack file is invalid.
    """
    console = people(as_json=form is not Form.TEXT)
    granted: dict[str, Any] = {}
    with telling_failures(stack, form, base, facts) as meaning:
        wanted = declared(stack)
        if source:
            plan, order = told(recorded(source, stack), wanted, console, whole=not targets)
        else:
            session = open_session(
                stack,
                engine=engine,
                cloud=cloud,
                teller=ConsoleTeller(console),
                parallel=parallel,
                targets=targets,
                refresh=refresh,
            )
            if refresh:
                ask_before_google(f"Reading every resource of {stack}", session.cloud, yes=yes)
            plan, order = planned(session, wanted, console)
            if refresh:
                seen = policies_of(wanted.config, session.endpoint)
                granted = grants.document(seen)
                for line in grants.lines(seen):
                    say(console, line)
    found = judged(plan, wanted, console)
    code = FAILED if plan.failed or stops(found) else 0
    if form is Form.JSON:
        machines(
            plan_document(plan, capacity(wanted.config), order) | findings_document(found) | granted | {"exit": code}
        )
    elif form is Form.MARKDOWN:
        print_comment(Preview(stack=stack, plan=plan, meaning=meaning, findings=found))
    ctx.exit(code)


def planned(session: Session, wanted: Declared, console: Console) -> tuple[Plan, Phases | None]:
    """What `up` would do and in which phases, told on the way. No phases for targets or where no plan could be made."""
    plan = session.engine().preview()
    whole = not session.request.targets
    return told(plan, wanted, console, whole=whole, away=away_of(session, plan) if whole else None)


def away_of(session: Session, plan: Plan) -> Fallbacks:
    """The VMs that stand at fallbacks, where a plan moves any VM."""
    if plan.failed:
        return Fallbacks()
    return vms_away(session.request, plan, lambda said: session.say(said.message, Tone.WARNING))


def told(
    plan: Plan,
    wanted: Declared,
    console: Console,
    *,
    whole: bool,
    away: Fallbacks | None = None,
    at_once: bool = False,
) -> tuple[Plan, Phases | None]:
    """Tell a plan, and its phases where it is one of the whole stack. at_once: as for `infra.engines.phased.apply`."""
    for line in describe(plan, console.width):
        say(console, line)
    if plan.failed or not whole:
        return plan, None
    for line in _elsewhere(away) if away else ():
        say(console, line)
    order = phases_of(plan, wanted.bounds, away)
    order = order.at_once if at_once else order
    for line in describe_phases(order):
        say(console, line)
    return plan, order


def _elsewhere(away: Fallbacks) -> Iterator[str]:
    """VMs that stand where no plan shows them."""
    yield from (f"at a fallback: {vm}, where it is deleted" for vm in away.leaving)
    yield from (f"at a fallback: {vm}, where it is changed" for vm in away.changing)
    yield from (f"neither declared nor in the state: {vm}, whose chips count while it stands" for vm in away.strays)
