"""`./tidepool history` and `diff`: what was applied to a stack, by whom, and what differs between two applies."""

from __future__ import annotations

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.cli.render import console as consoles
from infra.operations.declared import stack_file
from infra.operations.ports import HISTORY_SHOWN
from infra.operations.stacks import history, history_words
from infra.operations.workspace import workspace
from infra.preview import edit_document
from infra.preview.toned import Tone


@click.command()
@options.stack_argument
@click.argument("entry", metavar="[ENTRY]", required=False)
@click.option("--most", type=click.IntRange(1), default=HISTORY_SHOWN, show_default=True, help="How many to list.")
@options.each(options.cloud_option, options.json_option)
@called
def history_command(call: Invocation, *, entry: str | None, most: int) -> None:
    """Say what was applied to STACK or written into its state, newest first: when, by whom, from which commit, what
    came of it, and what the stack file said otherwise than the time before. With ENTRY, the start of an id, each
    resource.

    `up`, `destroy`, `adopt` and `forget` keep this in the fleet bucket, with either engine. A plain `pulumi up` does
    not.
    """
    config, session, root = stack_file.stack_file(call.stack).config, call.cloud_session(), workspace().root
    if entry:
        entries = history.every_entry(config, session)
        one = history.entry_of(entries, entry)
        shown = [each for each in history.told(root, entries) if each.applied.id == one.id]
    else:
        shown = list(history.recent(root, config, session, most))
    call.end({"stack": call.stack, "entries": [each.to_json() for each in shown]})
    now = session.clock()
    for each in () if call.as_json else shown:
        call.say(*history_words.told_lines(each, now), *(history_words.change_lines(each.applied) if entry else ()))
    if not shown:
        call.say(f"nothing was applied to {call.stack} yet; `./tidepool up {call.stack}` begins its history")


@click.command()
@options.stack_argument
@click.argument("before", metavar="[BEFORE]", required=False)
@click.argument("after", metavar="[AFTER]", required=False)
@options.each(options.cloud_option, options.json_option)
@called
def diff_command(call: Invocation, *, before: str | None, after: str | None) -> None:
    """Compare two applies of STACK, as explain does for an edit: BEFORE and AFTER are entries of its history, by the
    start of their ids. Without AFTER, compares BEFORE with the stack file as it is. Without both, compares the last
    complete apply, and lists what later applies left undone.
    """
    session = call.cloud_session()
    entries = history.every_entry(stack_file.stack_file(call.stack).config, session)
    one, other = history.pair(entries, before, after)
    meaning = history.between(workspace().root, one, other, session.clock())
    unsettled = () if before else history.unsettled_since(entries, one)
    whole = {
        "before": one.id,
        "after": other.id if other else None,
        "unsettled": [history_words.without_done(each).to_json() for each in unsettled],
        **meaning.to_json(),
    }
    call.end(whole)
    if not call.as_json:
        call.say(f"from {one.id}, by {one.by}, to {other.id if other else 'the stack file as it is'}", tone=Tone.QUIET)
        if meaning.changed or not unsettled:
            consoles.show(call.console, edit_document.document(meaning))
        call.say(*history_words.unsettled_lines(unsettled, call.stack))
