"""Runs what waits in the local cloud's queue of builds, and the GitHub jobs of a push, as the services would.

Owns what a build finds on this machine: this checkout as the recipes, made-up files for any other repository, the
registry beside the cloud. Leaves the running itself to `cloudbuild` and `github`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from infra.local.builds.cloudbuild import UnsupportedError, run_build
from infra.local.builds.github import run_jobs
from infra.local.builds.machine import Fault, Machine, Outcome
from infra.local.cloud.builds.control import BuildControl
from infra.local.registry import LOG, answers
from infra.local.registry_keeper import start

NO_COMMIT = "0" * 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Yard:
    """Where builds of one local cloud run. home: of the cloud. root: this checkout. recipes: its repository."""

    control: BuildControl
    home: Path
    root: Path
    recipes: str

    def registry(self) -> str:
        """The address of the registry beside the cloud, started where none answers; the cloud is told of it."""
        known = self.control.registry()["address"]
        if known and answers(known):
            return known
        folder = self.home / "registry"
        address = start(folder, self.control.pid(), os.environ | {"PYTHONPATH": str(self.root)})
        self.control.set_registry(address, log=str(folder / LOG))
        return address

    def run_next(self, fault: str | None) -> tuple[Mapping[str, Any], Outcome] | None:
        """Run the oldest build of the queue and report it; None where nothing waits. `fault`: see `fault_of`."""
        waiting = self.control.builds("QUEUED")
        if not waiting:
            return None
        # Before the build is taken: a mistake in the name of a step leaves it in the queue.
        chosen = fault_of(fault, [step["id"] for step in waiting[0]["steps"]])
        registry = self.registry()
        build = self.control.take(waiting[0]["name"])
        if build is None:
            return None
        machine = self._machine(build["id"], registry)
        described = _checkouts(build.get("options", {}).get("env", ()))
        made = int(datetime.fromisoformat(build["createTime"]).timestamp())
        self._offer(machine, described, build.get("substitutions", {}), made)
        try:
            outcome = run_build(build, machine, fault=chosen)
        except UnsupportedError as error:
            self.control.report(build["name"], status="INTERNAL_ERROR", statusDetail=str(error))
            raise
        steps = {step.id: {"status": str(step.status), "seconds": step.seconds} for step in outcome.steps}
        self.control.report(build["name"], status=str(outcome.status), steps=steps)
        return build, outcome

    def run_jobs(
        self, jobs: Mapping[str, Mapping[str, Any]], wanted: Sequence[str], *, run: str, commits: Mapping[str, str],
        now: int, fault: str | None,
    ) -> Iterator[tuple[str, Outcome]]:  # fmt: skip
        """Run these jobs of a push. commits: of repositories, where known. now: seconds since 1970."""
        machine = self._machine(f"github-{run}", self.registry())
        described = [each for name in wanted for each in jobs[name]["env"]["CHECKOUTS"].split(";")]
        revisions = {f"_{each.split()[0].upper()}_REVISION": commits.get(each.split()[1], "") for each in described}
        self._offer(machine, described, revisions, now)
        ids = [step["id"] for name in wanted for step in jobs[name]["steps"]]
        yield from run_jobs(jobs, machine, wanted=tuple(wanted), run=run, fault=fault_of(fault, ids))

    def _machine(self, name: str, registry: str) -> Machine:
        folder = self.home / "builds" / name
        folder.mkdir(parents=True, exist_ok=True)
        return Machine(folder=folder, registry=registry, env={"TIDEPOOL_HOME": str(self.home)})

    def _offer(self, machine: Machine, described: Sequence[str], substitutions: Mapping[str, str], made: int) -> None:
        """Every checkout of a build at the commit that started it; another repository is one made-up file."""
        for each in described:
            folder, repository, _ = each.split(" ", 2)
            revision = substitutions.get(f"_{folder.upper()}_REVISION", "")
            if repository == self.recipes:
                head, seconds = _head(self.root)
                machine.offer(repository, self.root, {head: seconds, **({revision: made} if revision else {})})
                continue
            tree = machine.folder / "made-up" / repository
            tree.mkdir(parents=True, exist_ok=True)
            (tree / "uv.lock").write_text(f"# {repository} at {revision or 'its newest commit'}\n")
            machine.offer(repository, tree, {revision or made_up_commit(repository, made): made})


class NoSuchStepError(Exception):
    """No step of the build is called so; the text lists those that are there."""


def fault_of(text: str | None, steps: Sequence[str]) -> Fault | None:
    """`STEP` or `STEP:REGION` as the first step that it names: `push`, `copy:us-west4`, `copy-tpu-ci-us-west4`."""
    if text is None:
        return None
    kind, _, region = text.partition(":")
    for step in steps:
        if (step == kind or step.startswith(f"{kind}-")) and step.endswith(f"-{region}" if region else ""):
            return Fault(step)
    raise NoSuchStepError(f"no step is called {text}; there are {', '.join(steps)}")


def _checkouts(env: Sequence[str]) -> list[str]:
    found = next((each.partition("=")[2] for each in env if each.startswith("CHECKOUTS=")), "")
    return [each for each in found.split(";") if each]


def made_up_commit(repository: str, made: int) -> str:
    """A commit for a repository of which there is none."""
    return hashlib.sha256(f"{repository} {made}".encode()).hexdigest()[:40]


def _head(root: Path) -> tuple[str, int]:
    """The commit of this checkout and when it was made; all zeros where git does not know."""
    try:
        said = subprocess.run(
            ["git", "log", "-1", "--format=%H %ct"], cwd=root, check=True, capture_output=True, text=True
        ).stdout.split()
        return said[0], int(said[1])
    except (OSError, subprocess.CalledProcessError):
        return NO_COMMIT, 0
