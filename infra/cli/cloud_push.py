"""`./tidepool cloud push`: tell the local Cloud Build what GitHub would tell the real one about a push.

Owns the words of the command. Which triggers a push is for is `infra.local.cloud.services.cloudbuild_firing`'s to say,
which jobs of GitHub it starts `workflows.starts`'s.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Any

import click

from infra.cli import options
from infra.cli.render.console import machines, people
from infra.cli.workflows.told import below
from infra.model.images.sources import CONNECT
from infra.operations.local.builds import github_jobs
from infra.operations.local.control import running


@click.command()
@click.argument("repository", metavar="OWNER/NAME")
@click.argument("more", nargs=-1, metavar="[FILE]...")
@click.option("--changed", multiple=True, metavar="FILE", help="A changed file; more may follow it.")
@click.option("--branch", help="Where the commits went; main when left out.")
@click.option("--tag", help="The tag that was made, in place of a branch.")
@click.option("--commit", default="", help="Its forty digits; a made-up commit when left out.")
@options.json_option
def push(
    *,
    repository: str,
    more: tuple[str, ...],
    changed: tuple[str, ...],
    branch: str | None,
    tag: str | None,
    commit: str,
    as_json: bool,
) -> None:
    """Push to a repository: every trigger that it is for puts a build into the queue.

    Says which images' jobs of GitHub it starts besides; `cloud builds jobs` runs them here.

    ./tidepool cloud push marin-community/marin --changed lib/levanter/pyproject.toml uv.lock
    """
    if branch and tag:
        raise click.UsageError("a push goes to a --branch or makes a --tag")
    files, ref = [*changed, *more], {"branch": "" if tag else branch or "main", "tag": tag or ""}
    with running() as control:
        jobs = github_jobs(repository, files, **ref)
        done = {**control.push(repository, files, **ref, commit=commit), "github": jobs and asdict(jobs)}
    done["next"] = list(_next(done))
    if as_json:
        machines(done)
        return
    console = people(as_json=False)
    for line in _lines(done):
        bare = line.lstrip()
        below(console, bare, by=len(line) - len(bare))


def jobs_command(repository: str, files: Iterable[str], commit: str = "") -> str:
    """The command that runs here the jobs that a push of these files starts at GitHub."""
    changed = [part for each in files for part in ("--changed", each)]
    more = ["--commit", commit] if commit else []
    return shlex.join(["./tidepool", "cloud", "builds", "jobs", repository, *changed, *more])


def _lines(done: Mapping[str, Any]) -> Iterator[str]:
    ref = f"branch {done['branch']}" if done["branch"] else f"tag {done['tag']}"
    yield f"{done['repository']} {ref} is at {done['commit'][:12]}"
    for trigger in done["triggers"]:
        said = f"build {trigger['build']} is queued" if trigger["build"] else "no build"
        yield f"  {trigger['name']}: {said}; {trigger['reason']}"
    if not done["triggers"]:
        yield f"  no trigger answers pushes to it; those of images are declared once it is connected: {CONNECT}"
    if done["github"]:
        file, images, why = PurePosixPath(done["github"]["file"]).name, done["github"]["images"], done["github"]["why"]
        said = f"jobs of {', '.join(images)}, each after its parents'" if images else f"no job; {why}"
        yield f"  {file} at GitHub: {said}"
    yield from (f"next: {command}" for command in done["next"])


def _next(done: Mapping[str, Any]) -> Iterator[str]:
    """The commands that run here what the push has started, each of it."""
    if queued := sum(bool(each["build"]) for each in done["triggers"]):
        yield f"./tidepool cloud builds run{' --all' if queued > 1 else ''}"
    if done["github"] and done["github"]["images"]:
        yield jobs_command(done["repository"], done["changed"])
