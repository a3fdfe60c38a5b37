"""`./tidepool comment`, `drift` and `plan`: what a pull request shows, and whether what is applied was reviewed.

Writing and posting are two commands, because two jobs run them: `write` reads what a stranger wrote and has no token,
`post` has a token and reads only what `write` left behind. GITHUB_TOKEN is the one way for a token to come in: an
argument shows in lists of processes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.cli.echo import echo
from infra.cli.render.console import people
from infra.cli.render.stacks import show_findings
from infra.github import artifact, drift
from infra.github.client import PUBLIC_API, PostError, PostingPlace, connect
from infra.model.stepset import why_approval
from infra.operations.errors import Failure, Refusal
from infra.operations.stacks.comment import post_comment, write_comment
from infra.operations.stacks.explain import read_facts
from infra.operations.stacks.findings import recorded_steps, reviewed_digest

TOKEN = "GITHUB_TOKEN"  # noqa: S105 - a variable's name
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")


def _full_commit(_: click.Context, __: click.Parameter, value: str) -> str:
    if not _COMMIT.fullmatch(value):
        raise Refusal(f"--head {value!r} is not a commit: 40 digits of 0-9 and a-f")
    return value


def _repository(_: click.Context, __: click.Parameter, value: str) -> str:
    if not _REPOSITORY.fullmatch(value):
        raise Refusal(f"--repository {value!r} is not of the form OWNER/NAME")
    return value


def _plans(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> Mapping[str, Path]:
    """STACK=FILE, each stack once."""
    pairs = [value.partition("=") for value in values]
    if any(not (stack and file) for stack, _, file in pairs) or len({stack for stack, _, _ in pairs}) < len(pairs):
        raise click.BadParameter("write STACK=FILE, such as ci=plan.json, and each stack once")
    return {stack: Path(file) for stack, _, file in pairs}


place_options = options.each(
    click.option(
        "--repository",
        metavar="OWNER/NAME",
        envvar="GITHUB_REPOSITORY",
        required=True,
        callback=_repository,
        help="Where; GITHUB_REPOSITORY is heard.",
    ),
    click.option(
        "--api",
        envvar="GITHUB_API_URL",
        default=PUBLIC_API,
        show_default=True,
        help="GitHub's REST API, or a server's; GITHUB_API_URL is heard.",
    ),
    options.json_option,
)


@contextmanager
def _posting(repository: str, api: str) -> Generator[PostingPlace]:
    """The repository, with the token of the environment; GitHub's refusals are failures of the command."""
    token = os.environ.get(TOKEN, "")
    if not token:
        raise Refusal(f"{TOKEN} is not set; docs/github.md says which permissions its token needs")
    try:
        yield connect(api=api, repository=repository, token=token)
    except PostError as failure:
        raise Failure(str(failure)) from None


@click.group()
def comment_command() -> None:
    """Write and post the comment of a pull request: in two steps, so that the one that reads a stranger's files has no
    token, and the one that has a token reads no stranger's files.
    """


@comment_command.command()
@click.argument("stacks", metavar="[STACK]...", nargs=-1)
@click.option("--base", metavar="REF", required=True, help="The commit that the pull request is made against.")
@click.option("--head", metavar="REF", help="Its newest commit; the working tree where not given.")
@click.option("--out", type=options.A_FILE, required=True, help="Where the artifact goes.")
@click.option("--facts", type=options.A_FILE, help="A JSON file of what other rooms know, as for explain.")
@click.option(
    "--plan",
    "plans",
    metavar="STACK=FILE",
    multiple=True,
    callback=_plans,
    help="Show a stack's plan too: what `pulumi preview --json --show-sames` printed into FILE; may be repeated.",
)
@options.json_option
@called
def write(
    call: Invocation,
    *,
    stacks: tuple[str, ...],
    base: str,
    head: str | None,
    out: Path,
    facts: Path | None,
    plans: Mapping[str, Path],
) -> int:
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
    if not call.as_json:
        echo(made.markdown)
    names = [each.stack for each in written.previews]
    return call.end({"file": str(out), "stacks": names, "labels": list(made.labels)}, failed=written.holds)


@comment_command.command()
@click.option(
    "--artifact", "path", type=options.A_FILE, required=True, help="What `comment write` left behind; not believed."
)
@click.option(
    "--head", metavar="SHA", required=True, callback=_full_commit, help="The commit it was made for, in full."
)
@click.option("--planned", is_flag=True, help="It shows an engine's plan; the comment without one gives way to it.")
@place_options
@called
def post(call: Invocation, *, path: Path, head: str, planned: bool, repository: str, api: str) -> None:
    """Let the pull request of a commit have the comment and the labels of an artifact; edits what is there.

    The pull request is looked up by its head commit, which is to come from GitHub's own event and never from the
    artifact. A pull request that has moved on is left alone: a newer run speaks for it. The token is GITHUB_TOKEN.
    """
    try:
        made = artifact.read(path)
    except artifact.UntrustedError as refusal:
        raise Failure(f"{refusal}; nothing was posted") from None
    with _posting(repository, api) as place:
        done = post_comment(place, made, head, planned=planned)
    posts = [{"pullRequest": each.pull, **asdict(each.posted), "labels": list(made.labels)} for each in done]
    call.end({"posts": posts})
    if call.as_json:
        return
    for each in posts:
        echo(f"pull request {each['pullRequest']}: comment {each['comment']} {each['outcome']}")
    if not posts:
        echo(f"no open pull request has {head} as its newest commit; nothing was posted")


@click.group()
def drift_command() -> None:
    """Tell how the cloud differs from what a stack recorded."""


@drift_command.command()
@options.stack_argument
@click.option(
    "--plan", "path", type=options.A_FILE_THERE, required=True, help="What `preview STACK --refresh --json` printed."
)
@place_options
@called
def report(call: Invocation, *, path: Path, repository: str, api: str) -> None:
    """Keep one issue for the drift of STACK: opened, edited when the drift is another, closed when it is gone.

    The issue names resources and properties, never values, and grants that no stack declares. A plan that failed proves
    nothing and changes nothing. The token is GITHUB_TOKEN.
    """
    stack = call.stack
    try:
        found = drift.drift_of(stack, json.loads(path.read_bytes()))
    except json.JSONDecodeError:
        raise Refusal(f"{path} holds no JSON; make it with `./tidepool preview {stack} --refresh --json`") from None
    except drift.PlanError as unfit:
        raise Failure(f"{path}: {unfit}; the issue was left as it is") from None
    with _posting(repository, api) as place:
        told = drift.tell(place, found)
    counts = {"differences": len(found.differences), "grants": len(found.grants)}
    call.end({"outcome": told.outcome, "issue": told.number, **counts, "fingerprint": found.fingerprint or None})
    if not call.as_json:
        echo(f"{stack}: {told.outcome}" + (f" (issue {told.number})" if told.number else ""))


_files = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=options.A_FILE_THERE)


@click.group()
def plan_command() -> None:
    """Compare what is planned with what was reviewed, by a digest of steps that holds no value.

    FILEs are what `preview STACK --json` printed, one a stack.
    """


@plan_command.command()
@_files
@click.option("--expect", metavar="DIGEST", help="Exit code 1 where the digest is another.")
@options.json_option
@called
def digest(call: Invocation, *, files: tuple[Path, ...], expect: str | None) -> int:
    """One digest of every step in FILEs: operation, resource and the names of the properties that differ."""
    found = recorded_steps(files)
    if not call.as_json:
        echo(found.digest)
    other = expect is not None and expect != found.digest
    code = call.end(found.to_json(), failed=other)
    if other:
        echo(f"error: the plan has the digest {found.digest}, not {expect}: preview again", err=True)
    return code


@plan_command.command()
@_files
@click.option(
    "--reviewed",
    type=options.A_FILE,
    help="What `plan digest --json` printed for the pull request; a file that is not there is no review.",
)
@options.json_option
@called
def approval(call: Invocation, *, files: tuple[Path, ...], reviewed: Path | None) -> None:
    """Whether somebody must agree before FILEs are applied, and why.

    Somebody must where anything is deleted or replaced, and where the steps are not those that were reviewed.
    """
    found = recorded_steps(files)
    why = why_approval(found, reviewed_digest(reviewed))
    call.end(found.to_json() | {"approval": bool(why), "why": list(why)})
    if not call.as_json:
        echo("\n".join(f"approval needed: {each}" for each in why) or "no approval needed")
