"""Builds of images on this machine, as Cloud Build and GitHub would run them."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench.builds.queue import BuildQueue, NoSuchStepError, made_up_commit
from bench.builds.running import BuildOutcome, UnsupportedError
from bench.operations.control import running
from bench.registry import RegistryError
from infra.model.images.github import build_jobs
from infra.model.images.steps import bootstrap
from infra.operations.declared.images import declared
from infra.operations.errors import Failure, Interruption, Refusal
from infra.operations.workspace import workspace
from infra.tools.install import ToolError

if TYPE_CHECKING:
    from workflows.starts import ImageJobs

_LOG_LINES = 12
"""Of a step that failed, what is told of its log."""
_SECONDS = 7200
"""What a job may take where no stack says."""


def github_jobs(repository: str, files: Sequence[str], *, branch: str = "main", tag: str = "") -> ImageJobs | None:
    """The jobs that build images at GitHub for a push; None where no workflow of this checkout's making hears of it."""
    from workflows.starts import image_jobs  # its start takes longer than all else that most commands here do

    return image_jobs(workspace().root, repository, files, branch=branch, tag=tag)


def run_builds(fault: str | None) -> Iterator[tuple[dict[str, Any], str]]:
    """Run the builds that wait in the local Cloud Build, the oldest first: what JSON has of each, and the end of the
    log of the step that failed.

    fault: a step whose tools fail, `STEP[:REGION]`.
    """
    with _queue() as queue:
        while (ran := queue.run_next(fault)) is not None:
            build, outcome = ran
            images = [tag.removeprefix("image-") for tag in build.get("tags", ()) if tag.startswith("image-")]
            yield _told({"build": build["id"], "images": images}, outcome)


def run_jobs(
    repository: str, changed: Sequence[str], commit: str, fault: str | None
) -> Iterator[tuple[dict[str, Any], str]]:
    """Run the jobs of images that a push to main starts at GitHub, as `run_builds` does with builds.

    commit: empty for a made-up one.
    """
    lab = declared()
    repository = lab.repository(repository)
    started = github_jobs(repository, changed)
    if started is None:
        raise Refusal(f"this checkout makes no workflow that builds images for pushes to {repository}")
    now = int(running().clock()["seconds"])
    pushed = commit or made_up_commit(repository, now)
    found = build_jobs(
        lab.spec,
        lab.pins,
        places={each.name: lab.places(each.name) for each in lab.spec.images},
        timeout=lab.home.builds.timeout if lab.home.builds else _SECONDS,
        bootstrap=bootstrap(lab.root),
        revisions={repository: pushed},
    )
    with _queue() as queue:
        ran = queue.run_jobs(found, started.images, commit=(repository, pushed), now=now, fault=fault)
        yield from (_told({"image": name}, outcome) for name, outcome in ran)


@contextmanager
def _queue() -> Generator[BuildQueue]:
    place = workspace()
    try:
        yield BuildQueue(control=running(), home=place.home, root=place.root, recipes=declared().spec.recipes)
    except NoSuchStepError as error:
        raise Refusal(str(error)) from None
    except (RegistryError, ToolError, UnsupportedError) as error:
        raise Failure(str(error)) from None
    except KeyboardInterrupt:
        raise Interruption("Interrupted; the step in flight was ended, and what it belongs to is cancelled.") from None


def _told(what: dict[str, Any], outcome: BuildOutcome) -> tuple[dict[str, Any], str]:
    steps = [
        {"id": key, "status": step.status, "seconds": round(step.seconds, 2)} for key, step in outcome.steps.items()
    ]  # fmt: skip
    failed = [step.log for step in outcome.steps.values() if step.status not in ("SUCCESS", "QUEUED")]
    last = "\n".join("".join(failed).splitlines()[-_LOG_LINES:])
    return {**what, "status": outcome.status, "steps": steps}, last


def jobs_command(repository: str, files: Iterable[str], commit: str = "") -> str:
    """The command that runs here the jobs that a push of these files starts at GitHub."""
    changed = [part for each in files for part in ("--changed", each)]
    more = ["--commit", commit] if commit else []
    return shlex.join(["./tidepool", "cloud", "builds", "jobs", repository, *changed, *more])


def next_commands(done: Mapping[str, Any]) -> Iterator[str]:
    """The commands that run here what the push has started, each of it."""
    if queued := sum(bool(each["build"]) for each in done["triggers"]):
        yield f"./tidepool cloud builds run{' --all' if queued > 1 else ''}"
    if done["github"] and done["github"]["images"]:
        yield jobs_command(done["repository"], done["changed"])
