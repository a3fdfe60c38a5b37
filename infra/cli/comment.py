"""`./tidepool comment write` and `post`: from two versions of the stack files to the comment of a pull request.

Two commands, because two jobs run them: `write` reads what a stranger wrote and has no token, `post` has a token and
reads only what `write` left behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click

from infra.cli import options
from infra.cli.echo import echo
from infra.cli.failures import FAILED
from infra.cli.posting import full_commit, place_options, placed, posting, read_artifact
from infra.cli.render.console import machines, people
from infra.cli.render.findings import show_findings
from infra.github import artifact
from infra.operations.errors import Refusal
from infra.operations.stacks.comment import post_comment, write_comment
from infra.operations.stacks.facts import read_facts


def _plans(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> Mapping[str, Path]:
    """STACK=FILE, each stack once."""
    pairs = [value.partition("=") for value in values]
    if any(not (stack and file) for stack, _, file in pairs) or len({stack for stack, _, _ in pairs}) < len(pairs):
        raise click.BadParameter("write STACK=FILE, such as ci=plan.json, and each stack once")
    return {stack: Path(file) for stack, _, file in pairs}


@click.group(name="comment", short_help="Write and post the comment of a pull request.")
def command() -> None:
    """Write and post the comment of a pull request: in two steps, so that the one that reads a stranger's files has no
    token, and the one that has a token reads no stranger's files.
    """


@command.command()
@click.argument("stacks", metavar="[STACK]...", nargs=-1)
@click.option("--base", metavar="REF", required=True, help="The commit that the pull request is made against.")
@click.option("--head", metavar="REF", help="Its newest commit; the working tree where not given.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="Where the artifact goes.")
@click.option(
    "--facts",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A JSON file of what other rooms know, as for explain.",
)
@click.option(
    "--plan",
    "plans",
    metavar="STACK=FILE",
    multiple=True,
    callback=_plans,
    help="Show a stack's plan too: what `pulumi preview --json --show-sames` printed into FILE; may be repeated.",
)
@options.json_option
@click.pass_context
def write(
    ctx: click.Context,
    *,
    stacks: tuple[str, ...],
    base: str,
    head: str | None,
    out: Path,
    facts: Path | None,
    plans: Mapping[str, Path],
    as_json: bool,
) -> None:
    """Say what the edit from BASE to HEAD means to every STACK (all, where none is named), for `post` to show.

    Reads stack files and nothing else of either version, needs no credentials and talks to nobody. A plan is made
    beforehand, by a job that may read the cloud, and for branches of people who can push here alone.

    Exit code 0 when nothing holds the edit, 1 when a finding does or a stack file cannot be read; OUT is written in
    both cases. 2 when a version cannot be found.
    """
    if plans and head is not None:
        raise Refusal("--plan shows plans of the working tree; leave --head out")
    written = write_comment(stacks, base, head, read_facts(facts), plans)
    for each in written.previews:
        if each.plan is not None:
            show_findings(people(as_json=True), each.findings)
    made = written.artifact
    artifact.write(out, made)
    code = FAILED if written.holds else 0
    if as_json:
        names = [each.stack for each in written.previews]
        machines({"file": str(out), "stacks": names, "labels": list(made.labels), "exit": code})
    else:
        echo(made.markdown)
    ctx.exit(code)


@command.command()
@click.option(
    "--artifact",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="What `comment write` left behind; not believed.",
)
@click.option("--head", metavar="SHA", required=True, callback=full_commit, help="The commit it was made for, in full.")
@click.option("--planned", is_flag=True, help="It shows an engine's plan; the comment without one gives way to it.")
@place_options
@options.json_option
def post(*, path: Path, head: str, planned: bool, repository: str, api: str, as_json: bool) -> None:
    """Let the pull request of a commit have the comment and the labels of an artifact; edits what is there.

    The pull request is looked up by its head commit, which is to come from GitHub's own event and never from the
    artifact. A pull request that has moved on is left alone: a newer run speaks for it. The token is GITHUB_TOKEN.
    """
    made = read_artifact(path)
    with posting():
        done = post_comment(placed(repository=repository, api=api), made, head, planned=planned)
    posts = [{"pullRequest": each.pull, **asdict(each.posted), "labels": list(made.labels)} for each in done]
    if as_json:
        machines({"posts": posts, "exit": 0})
        return
    for each in posts:
        echo(f"pull request {each['pullRequest']}: comment {each['comment']} {each['outcome']}")
    if not posts:
        echo(f"no open pull request has {head} as its newest commit; nothing was posted")
