"""`./tidepool comment`, `drift` and `plan`: what a pull request shows, and whether what is applied was reviewed.

Writing and posting are two commands, because two jobs run them: `write` reads what a stranger wrote and has no token,
`post` has a token and reads only what `write` left behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.cli.echo import echo
from infra.cli.posting import repository_option
from infra.cli.render import console as consoles
from infra.github import artifact, drift
from infra.model import stepset
from infra.operations.errors import Refusal
from infra.operations.stacks import comment as comments
from infra.operations.stacks import explain, findings
from infra.preview import plan_lines

_COMMIT = re.compile(r"[0-9a-f]{40}")


def _full_commit(_: click.Context, __: click.Parameter, value: str) -> str:
    if not _COMMIT.fullmatch(value):
        raise Refusal(f"--head {value!r} is not a commit: 40 digits of 0-9 and a-f")
    return value


def _plans(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> Mapping[str, Path]:
    """STACK=FILE, each stack once."""
    found = {stack: Path(file) for stack, _, file in (value.partition("=") for value in values) if stack and file}
    if len(found) < len(values):
        raise click.BadParameter("write STACK=FILE, such as ci=plan.json, and each stack once")
    return found


place_options = options.each(repository_option(required=True), options.json_option)


@click.group(cls=options.Group)
def comment_command() -> None:
    """Write and post the comment of a pull request: in two steps, so that the one that reads a stranger's files has no
    token, and the one that has a token reads no stranger's files.
    """


@comment_command.command()
@options.stacks_argument
@click.option("--base", metavar="REF", required=True, help="The commit that the pull request is made against.")
@click.option("--head", metavar="REF", help="Its newest commit; the working tree where not given.")
@click.option("--out", type=options.A_FILE, required=True, help="Where the artifact goes.")
@click.option("--facts", type=options.A_FILE, help="A JSON file of what other rooms know, as for explain.")
@click.option(
    "--plan", "plans", metavar="STACK=FILE", multiple=True, callback=_plans,
    help="Show a stack's plan too: what `pulumi preview --json --show-sames` printed into FILE; may be repeated.",
)  # fmt: skip
@options.json_option
@called
def write(
    call: Invocation, *, stacks: tuple[str, ...], base: str, head: str | None, out: Path, facts: Path | None,
    plans: Mapping[str, Path],
) -> int:  # fmt: skip
    """Say what the edit from BASE to HEAD means to every STACK (all, where none is named), for `post` to show.

    Reads stack files and nothing else of either version, needs no credentials and talks to nobody. A plan is made
    beforehand, by a job that may read the cloud, and for branches of people who can push here alone.

    Exit code 0 when nothing holds the edit, 1 when a finding does or a stack file cannot be read; OUT is written in
    both cases. 2 when a version cannot be found.
    """
    if plans and head is not None:
        raise Refusal("--plan shows plans of the working tree; leave --head out")
    written = comments.write_comment(stacks, base, head, explain.read_facts(facts, call.now()), plans)
    for each in written.previews:
        if each.plan is not None:
            consoles.say(consoles.people(as_json=True), *plan_lines.describe_findings(each.findings))
    made = written.artifact
    artifact.write(out, made)
    names = [each.stack for each in written.previews]
    body = {"file": str(out), "stacks": names, "labels": list(made.labels)}
    return call.end(body, made.markdown, failed=written.holds)


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
    made = comments.written_artifact(path)
    done = comments.post_comment(comments.posting_place(repository, api), made, head, planned=planned)
    posts = [{"pullRequest": each.pull, **asdict(each.posted), "labels": list(made.labels)} for each in done]
    lines = [f"pull request {each['pullRequest']}: comment {each['comment']} {each['outcome']}" for each in posts]
    none = f"no open pull request has {head} as its newest commit; nothing was posted"
    call.end({"posts": posts}, *(lines or [none]))


@click.group(cls=options.Group)
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
    found = comments.recorded_drift(call.stack, path)
    told = drift.tell(comments.posting_place(repository, api), found)
    counts = {"differences": len(found.differences), "grants": len(found.grants)}
    body = {"outcome": told.outcome, "issue": told.number, **counts, "fingerprint": found.fingerprint or None}
    call.end(body, f"{call.stack}: {told.outcome}" + (f" (issue {told.number})" if told.number else ""))


_files = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=options.A_FILE_THERE)


@click.group(cls=options.Group)
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
    """Print one digest of every step in FILEs: operation, resource and the names of the properties that differ."""
    found = findings.recorded_steps(files)
    other = expect is not None and expect != found.digest
    code = call.end(found, found.digest, failed=other)
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
    """Say whether somebody must agree before FILEs are applied, and why.

    Somebody must where anything is deleted or replaced, and where the steps are not those that were reviewed.
    """
    found = findings.recorded_steps(files)
    why = stepset.why_approval(found, findings.reviewed_digest(reviewed))
    body = found.to_json() | {"approval": bool(why), "why": list(why)}
    call.end(body, *([f"approval needed: {each}" for each in why] or ["no approval needed"]))
