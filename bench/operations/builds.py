"""Builds of images on this machine, as Cloud Build and GitHub would run them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from bench.builds.machine import BuildOutcome, StepStatus
from bench.builds.queue import BuildQueue, NoSuchStepError, made_up_commit
from bench.builds.running import UnsupportedError
from bench.cloud.control import Control
from bench.operations.control import running
from bench.registry import RegistryError
from infra.model.images.github import build_jobs
from infra.model.images.stack_rules import CONNECT
from infra.model.images.steps import bootstrap
from infra.operations.declared.images import declared
from infra.operations.errors import Failure, Interruption, Refusal
from infra.operations.workspace import workspace
from infra.preview.toned import TonedLine, toned
from infra.tools.install import ToolError

if TYPE_CHECKING:
    from workflows.starts import ImageJobs

__all__ = ("BuildOutcome", "StepStatus")


_LOG_LINES = 12
"""Of a step that failed, what is told of its log."""


def run_builds(fault: str | None) -> Iterator[tuple[Mapping[str, Any], BuildOutcome]]:
    """Run the builds that wait in the local Cloud Build, the oldest first; each with what became of it.

    fault: a step whose tools fail, `STEP[:REGION]`.
    """
    control = running()
    with _at_work():
        queue = _queue(control)
        while (ran := queue.run_next(fault)) is not None:
            yield ran


def github_jobs(repository: str, files: Sequence[str], *, branch: str = "main", tag: str = "") -> ImageJobs | None:
    """The jobs that build images at GitHub for a push; None where no workflow of this checkout's making hears of it."""
    from workflows.starts import image_jobs  # its start takes longer than all else that most commands here do

    return image_jobs(workspace().root, repository, files, branch=branch, tag=tag)


def image_repository(name: str) -> str:
    """A repository as images.yaml spells it; ConfigError where no image is built from it."""
    return declared().repository(name)


def run_jobs(
    repository: str, changed: Sequence[str], commit: str, fault: str | None
) -> tuple[ImageJobs, Iterator[tuple[str, BuildOutcome]]]:
    """The jobs of images that a push to main starts at GitHub, and their runs here, each with what became of it.

    commit: empty for a made-up one.
    """
    lab = declared()
    if commit and not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise Refusal(f"--commit: {commit!r} is not a commit of 40 hexadecimal digits")
    started = github_jobs(repository, changed)
    if started is None:
        raise Refusal(f"this checkout makes no workflow that builds images for pushes to {repository}")
    builds_of = lab.home.builds
    if builds_of is None:
        raise Refusal(f"stack {lab.home.stack} declares no builds; write tidepool:builds in its file")
    now = int(running().clock()["seconds"])
    pushed = commit or made_up_commit(repository, now)
    found = build_jobs(
        lab.spec,
        lab.pins,
        places={each.name: lab.places(each.name) for each in lab.spec.images},
        timeout=builds_of.timeout,
        bootstrap=bootstrap(lab.root),
        revisions={each: pushed if each == repository else "" for each in lab.repositories},
    )

    def runs() -> Iterator[tuple[str, BuildOutcome]]:
        control = running()
        with _at_work():
            yield from _queue(control).run_jobs(
                found, started.images, run=str(now), commits={repository: pushed}, now=now, fault=fault
            )

    return started, runs()


def _queue(control: Control) -> BuildQueue:
    place = workspace()
    return BuildQueue(control=control, home=place.home, root=place.root, recipes=declared().spec.recipes)


@contextmanager
def _at_work() -> Generator[None]:
    try:
        yield
    except NoSuchStepError as error:
        raise Refusal(str(error)) from None
    except (RegistryError, ToolError, UnsupportedError) as error:
        raise Failure(str(error)) from None
    except KeyboardInterrupt:
        raise Interruption("Interrupted; the step in flight was ended, and what it belongs to is cancelled.") from None


def jobs_command(repository: str, files: Iterable[str], commit: str = "") -> str:
    """The command that runs here the jobs that a push of these files starts at GitHub."""
    changed = [part for each in files for part in ("--changed", each)]
    more = ["--commit", commit] if commit else []
    return shlex.join(["./tidepool", "cloud", "builds", "jobs", repository, *changed, *more])


def failed(done: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of builds or jobs, as JSON has them, that did not succeed."""
    return [each for each in done if each["status"] != StepStatus.SUCCESS]


def build_again(done: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The commands that try again the builds that failed."""
    again = [f"./tidepool images build {each['images'][0]} --trigger --wait 0 --cloud local" for each in failed(done)]
    return (*again, "./tidepool cloud builds run") if again else ()


def next_commands(done: Mapping[str, Any]) -> Iterator[str]:
    """The commands that run here what the push has started, each of it."""
    if queued := sum(bool(each["build"]) for each in done["triggers"]):
        yield f"./tidepool cloud builds run{' --all' if queued > 1 else ''}"
    if done["github"] and done["github"]["images"]:
        yield jobs_command(done["repository"], done["changed"])


def images_of(build: Mapping[str, Any]) -> list[str]:
    return [tag.removeprefix("image-") for tag in build.get("tags", ()) if tag.startswith("image-")]


def outcome_json(outcome: BuildOutcome) -> dict[str, Any]:
    steps = [
        {"id": step.id, "status": str(step.status), "seconds": round(step.seconds, 2)} for step in outcome.steps
    ]  # fmt: skip
    return {"status": str(outcome.status), "steps": steps}


def pushed_lines(done: Mapping[str, Any]) -> Iterator[TonedLine]:
    """What a push started, and what runs it."""
    ref = f"branch {done['branch']}" if done["branch"] else f"tag {done['tag']}"
    yield toned(f"{done['repository']} {ref} is at {done['commit'][:12]}")
    for trigger in done["triggers"]:
        said = f"build {trigger['build']} is queued" if trigger["build"] else "no build"
        yield toned(f"{trigger['name']}: {said}; {trigger['reason']}", indent=2)
    if not done["triggers"]:
        said = f"no trigger answers pushes to it; those of images are declared once it is connected: {CONNECT}"
        yield toned(said, indent=2)
    if done["github"]:
        file, images, why = PurePosixPath(done["github"]["file"]).name, done["github"]["images"], done["github"]["why"]
        said = f"jobs of {', '.join(images)}, each after its parents'" if images else f"no job; {why}"
        yield toned(f"{file} at GitHub: {said}", indent=2)
    yield from (toned(f"next: {command}") for command in done["next"])


def outcome_lines(title: str, outcome: BuildOutcome) -> Iterator[str]:
    yield f"{title}: {outcome.status}"
    for step in outcome.steps:
        yield f"  {step.status:<8} {step.id:<36} {step.seconds:6.2f} s"
        if step.status is StepStatus.FAILURE:
            yield from (f"           {line}" for line in step.log.splitlines()[-_LOG_LINES:])
