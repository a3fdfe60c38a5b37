"""`./tidepool cloud builds ...`: run builds of images on this machine, as Cloud Build and GitHub would.

Owns the words of the commands. What they do is `infra.operations.local.builds`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from infra.cli import options
from infra.cli.cloud_push import jobs_command
from infra.cli.echo import echo
from infra.cli.render.console import answer
from infra.operations.local.builds import BuildOutcome, StepStatus, image_repository, run_builds, run_jobs
from infra.operations.local.control import running

_LOG_LINES = 12

fail_option = click.option(
    "--fail", "fault", metavar="STEP[:REGION]", help="Let the tools of a step fail: push, copy:us-west4, ..."
)


@click.group(name="builds", short_help="Run builds of images on this machine.")
def builds() -> None:
    """Run builds of images on this machine: real steps and a real registry, recorded tools in place of docker."""


@builds.command(name="list")
@options.json_option
def list_builds(*, as_json: bool) -> None:
    """Say which builds there are and how they ended, the newest last."""
    with running() as control:
        found = control.builds()
    lines = [f"{each['status']:<14} {each['id']}  {' '.join(_images(each))}" for each in found]
    answer(as_json, {"builds": found}, *(lines or ["no build was started"]))


@builds.command()
@click.option("--all", "everything", is_flag=True, help="One after the other until nothing waits.")
@fail_option
@options.json_option
def run(*, everything: bool, fault: str | None, as_json: bool) -> None:
    """Run the build that has waited longest in the local Cloud Build. Exit code 1 where one fails."""
    done: list[dict[str, Any]] = []
    for build, outcome in run_builds(fault):
        done.append({"build": build["id"], "images": _images(build), **_told(outcome)})
        if not as_json:
            echo("\n".join(_lines(f"build {build['id']} of {', '.join(_images(build))}", outcome)))
        if not everything:
            break
    again = [f"./tidepool images build {each['images'][0]} --trigger --wait 0 --cloud local" for each in _failed(done)]
    following = (*again, "./tidepool cloud builds run") if again else ()
    _end(as_json, "builds", done, "no build waits; start one with `./tidepool cloud push`", following)


@builds.command()
@click.argument("repository", metavar="OWNER/NAME")
@click.option("--changed", multiple=True, required=True, metavar="FILE", help="A changed file; may be repeated.")
@click.option("--commit", default="", help="Its forty digits; a made-up commit when left out.")
@fail_option
@options.json_option
def jobs(*, repository: str, changed: tuple[str, ...], commit: str, fault: str | None, as_json: bool) -> None:
    """Run the jobs of images that a push to main starts at GitHub, as the repository's workflow says.

    ./tidepool cloud builds jobs marin-community/tidepool --changed images/levanter-base/Dockerfile
    """
    repository = image_repository(repository)
    started, runs = run_jobs(repository, changed, commit, fault)
    done: list[dict[str, Any]] = []
    for name, outcome in runs:
        done.append({"image": name, **_told(outcome)})
        if not as_json:
            echo("\n".join(_lines(f"job {name}", outcome)))
    again = jobs_command(repository, changed, commit) if _failed(done) else None
    _end(as_json, "jobs", done, f"this push starts no job of an image; {started.why}", (again,) if again else ())


def _images(build: Mapping[str, Any]) -> list[str]:
    return [tag.removeprefix("image-") for tag in build.get("tags", ()) if tag.startswith("image-")]


def _told(outcome: BuildOutcome) -> dict[str, Any]:
    steps = [
        {"id": step.id, "status": str(step.status), "seconds": round(step.seconds, 2)} for step in outcome.steps
    ]  # fmt: skip
    return {"status": str(outcome.status), "steps": steps}


def _lines(title: str, outcome: BuildOutcome) -> Iterator[str]:
    yield f"{title}: {outcome.status}"
    for step in outcome.steps:
        yield f"  {step.status:<8} {step.id:<36} {step.seconds:6.2f} s"
        if step.status is StepStatus.FAILURE:
            yield from (f"           {line}" for line in step.log.splitlines()[-_LOG_LINES:])


def _failed(done: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [each for each in done if each["status"] != StepStatus.SUCCESS]


def _end(
    as_json: bool, key: str, done: Sequence[Mapping[str, Any]], nothing: str, following: Sequence[str] = ()
) -> None:
    """Tell how it went. following: the commands that try again what failed, which nothing else does."""
    lines = [nothing] if not done else []
    if following:
        lines = ["what failed is not tried again by itself", *(f"next: {command}" for command in following)]
    answer(as_json, {key: done, "next": list(following)}, *lines)
    if _failed(done):
        raise SystemExit(1)
