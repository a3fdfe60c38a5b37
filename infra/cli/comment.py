"""`./tidepool comment write` and `post`: from two versions of the stack files to the comment of a pull request.

Two commands, because two jobs run them: `write` reads what a stranger wrote and has no token, `post` has a token and
reads only what `write` left behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import click

from infra.cli import options
from infra.cli.echo import echo
from infra.cli.facts import read_facts
from infra.cli.failures import FAILED
from infra.cli.judgement import judged
from infra.cli.posting import full_commit, place_options, placed, posting, read_artifact
from infra.cli.recorded import recorded
from infra.cli.render.console import machines, people
from infra.cli.workflow_facts import with_workflows
from infra.github import artifact, labels, pulls, sticky
from infra.github.artifact import Artifact
from infra.github.harmless import cut, harmless
from infra.model.errors import ConfigError
from infra.operations.errors import Failure, Refusal
from infra.operations.stacks.declared import declared
from infra.operations.stacks.versions import stacks_of, version
from infra.operations.workspace import workspace
from infra.preview.comment import Preview, comment
from infra.preview.explain import explain
from infra.preview.meaning import Facts
from infra.rules.book import stops


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
    root = workspace().root
    known = read_facts(facts)
    there = stacks_of(root, base, head)
    if absent := sorted({*stacks, *plans} - set(there)):
        raise Refusal(f"neither version has a stack {', '.join(absent)}; there is {', '.join(there) or 'none'}")
    previews = [_planned(_preview(root, stack, base, head, known), plans) for stack in stacks or there]
    meanings = [each.meaning for each in previews if each.meaning is not None]
    told = () if len(meanings) < len(previews) else tuple(sorted(labels.wanted(meanings)))
    made = Artifact(labels=told, markdown=comment(*previews) if previews else "There is no stack.")
    artifact.write(out, made)
    code = FAILED if any(_holds(each) for each in previews) else 0
    if as_json:
        names = [each.stack for each in previews]
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
    room = sticky.LONGEST - len(sticky.MARKER) - len(sticky.mark_of_plan(head)) - 2
    text = cut(f"{harmless(made.markdown)}\n\n<sub>For {head[:12]}.</sub>", room)
    with posting():
        place = placed(repository=repository, api=api)
        posts = []
        for pull in pulls.of_head(place, head):
            posted = sticky.post(place, pull, text, head=head, planned=planned)
            labels.put(place, pull, frozenset(made.labels))
            posts.append({"pullRequest": pull.number, **asdict(posted), "labels": list(made.labels)})
    if as_json:
        machines({"posts": posts, "exit": 0})
        return
    for each in posts:
        echo(f"pull request {each['pullRequest']}: comment {each['comment']} {each['outcome']}")
    if not posts:
        echo(f"no open pull request has {head} as its newest commit; nothing was posted")


def _planned(preview: Preview, plans: Mapping[str, Path]) -> Preview:
    """The same with the stack's plan and what the rules say of it, or with the reason why it has none."""
    if preview.failure or preview.stack not in plans:
        return preview
    try:
        plan = recorded(plans[preview.stack], preview.stack)
        found = judged(plan, declared(preview.stack), people(as_json=True))
    except (ConfigError, Failure) as unreadable:
        return replace(preview, failure=str(unreadable))
    return replace(preview, plan=plan, findings=found)


def _holds(preview: Preview) -> bool:
    """Whether something keeps this stack's edit from being applied as it is."""
    known = preview.meaning is not None and not preview.meaning.stops
    failed = bool(preview.failure) or (preview.plan is not None and preview.plan.failed)
    return failed or not known or stops(preview.findings)


def _preview(root: Path, stack: str, base: str, head: str | None, known: Facts) -> Preview:
    """What the edit means to one stack, or why nobody can say."""
    try:
        versions = version(root, stack, base), version(root, stack, head)
        before, after = (each.reading(stack) for each in versions)
        known = with_workflows(known, *versions)
    except (ConfigError, Refusal) as unreadable:
        return Preview(stack=stack, failure=str(unreadable))
    return Preview(stack=stack, meaning=explain(before, after, known))
