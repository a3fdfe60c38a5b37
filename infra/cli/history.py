"""`./tidepool history` and `diff`: what was applied to a stack, by whom, and what differs between two applies."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.text import Text

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.cli.echo import echo
from infra.model.plan import Op
from infra.operations.stacks import history
from infra.operations.stacks.stack_file import stack_file
from infra.operations.workspace import workspace
from infra.preview import text
from infra.preview.plan_lines import SIGNS
from infra.preview.run_lines import WORDS
from infra.preview.words import ago, short_type

_STYLES = {history.Result.DONE: "green", history.Result.FAILED: "bold red"}


@click.command()
@options.stack_argument
@click.argument("entry", metavar="[ENTRY]", required=False)
@click.option(
    "--most", type=click.IntRange(1), default=history.DEFAULT_MOST, show_default=True, help="How many to list."
)
@options.each(options.cloud_option, options.json_option)
@called
def history_command(call: Invocation, *, entry: str | None, most: int) -> None:
    """Say what was applied to STACK, newest first: when, by whom, from which commit, what came of it, and what the
    stack file said otherwise than the time before. With ENTRY, the start of an id, each resource that it changed.

    `up` and `destroy` keep this in the fleet bucket, with either engine. A plain `pulumi up` does not.
    """
    config, session, root = stack_file(call.stack).config, call.cloud_session(), workspace().root
    entries = history.every_entry(config, session) if entry else history.history(config, session, most + 1)
    found = history.told(root, entries)
    if entry:
        one = history.entry_of(entries, entry)
        shown = [each for each in found if each.applied.id == one.id]
    else:
        shown = list(found[:most])
    call.end({"stack": call.stack, "entries": [each.to_json() for each in shown]})
    for each in () if call.as_json else shown:
        call.say(*_lines(each), *(_changes(each.applied) if entry else ()))
    if not shown:
        call.say(f"nothing was applied to {call.stack} yet; `./tidepool up {call.stack}` begins its history")


@click.command()
@options.stack_argument
@click.argument("before", metavar="[BEFORE]", required=False)
@click.argument("after", metavar="[AFTER]", required=False)
@options.each(options.cloud_option, options.json_option)
@called
def diff_command(call: Invocation, *, before: str | None, after: str | None) -> None:
    """Say what differs between two applies of STACK, as explain says what an edit means: between BEFORE and AFTER,
    entries of its history by the start of their ids; from BEFORE to the stack file as it is, without AFTER; and from
    the last apply, without both.
    """
    entries = history.every_entry(stack_file(call.stack).config, call.cloud_session())
    one, other = history.pair(entries, before, after)
    meaning = history.between(workspace().root, one, other)
    whole = {"before": one.id, "after": other.id if other else None, **meaning.to_json()}
    call.end(whole)
    if not call.as_json:
        call.say(f"from {one.id}, by {one.by}, to {other.id if other else 'the stack file as it is'}", style="dim")
        echo(text.render(meaning))


def _lines(told: history.Told) -> Iterator[Text]:
    one = told.applied
    where = f"commit {one.commit[:12]}{' and edits' if one.edited else ''}" if one.commit else "no commit"
    yield Text.assemble((one.id, "bold"), f"  {ago(one.began, history.now())}, by {one.by}, {where}")
    done = ", ".join(f"{count} {WORDS[Op(op)][1]}" for op, count in one.summary.items() if op != Op.SAME)
    took = f" in {(one.ended - one.began).seconds} s" if one.ended else ""
    result = "" if one.result is history.Result.DONE else f" {one.result.value}"
    yield Text.assemble(
        "  ", (f"{one.verb.value}{result}", _STYLES.get(one.result, "yellow")), f": {done or 'nothing changed'}{took}"
    )
    yield from (Text(f"    {line}") for line in told.edit or ())


def _changes(one: history.Applied) -> Iterator[Text]:
    for each in one.changes:
        paths = f": {', '.join(each.paths)}" if each.paths and each.op is not Op.CREATE else ""
        yield Text(f"    {SIGNS[each.op]} {each.name} ({short_type(each.type)}){paths}, {each.status.value}")
