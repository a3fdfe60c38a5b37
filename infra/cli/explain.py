"""`./tidepool explain STACK`: what an edit of a stack file means, from its two versions alone."""

from __future__ import annotations

from pathlib import Path

import click

from infra.cli import options
from infra.cli.echo import echo
from infra.cli.failures import FAILED, WANTS_JSON
from infra.cli.render.console import machines
from infra.operations.errors import Refusal
from infra.operations.stacks.explain import explain_edit
from infra.operations.stacks.facts import read_facts
from infra.preview import markdown, text


@click.command(name="explain", short_help="Say what an edit of a stack file means.")
@options.stack_argument
@click.option("--base", metavar="REF|FILE", default="HEAD", show_default=True, help="The version before.")
@click.option("--head", metavar="REF|FILE", help="The version after; the working tree where not given.")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="For a terminal, for a pull request, or for a program.",
)
@click.option(
    "--facts",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A JSON file of what other rooms know: busy runners, stale files, labels used, window hours.",
)
@options.json_option
@click.pass_context
def command(
    ctx: click.Context, *, stack: str, base: str, head: str | None, shape: str, facts: Path | None, as_json: bool
) -> None:
    """Say what an edit means: capacity, chips against limits, money, risks, order, what is stale, what breaks a rule.

    Reads two versions of one YAML file and what workflows ask of the fleet: no cloud, no credentials, no code of either
    version. A version is a git reference or a file; the stack may be missing in one of them.

    Exit code 0 when nothing holds the edit, 1 when a finding does, 2 when a version cannot be read.
    """
    if as_json:
        shape = "json"
    ctx.meta[WANTS_JSON] = shape == "json"
    meaning = explain_edit(stack, base, head, read_facts(facts))
    if meaning is None:
        raise Refusal(f"there is no stack named {stack}, neither in {base} nor in {head or 'the working tree'}")
    code = FAILED if meaning.stops else 0
    if shape == "json":
        machines(meaning.to_json() | {"exit": code})
    elif shape == "markdown":
        echo(markdown.render(meaning))
    else:
        echo(text.render(meaning))
    ctx.exit(code)
