"""Runs what waits in the local cloud's queue of builds, and the GitHub jobs of a push, as the services would.

Owns what a build finds on this machine: this checkout as the recipes, made-up files for any other repository, the
registry beside the cloud. One command at a time runs builds. Leaves the running itself to `running`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.builds.machine import BuildMachine, Fault
from bench.builds.running import BuildOutcome, UnsupportedError, run_build, run_jobs
from bench.cloud.control import Control
from bench.registry import answers, keep_beside
from infra.tools.processes import one_at_a_time


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildQueue:
    """Where builds of one local cloud run. home: of the cloud. root: this checkout. recipes: its repository."""

    control: Control
    home: Path
    root: Path
    recipes: str

    def run_next(self, fault: str | None) -> tuple[Mapping[str, Any], BuildOutcome] | None:
        """Run the oldest build of the queue and report it; None where nothing waits. `fault`: see `fault_of`."""
        with self._turn():
            for lost in self.control.builds("WORKING"):
                self.control.report(lost["name"], status="INTERNAL_ERROR", statusDetail="its runner was killed")
            waiting = self.control.builds("QUEUED")
            if not waiting:
                return None
            build = waiting[0]
            # Before the build is taken: a mistake in the name of a step leaves it in the queue.
            chosen = fault_of(fault, [step["id"] for step in build["steps"]])
            env = build.get("options", {}).get("env", ())
            described = [each.removeprefix("CHECKOUTS=") for each in env if each.startswith("CHECKOUTS=")]
            made = int(datetime.fromisoformat(build["createTime"]).timestamp())
            revision = build.get("substitutions", {}).get("_SOURCE_REVISION", "")
            machine = self._machine(build["id"], described, made, revision)
            self.control.take(build["name"])
            return build, self._run(build, machine, chosen)

    def _run(self, build: Mapping[str, Any], machine: BuildMachine, fault: Fault | None) -> BuildOutcome:
        """Run a build that was taken, and report what became of it."""
        try:
            outcome = run_build(build, machine, fault=fault)
        except UnsupportedError as error:
            self.control.report(build["name"], status="INTERNAL_ERROR", statusDetail=str(error))
            raise
        except KeyboardInterrupt:
            self.control.report(build["name"], status="CANCELLED", statusDetail="interrupted by a person")
            raise
        steps = {key: {"status": step.status, "seconds": step.seconds} for key, step in outcome.steps.items()}
        self.control.report(build["name"], status=outcome.status, steps=steps)
        return outcome

    def run_jobs(
        self, jobs: Mapping[str, Mapping[str, Any]], wanted: Sequence[str], *, commit: tuple[str, str], now: int,
        fault: str | None,
    ) -> Iterator[tuple[str, BuildOutcome]]:  # fmt: skip
        """Run these jobs of a push. commit: the repository, and what came to its main. now: seconds since 1970."""
        chosen = fault_of(fault, [step["id"] for name in wanted for step in jobs[name]["steps"]])
        repository, pushed = commit
        with self._turn():
            self.control.pushed(repository, "main", commit=pushed)
            described = [jobs[name]["env"]["CHECKOUTS"] for name in wanted]
            machine = self._machine(f"github-{now}", described, now)
            yield from run_jobs(jobs, machine, wanted=wanted, run=str(now), fault=chosen)

    def _turn(self) -> AbstractContextManager[None]:
        return one_at_a_time(self.home / "builds" / "turn.lock")

    def _machine(self, name: str, described: Sequence[str], made: int, revision: str = "") -> BuildMachine:
        """A machine with every checkout that is described, more than one in a text with semicolons.

        The files of another repository are one made-up file.

        made: when a commit was made, of a repository without pushes. revision: what is built of another repository,
        where not its newest commit.
        """
        folder = self.home / "builds" / name
        env = {
            "TIDEPOOL_HOME": str(self.home), "TIDEPOOL_ROOT": str(self.root), "TIDEPOOL_CLOUD": self.control.url,
            "TIDEPOOL_AHEAD": str(int(self.control.clock()["offset"])),
        }  # fmt: skip
        machine = BuildMachine(folder=folder, registry=self._registry(), env=env)
        for each in (each for several in described for each in several.split(";")):
            _, repository, branch = each.split(" ", 2)
            commits = self.control.pushed(repository, branch) or [(made_up_commit(repository, made), made)]
            tree = self.root
            if repository != self.recipes:
                tree = folder / "made-up" / repository
                tree.mkdir(parents=True, exist_ok=True)
                (tree / "uv.lock").write_text(f"# {repository} at {revision or commits[-1][0]}\n")
            machine.offer(repository, tree, dict(commits))
        return machine

    def _registry(self) -> str:
        """The address of the registry beside the cloud, started where none answers; the cloud is told of it."""
        known = self.control.registry()["address"]
        if known and answers(known):
            return known
        environ = os.environ | {"PYTHONPATH": str(self.root)}
        address = keep_beside(self.home / "registry", self.control.health()["pid"], environ)
        self.control.set_registry(address)
        return address


class NoSuchStepError(Exception):
    """No step of the build is called so; the text lists those that are there."""


def fault_of(text: str | None, steps: Sequence[str]) -> Fault | None:
    """`STEP` or `STEP:REGION` as the first step that it names: `push`, `copy:us-west4`, `copy-tpu-ci-us-west4`."""
    if text is None:
        return None
    kind, _, region = text.partition(":")
    for step in steps:
        if f"{step}-".startswith(f"{kind}-") and step.endswith(region):
            return Fault(step)
    raise NoSuchStepError(f"no step is called {text}; there are {', '.join(steps)}")


def made_up_commit(repository: str, made: int) -> str:
    """A commit for a repository of which there is none."""
    return hashlib.sha256(f"{repository} {made}".encode()).hexdigest()[:40]
