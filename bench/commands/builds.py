"""`./tidepool cloud push` and `cloud builds ...`: pushes, and builds and jobs of images that they start, run here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from bench.operations import builds as work
from bench.operations import control
from infra.cli import options
from infra.cli.answers import Answer, answered
from infra.cli.call import Invocation, called
from infra.cli.echo import answer, echo
from infra.cli.failures import FAILED

_fail_option = click.option(
    "--fail", "fault", metavar="STEP[:REGION]", help="Let the tools of a step fail: push, copy:us-west4, ..."
)
_repository = click.argument("repository", metavar="OWNER/NAME")
_commit_option = click.option("--commit", default="", help="Its forty digits; a made-up commit when left out.")


@click.command()
@_repository
@click.argument("more", nargs=-1, metavar="[FILE]...")
@click.option("--changed", multiple=True, metavar="FILE", help="A changed file; more may follow it.")
@click.option("--branch", help="Where the commits went; main when left out.")
@click.option("--tag", help="The tag that was made, in place of a branch.")
@options.each(_commit_option, options.json_option)
@called
def push(
    call: Invocation, *, repository: str, more: tuple[str, ...], changed: tuple[str, ...], branch: str | None,
    tag: str | None, commit: str,
) -> None:  # fmt: skip
    """Push to a repository: every trigger that it is for puts a build into the queue.

    Says which images' jobs of GitHub it starts besides; `cloud builds jobs` runs them here.

    ./tidepool cloud push marin-community/marin --changed lib/levanter/pyproject.toml uv.lock
    """
    if branch and tag:
        raise click.UsageError("a push goes to a --branch or makes a --tag")
    files, ref = [*changed, *more], {"branch": "" if tag else branch or "main", "tag": tag or ""}
    cloud = control.running()
    jobs = work.github_jobs(repository, files, **ref)
    done = {**cloud.push(repository, files, **ref, commit=commit), "github": jobs and asdict(jobs)}
    done["next"] = list(work.next_commands(done))
    call.tell(done)
    if not call.as_json:
        call.say(*work.pushed_lines(done))


@click.group(cls=options.Group, short_help="Run builds of images on this machine.")
def builds() -> None:
    """Run builds of images on this machine: real steps and a real registry, recorded tools in place of docker."""


@builds.command(name="list")
@answered
def list_builds() -> Answer:
    """Say which builds there are and how they ended, the newest last."""
    found = control.running().builds()
    lines = [f"{each['status']:<14} {each['id']}  {' '.join(work.images_of(each))}" for each in found]
    return {"builds": found}, lines or ["no build was started"]


@builds.command()
@click.option("--all", "everything", is_flag=True, help="One after the other until nothing waits.")
@_fail_option
@options.json_option
def run(*, everything: bool, fault: str | None, as_json: bool) -> None:
    """Run the build that has waited longest in the local Cloud Build. Exit code 1 where one fails."""
    done: list[dict[str, Any]] = []
    for build, outcome in work.run_builds(fault):
        done.append({"build": build["id"], "images": work.images_of(build), **work.outcome_json(outcome)})
        if not as_json:
            echo("\n".join(work.outcome_lines(f"build {build['id']} of {', '.join(work.images_of(build))}", outcome)))
        if not everything:
            break
    _end(as_json, "builds", done, "no build waits; start one with `./tidepool cloud push`", work.build_again(done))


@builds.command()
@_repository
@click.option("--changed", multiple=True, required=True, metavar="FILE", help="A changed file; may be repeated.")
@_commit_option
@_fail_option
@options.json_option
def jobs(*, repository: str, changed: tuple[str, ...], commit: str, fault: str | None, as_json: bool) -> None:
    """Run the jobs of images that a push to main starts at GitHub, as the repository's workflow says.

    ./tidepool cloud builds jobs marin-community/tidepool --changed images/levanter-base/Dockerfile
    """
    repository = work.image_repository(repository)
    started, runs = work.run_jobs(repository, changed, commit, fault)
    done: list[dict[str, Any]] = []
    for name, outcome in runs:
        done.append({"image": name, **work.outcome_json(outcome)})
        if not as_json:
            echo("\n".join(work.outcome_lines(f"job {name}", outcome)))
    again = (work.jobs_command(repository, changed, commit),) if work.failed(done) else ()
    _end(as_json, "jobs", done, f"this push starts no job of an image; {started.why}", again)


def _end(as_json: bool, key: str, done: Sequence[Mapping[str, Any]], nothing: str, again: Sequence[str]) -> None:
    """Tell how it went. again: the commands that try again what failed, which nothing else does."""
    lines = [f"next: {command}" for command in again]
    lines[:0] = ["what failed is not tried again by itself"] if again else [] if done else [nothing]
    answer(as_json, {key: done, "next": list(again)}, *lines)
    if again:
        raise SystemExit(FAILED)
