"""Runs what waits in the local cloud's queue of builds, and the GitHub jobs of a push, as the services would.

Owns what a build finds on this machine: this checkout as the recipes, made-up files for any other repository, the
registry beside the cloud. Leaves the running itself to `running`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.builds.machine import BuildMachine, BuildOutcome, Fault
from bench.builds.running import UnsupportedError, run_build, run_jobs
from bench.cloud.control import Control, ControlError
from bench.registry import answers, keep_beside
from infra.tools.processes import is_held, one_at_a_time

NO_COMMIT = "0" * 40
_HISTORY = 100
"""Commits of this checkout that a build may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildQueue:
    """Where builds of one local cloud run. home: of the cloud. root: this checkout. recipes: its repository."""

    control: Control
    home: Path
    root: Path
    recipes: str

    def registry(self) -> str:
        """The address of the registry beside the cloud, started where none answers; the cloud is told of it."""
        folder = self.home / "registry"
        with one_at_a_time(folder / "start.lock"):
            known = self.control.registry()["address"]
            if known and answers(known):
                return known
            address = keep_beside(folder, self.control.health()["pid"], os.environ | {"PYTHONPATH": str(self.root)})
            self.control.set_registry(address)
            return address

    def run_next(self, fault: str | None) -> tuple[Mapping[str, Any], BuildOutcome] | None:
        """Run the oldest build of the queue and report it; None where nothing waits. `fault`: see `fault_of`."""
        self._end_abandoned()
        while waiting := self.control.builds("QUEUED"):
            # Before the build is taken: a mistake in the name of a step leaves it in the queue.
            chosen = fault_of(fault, [step["id"] for step in waiting[0]["steps"]])
            registry = self.registry()
            with ExitStack() as held:
                with one_at_a_time(self._taking):
                    build = self._take(waiting[0])
                    if build is not None:
                        held.enter_context(one_at_a_time(self._at_work(build)))
                if build is not None:
                    return build, self._run(build, registry, chosen)
        return None

    @property
    def _taking(self) -> Path:
        return self.home / "builds" / "taking.lock"

    def _at_work(self, build: Mapping[str, Any]) -> Path:
        """The lock that the command which runs this build holds meanwhile."""
        return self.home / "builds" / build["id"] / "at-work.lock"

    def _take(self, build: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The build, taken from the queue; None where another command was faster."""
        try:
            return self.control.take(build["name"])
        except ControlError:
            if build["id"] in {each["id"] for each in self.control.builds("QUEUED")}:
                raise
            return None

    def _end_abandoned(self) -> None:
        """Report builds as ended whose command was killed, so that none is at work for ever."""
        with one_at_a_time(self._taking):
            for build in self.control.builds("WORKING"):
                if not is_held(self._at_work(build)):
                    self.control.report(build["name"], status="INTERNAL_ERROR", statusDetail="its runner was killed")

    def _run(self, build: Mapping[str, Any], registry: str, fault: Fault | None) -> BuildOutcome:
        """Run a build that was taken, and report what became of it."""
        machine = self._machine(build["id"], registry)
        described = _checkouts(build.get("options", {}).get("env", ()))
        made = int(datetime.fromisoformat(build["createTime"]).timestamp())
        self._offer(machine, described, made, build.get("substitutions", {}).get("_SOURCE_REVISION", ""))
        try:
            outcome = run_build(build, machine, fault=fault)
        except UnsupportedError as error:
            self.control.report(build["name"], status="INTERNAL_ERROR", statusDetail=str(error))
            raise
        except KeyboardInterrupt:
            self.control.report(build["name"], status="CANCELLED", statusDetail="interrupted by a person")
            raise
        steps = {step.id: {"status": str(step.status), "seconds": step.seconds} for step in outcome.steps}
        self.control.report(build["name"], status=str(outcome.status), steps=steps)
        return outcome

    def run_jobs(
        self, jobs: Mapping[str, Mapping[str, Any]], wanted: Sequence[str], *, run: str, commits: Mapping[str, str],
        now: int, fault: str | None,
    ) -> Iterator[tuple[str, BuildOutcome]]:  # fmt: skip
        """Run these jobs of a push. commits: of repositories, where known. now: seconds since 1970."""
        machine = self._machine(f"github-{run}-{os.getpid()}", self.registry())
        described = [each for name in wanted for each in jobs[name]["env"]["CHECKOUTS"].split(";")]
        for each in {*described}:
            _, repository, branch = each.split(" ", 2)
            if commit := commits.get(repository):
                self.control.pushed(repository, branch, commit=commit)
        self._offer(machine, described, now)
        ids = [step["id"] for name in wanted for step in jobs[name]["steps"]]
        yield from run_jobs(jobs, machine, wanted=tuple(wanted), run=run, fault=fault_of(fault, ids))

    def _machine(self, name: str, registry: str) -> BuildMachine:
        folder = self.home / "builds" / name
        folder.mkdir(parents=True, exist_ok=True)
        ahead = str(int(self.control.clock()["offset"]))
        env = {
            "TIDEPOOL_HOME": str(self.home), "TIDEPOOL_ROOT": str(self.root), "TIDEPOOL_AHEAD": ahead,
            "TIDEPOOL_CLOUD": self.control.url,
        }  # fmt: skip
        return BuildMachine(folder=folder, registry=registry, env=env)

    def _offer(self, machine: BuildMachine, described: Sequence[str], made: int, revision: str = "") -> None:
        """Every checkout of a build with the commits that its branch was at; another repository is one made-up file.

        Of this project the checkout's own commits are added. A repository without pushes has one made-up commit.
        revision: what is built of another repository, where not its newest commit.
        """
        for each in described:
            _, repository, branch = each.split(" ", 2)
            pushed = self.control.pushed(repository, branch)
            if repository == self.recipes:
                known = sorted([*pushed, *_history(self.root)], key=lambda commit: commit[1])
                machine.offer(repository, self.root, dict(known))
                continue
            commits = pushed or [(made_up_commit(repository, made), made)]
            tree = machine.folder / "made-up" / repository
            tree.mkdir(parents=True, exist_ok=True)
            (tree / "uv.lock").write_text(f"# {repository} at {revision or commits[-1][0]}\n")
            machine.offer(repository, tree, dict(commits))


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


def _history(root: Path) -> list[tuple[str, int]]:
    """The commits of this checkout and when each was made; one of zeros where git does not know."""
    command = ["git", "log", "--first-parent", f"--max-count={_HISTORY}", "--format=%H %ct"]
    try:
        said = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        return [(NO_COMMIT, 0)]
    return [(commit, int(seconds)) for commit, seconds in zip(said[::2], said[1::2], strict=True)]
