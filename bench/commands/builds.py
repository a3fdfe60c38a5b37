"""`./tidepool cloud push` and `cloud builds ...`: pushes, and builds and jobs of images that they start, run here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import click

from bench.commands import listed, table
from bench.operations import builds as work
from bench.operations import control
from infra.cli import options
from infra.cli.answers import Answer, answered
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
@_commit_option
@answered
def push(
    *, repository: str, more: tuple[str, ...], changed: tuple[str, ...], branch: str | None, tag: str | None,
    commit: str,
) -> Answer:  # fmt: skip
    """Push to a repository: every trigger that it is for puts a build into the queue.

    Says which images' jobs of GitHub it starts besides; `cloud builds jobs` runs them here.

    ./tidepool cloud push marin-community/marin --changed lib/levanter/pyproject.toml uv.lock
    """
    if branch and tag:
        raise click.UsageError("a push goes to a --branch or makes a --tag")
    files, ref = [*changed, *more], {"branch": "" if tag else branch or "main", "tag": tag or ""}
    cloud = control.running()
    jobs = work.github_jobs(repository, files, **ref)
    done: dict[str, Any] = {**cloud.push(repository, files, **ref, commit=commit), "github": jobs and asdict(jobs)}
    done["next"] = list(work.next_commands(done))
    lines = [f"{repository} is at {done['commit']}", *table("triggers", done["triggers"], "name", "build", "reason")]
    if jobs:
        lines.append(f"{jobs.file} at GitHub: jobs of {', '.join(jobs.images) or 'no image'}; {jobs.why}")
    return done, [*lines, *(f"next: {each}" for each in done["next"])]


@click.group(cls=options.Group, short_help="Run builds of images on this machine.")
def builds() -> None:
    """Run builds of images on this machine: real steps and a real registry, recorded tools in place of docker."""


@builds.command(name="list")
@answered
def list_builds() -> Answer:
    """Say which builds there are and how they ended, the newest last."""
    return listed("builds", control.running().builds(), "status", "id", "tags")


@builds.command()
@click.option("--all", "everything", is_flag=True, help="One after the other until nothing waits.")
@_fail_option
@options.json_option
def run(*, everything: bool, fault: str | None, as_json: bool) -> None:
    """Run the build that has waited longest in the local Cloud Build. Exit code 1 where one fails."""

    def again(failed: list[dict[str, Any]]) -> list[str]:
        named = [f"./tidepool images build {each['images'][0]} --trigger --wait 0 --cloud local" for each in failed]
        return [*named, "./tidepool cloud builds run"]

    _run(as_json, "builds", work.run_builds(fault), again, everything=everything)


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
    ran = work.run_jobs(repository, changed, commit, fault)
    _run(as_json, "jobs", ran, lambda _: [work.jobs_command(repository, changed, commit)], everything=True)


def _run(
    as_json: bool,
    key: str,
    ran: Iterator[tuple[dict[str, Any], str]],
    again: Callable[[list[dict[str, Any]]], list[str]],
    *,
    everything: bool,
) -> None:
    """Tell of builds or jobs while they run. again: the commands that try again what failed; nothing else does."""
    done: list[dict[str, Any]] = []
    for told, log in ran:
        done.append(told)
        if not as_json:
            title = f"{told.get('image') or ', '.join(told['images'])}: {told['status']}"
            echo("\n".join((title, *table("steps", told["steps"], "status", "id", "seconds"), log)).rstrip())
        if not everything:
            break
    failed = [each for each in done if each["status"] != "SUCCESS"]
    following = again(failed) if failed else []
    lines = [f"next: {each}" for each in following] if done else [f"no {key} to run; start some with `cloud push`"]
    answer(as_json, {key: done, "next": following}, *lines)
    if failed:
        raise SystemExit(FAILED)
