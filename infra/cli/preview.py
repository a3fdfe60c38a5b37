"""`./tidepool preview`, `explain`, `config`, `validate`, `schema`: what `up` would do, what an edit means, what a stack
file says, may say, and says wrong."""

from __future__ import annotations

import json
import shlex
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.cli.echo import answer, echo
from infra.cli.failures import REFUSED
from infra.cli.options import Form
from infra.cli.render import console as consoles
from infra.cli.render import stacks as rendered
from infra.model import json_shape, stack_schema
from infra.model.errors import ConfigError
from infra.operations.declared import configured, stack_file
from infra.operations.errors import EngineError
from infra.operations.fleet import pools
from infra.operations.stacks import calendar as calendars
from infra.operations.stacks import explain, findings, saved, stack_words, validate
from infra.operations.stacks import preview as previews
from infra.preview import calendar as calendar_words
from infra.preview import comment as comments
from infra.preview import edit_document, markdown, plan_lines
from infra.preview import meaning as meanings
from infra.preview.toned import Tone


@click.command()
@options.stack_argument
@click.option(
    "--from", "source", metavar="FILE", type=options.A_FILE_THERE,
    help="Ask no engine: read what `pulumi preview --json --show-sames` has printed.",
)  # fmt: skip
@click.option("--base", metavar="REF|FILE", help="With markdown: the stack file's version before.  [default: HEAD]")
@click.option("--facts", type=options.A_FILE, help="With markdown: a JSON file of facts, as for explain.")
@click.option("--save", type=options.A_FILE, help="Write the plan to FILE, for `up --plan FILE`.")
@options.each(options.place_options, options.refresh_option, options.work_options, options.yes_option)
@options.format_options
@called
def preview_command(
    call: Invocation, *, source: Path | None, base: str | None, facts: Path | None, save: Path | None
) -> int:
    """Say what up would change, resource by resource and in VMs and chips. Nothing is changed. With --refresh also
    which grants stand in policies of registries, buckets, accounts and secrets that no stack declares.

    Exit code 0 when the plan could be made, 1 when it could not or a rule would stop it (docs/rules.md), 2 when the
    stack file is invalid.
    """
    granted = {}
    with _telling_failures(call, base, facts) as meaning:
        wanted = stack_file.declared(call.stack)
        if source:
            planned = previews.judged(findings.recorded(source, call.stack), wanted, call.now(), whole=not call.targets)
            rendered.show_planned(call.console, planned, call.detail)
        else:
            session = call.session()
            if call.refresh:
                call.ask_before_google(f"Reading every resource of {call.stack}", session.cloud)
            planned = previews.preview(session, wanted)
            rendered.show_planned(call.console, planned, call.detail)
            if call.refresh:
                seen = pools.policies_of(wanted.config, session.endpoint)
                call.say(*stack_words.grants_shown(seen))
                granted = {"grants": json_shape.plain(seen)}
    call.say(*plan_lines.describe_findings(planned.findings))
    if save is not None:
        saved.save(planned, save)
    if planned.changes and not (planned.stopped or call.quiet):
        saved_as = f" --plan {shlex.quote(str(save))}" if save else ""
        call.say(f"next: ./tidepool up {call.stack}{call.same}{saved_as}", tone=Tone.QUIET)
    if call.form is Form.MARKDOWN:
        echo(
            comments.comment(
                comments.Preview(stack=call.stack, plan=planned.plan, meaning=meaning, findings=planned.findings)
            )
        )
    return call.end(planned, failed=planned.stopped, **granted)


@contextmanager
def _telling_failures(call: Invocation, base: str | None, facts: Path | None) -> Generator[meanings.Meaning | None]:
    """Gives the meaning of the edit where a comment is asked for; the comment then says, too, why there is no plan."""
    meaning = None
    try:
        if call.form is Form.MARKDOWN:
            meaning = explain.explain_working_tree(call.stack, base, explain.read_facts(facts, call.now()))
        yield meaning
    except (ConfigError, EngineError) as error:
        if call.form is Form.MARKDOWN:
            # A mistake in the stack file is one of the meaning's findings.
            known = meaning is not None and isinstance(error, ConfigError)
            echo(
                comments.comment(
                    comments.Preview(stack=call.stack, meaning=meaning, failure="" if known else str(error))
                )
            )
        raise


@click.command()
@options.stack_argument
@click.option("--base", metavar="REF|FILE", default="HEAD", show_default=True, help="The version before.")
@click.option("--head", metavar="REF|FILE", help="The version after; the working tree where not given.")
@click.option("--facts", type=options.A_FILE, help="A JSON file: busy runners, stale files, labels used, window hours.")
@click.option("--all", "detail", flag_value="every", help="Also show limits, prices and sources.")
@options.format_options
@called
def explain_command(call: Invocation, *, base: str, head: str | None, facts: Path | None) -> int:
    """Explain an edit: capacity, cost, risks, order and findings.

    Reads two versions of one YAML file and what workflows ask of the fleet: no cloud, no credentials, no code of either
    version. A version is a git reference or a file; the stack may be missing in one of them. The output names both
    versions.

    Exit code 0 when nothing holds the edit, 1 when a finding does, 2 when a version cannot be read.
    """
    meaning = explain.explain_edit(call.stack, base, head, explain.read_facts(facts, call.now()))
    if meaning is None:
        raise explain.nowhere(call.stack, base, head)
    if call.form is not Form.JSON:
        document = edit_document.document(meaning)
        if call.form is Form.MARKDOWN:
            echo(markdown.render(document))
        else:
            consoles.show(call.console, document, every=call.detail == "every")
    return call.end(meaning, failed=meaning.stops)


@click.command()
@options.stacks_argument
@click.option("--from", "day", type=click.DateTime(["%Y-%m-%d"]), help="The first day, in UTC.  [default: today]")
@click.option("--svg", type=options.A_FILE, help="Also draw it into this file: chips by the hour, limits, dollars.")
@options.json_option
@called
def calendar_command(call: Invocation, *, stacks: tuple[str, ...], day: datetime | None, svg: Path | None) -> int:
    """Show the next seven days of STACK, of all stacks where none is named: which VMs stand when, by the windows of
    pools (docs/nightly.md), chips against limits, and dollars by list prices. Times are UTC. No cloud is asked.
    """
    week = calendars.calendar(stacks, (day or call.now()).date())
    if svg:
        svg.write_text(calendars.calendar_picture(week), encoding="utf-8")
    return call.end(week, *calendar_words.lines(week, call.console.width))


@click.command()
@options.stack_argument
@click.argument("path", default="")
@options.json_option
@called
def config_command(call: Invocation, *, path: str) -> None:
    """Print what the stack file has at PATH, as `pulumi config get --path` does, or all of it without one.

    \b
      ./tidepool config ci gcp:project
      ./tidepool config ci tidepool:controller.region
    """
    value = configured.configured(call.stack, path)
    lines = (("", value),) if path else ((f"{key}: ", each) for key, each in value.items())
    told = (f"{prefix}{each if isinstance(each, str) else json.dumps(each)}" for prefix, each in lines)
    answer(call.as_json, {"stack": call.stack, "path": path, "value": value}, *told)


@click.command()
@options.stacks_argument
@options.json_option
@called
def validate_command(call: Invocation, *, stacks: tuple[str, ...]) -> int:
    """Say every mistake in the files of STACKs, of all where none is named; a STACK may be the path of its file.

    Nothing but the files is read, so that a hook before each commit can afford it. Exit code 0 when they are right, 2
    when one is not.
    """
    found = validate.validate(stacks)
    code = REFUSED if found.problems else 0
    call.tell(found, exit=code)
    for line in () if call.as_json else found.lines:
        echo(line, err=bool(code))
    return code


@click.command()
def schema_command() -> None:
    """Print the JSON Schema of stack files, for editors. stacks/schema.json has it; docs/stack-file.md says more."""
    echo(stack_schema.schema_text(), nl=False)
