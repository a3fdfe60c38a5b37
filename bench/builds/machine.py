"""The machine on which builds run here: recorded tools, repositories to fetch, the local registry, and what goes wrong.

Owns what a step finds around it and how one step runs. Leaves the order of steps to `running`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from infra.model.images.steps import variable
from infra.model.images.told import told_values
from infra.tools.install import need

TOOLS = Path(__file__).resolve().parent / "tools"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


Status: TypeAlias = Literal["QUEUED", "SUCCESS", "FAILURE", "TIMEOUT"]
"""What became of a step or a build, in Cloud Build's words."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The step of that id goes wrong.

    when: `tools`: every call of a tool fails, as often as it is tried again. `once`: the first one does, and the step
    goes on. `term`: the step is ended at its first call of a tool. `after`: the step does all that it does, and the
    worker is lost before anybody hears of it.
    """

    step: str
    when: Literal["tools", "once", "term", "after"] = "tools"


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """One step: `seconds` of wall time, `log` what it said, `outputs` what it wrote for other steps of a job."""

    status: Status
    seconds: float = 0.0
    log: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildStep:
    """One step as it runs here. script: its text. seconds: what it may take."""

    id: str
    script: str
    env: Mapping[str, str]
    seconds: float


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

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def offer(self, repository: str, tree: Path, commits: Mapping[str, int]) -> None:
        """Let builds fetch a repository: its files, and further commits that its branch was at, newest last, each with
        the second that it was made at.
        """
        folder = self.folder / "sources" / repository
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tree").unlink(missing_ok=True)
        (folder / "tree").symlink_to(tree.resolve())
        with (folder / "commits").open("a") as known:
            known.writelines(f"{commit} {seconds}\n" for commit, seconds in commits.items())

    def clear(self) -> None:
        """The workspace as a new build finds it: empty."""
        shutil.rmtree(self.workspace, ignore_errors=True)
        self.workspace.mkdir(parents=True)

    def run(self, step: BuildStep, fault: Fault | None) -> StepOutcome:
        """Run one step to its end, or end it when its time is over; whatever it started ends with it."""
        when = fault.when if fault is not None and fault.step == step.id else ""
        folder = self.folder / "steps" / step.id
        (folder / "home").mkdir(parents=True, exist_ok=True)
        (folder / "script").write_text(step.script)
        (folder / "output").write_text("")
        environment = {
            "PATH": f"{TOOLS}:{SYSTEM_PATH}",
            "HOME": str(folder / "home"),
            "GITHUB_OUTPUT": str(folder / "output"),
            "TIDEPOOL_CALLS": str(self.calls_file),
            "TIDEPOOL_CRANE": str(need("crane")),
            "TIDEPOOL_FAULT": when,
            "TIDEPOOL_PYTHON": sys.executable,
            "TIDEPOOL_REGISTRY": self.registry,
            "TIDEPOOL_SOURCES": str(self.folder / "sources"),
            "TIDEPOOL_STEP": step.id,
            **self.env,
            **step.env,
        }
        began = time.monotonic()
        with (folder / "log").open("wb") as out:
            process = subprocess.Popen(
                ["sh", "-e", folder / "script"], cwd=self.workspace, env=environment,
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            status: Status = "FAILURE"
            try:
                if process.wait(step.seconds) == 0 and when != "after":
                    status = "SUCCESS"
            except subprocess.TimeoutExpired:
                status = "TIMEOUT"
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                process.wait()
        log = (folder / "log").read_text(errors="replace")
        outputs = dict(line.split("=", 1) for line in (folder / "output").read_text().splitlines())
        return StepOutcome(status, time.monotonic() - began, log, outputs)

    def bring(self, workspace: Path, step_id: str) -> None:
        """Put the tools that a step would download into its workspace, each under the checksum that it would insist on.

        Which those are the step `plan` has written down by then.
        """
        told = workspace / "out/told" / step_id
        values = told_values(told.read_text()) if told.exists() else {}
        for name in values.get("TOOLS", "").split():
            # A folder is found by the wrapper's own path, hence a script that hands over rather than a link.
            stand_in = workspace / "tools/bin" / name
            stand_in.parent.mkdir(parents=True, exist_ok=True)
            stand_in.write_text(f'#!/bin/sh\nexec "{TOOLS / name}" "$@"\n')
            stand_in.chmod(0o755)
            (workspace / "tools" / f"{name}.sha256").write_text(values[f"{variable(name)}_SHA256"])
