"""`./tidepool preview STACK`: what `up` would do, in resources and in capacity."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import click

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.documents import plan_document
from infra.cli.echo import echo
from infra.cli.failures import FAILED
from infra.cli.options import Form
from infra.cli.render.console import machines, people
from infra.cli.render.findings import findings_document, grants_document, show_findings, show_grants
from infra.cli.render.planned import show_planned
from infra.cli.render.teller import ConsoleTeller
from infra.model.errors import ConfigError
from infra.model.fleet import capacity
from infra.operations.errors import EngineError
from infra.operations.ports import CloudName, EngineName
from infra.operations.session import open_session
from infra.operations.stacks.declared import declared
from infra.operations.stacks.explain import explain_working_tree
from infra.operations.stacks.findings import recorded
from infra.operations.stacks.grants import policies_of
from infra.operations.stacks.preview import judged, preview
from infra.preview.comment import Preview, comment
from infra.preview.meaning import Meaning


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
    seen = None
    with telling_failures(stack, form, base, facts) as meaning:
        wanted = declared(stack)
        if source:
            planned = judged(recorded(source, stack), wanted, whole=not targets)
            show_planned(console, planned)
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
            planned = preview(session, wanted)
            show_planned(console, planned)
            if refresh:
                seen = policies_of(wanted.config, session.endpoint)
                show_grants(console, seen)
    show_findings(console, planned.findings)
    code = FAILED if planned.stopped else 0
    if form is Form.JSON:
        document = plan_document(planned.plan, capacity(wanted.config), planned.phases)
        granted = grants_document(seen) if seen else {}
        machines(document | findings_document(planned.findings) | granted | {"exit": code})
    elif form is Form.MARKDOWN:
        echo(comment(Preview(stack=stack, plan=planned.plan, meaning=meaning, findings=planned.findings)))
    ctx.exit(code)


@contextmanager
def telling_failures(stack: str, form: Form, base: str | None, facts: Path | None) -> Generator[Meaning | None]:
    """Gives the meaning of the edit where a comment is asked for; the comment then says, too, why there is no plan."""
    meaning = None
    try:
        meaning = explain_working_tree(stack, base, facts) if form is Form.MARKDOWN else None
        yield meaning
    except (ConfigError, EngineError) as error:
        if form is Form.MARKDOWN:
            # A mistake in the stack file is one of the meaning's findings.
            known = meaning is not None and isinstance(error, ConfigError)
            echo(comment(Preview(stack=stack, meaning=meaning, failure="" if known else str(error))))
        raise
