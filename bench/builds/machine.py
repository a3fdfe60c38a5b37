"""The machine on which builds run here: recorded tools, repositories to fetch, the local registry, and what goes wrong.

Owns what a step finds around it. Leaves the order of steps to `running`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from infra.model.images.steps import variable
from infra.model.images.told import told_values
from infra.tools.install import need

TOOLS = Path(__file__).resolve().parent / "tools"
GRACE_SECONDS = 10.0
"""Between TERM and KILL of a step, as builders wait."""
LOOK_SECONDS = 0.1
"""Between two looks whether a step that runs shall be ended."""
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


class When(StrEnum):
    """How a step goes wrong."""

    TOOLS = "tools"
    """Every call of a tool fails, as often as it is tried again."""
    ONCE = "once"
    """The first call of a tool fails, and the step goes on."""
    TERM = "term"
    """The step is ended in the middle, at its first call of a tool."""
    AFTER = "after"
    """The step does all that it does, and the worker is lost before anybody hears of it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong: the step of that id, in that way."""

    step: str
    when: When = When.TOOLS


class StepStatus(StrEnum):
    """What became of a step or a build, in Cloud Build's words."""

    QUEUED = "QUEUED"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """One step: `seconds` of wall time, `log` what it said."""

    id: str
    status: StepStatus
    seconds: float = 0.0
    log: str = ""


@dataclass(frozen=True, slots=True)
class BuildOutcome:
    """One build, or one job of a workflow. `outputs` are what a job hands on."""

    status: StepStatus
    steps: tuple[StepOutcome, ...]
    outputs: Mapping[str, str] = field(default_factory=dict)

    def step(self, step_id: str) -> StepOutcome:
        return next(step for step in self.steps if step.id == step_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildMachine:
    """folder: where everything of it is. registry: host:port. env: further variables of every step, such as where the
    local cloud is.
    """

    folder: Path
    registry: str
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def calls_file(self) -> Path:
        return self.folder / "calls.tsv"

    def offer(self, repository: str, tree: Path, commits: Mapping[str, int]) -> None:
        """Let builds fetch a repository: its files, and the commits that its branch was at, newest last, each with the
        second that it was made at.
        """
        folder = self.folder / "sources" / repository
        (folder / "times").mkdir(parents=True, exist_ok=True)
        (folder / "tree").unlink(missing_ok=True)
        (folder / "tree").symlink_to(tree.resolve())
        for commit, seconds in commits.items():
            (folder / "times" / commit).write_text(f"{seconds}\n")
        if commits:
            head, seconds = list(commits.items())[-1]
            (folder / "times" / "head").write_text(f"{seconds}\n")
            (folder / "head").write_text(f"{head}\n")

    def bring(self, workspace: Path, step_id: str) -> None:
        """Put the tools that a step would download into its workspace, each under the checksum that it would insist on.

        Which those are the step `plan` has written down by then.
        """
        told = workspace / "out/told" / step_id
        values = told_values(told.read_text()) if told.exists() else {}
        tools = {name: values[f"{variable(name)}_SHA256"] for name in values.get("TOOLS", "").split()}
        for name, sha256 in tools.items():
            (workspace / "tools/bin").mkdir(parents=True, exist_ok=True)
            # A folder is found by the wrapper's own path, hence a script that hands over rather than a link.
            stand_in = workspace / "tools/bin" / name
            stand_in.write_text(f'#!/bin/sh\nexec "{TOOLS / name}" "$@"\n')
            stand_in.chmod(0o755)
            (workspace / "tools" / f"{name}.sha256").write_text(f"{sha256}\n")

    def run(
        self,
        step_id: str,
        command: list[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float,
        fault: Fault | None = None,
        stop: threading.Event | None = None,
    ) -> StepOutcome:
        """Run one step to its end, or end it after `timeout` seconds, or when another thread says `stop`."""
        when = fault.when if fault is not None and fault.step == step_id else None
        log = self.folder / "logs" / f"{step_id}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        with log.open("wb") as out:
            process = subprocess.Popen(
                command, cwd=cwd, env=self._environment(step_id, env, when),
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            status = _ended(process, timeout, stop or threading.Event())
        if when is When.AFTER:
            status = StepStatus.FAILURE
        return StepOutcome(step_id, status, time.monotonic() - began, log.read_text(errors="replace"))

    def _environment(self, step_id: str, env: Mapping[str, str], when: When | None) -> dict[str, str]:
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return {
            "PATH": f"{TOOLS}:{SYSTEM_PATH}",
            "HOME": str(home),
            "TIDEPOOL_CALLS": str(self.calls_file),
            "TIDEPOOL_CRANE": str(need("crane")),
            "TIDEPOOL_FAULT": str(when or ""),
            "TIDEPOOL_PYTHON": sys.executable,
            "TIDEPOOL_REGISTRY": self.registry,
            "TIDEPOOL_SOURCES": str(self.folder / "sources"),
            "TIDEPOOL_STEP": step_id,
            **self.env,
            **env,
        }

    def clear(self, workspace: Path) -> None:
        """A workspace as a new build finds it: empty."""
        shutil.rmtree(workspace, ignore_errors=True)
        workspace.mkdir(parents=True)


def _ended(process: subprocess.Popen[bytes], timeout: float, stop: threading.Event) -> StepStatus:
    """What became of a step. It is ended where it takes too long, and where whoever waits for it is interrupted."""
    deadline = time.monotonic() + timeout
    try:
        while not stop.is_set():
            left = deadline - time.monotonic()
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(max(0.0, min(left, LOOK_SECONDS)))
                return StepStatus.FAILURE if code else StepStatus.SUCCESS
            if left <= 0:
                _end(process)
                return StepStatus.TIMEOUT
    except BaseException:
        _end(process)
        raise
    _end(process)
    return StepStatus.CANCELLED


def _end(process: subprocess.Popen[bytes]) -> None:
    # An interrupted wait may have found the step's end, and then its group is gone.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
