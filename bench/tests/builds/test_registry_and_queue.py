"""Processes of builds on this machine: none outlives who started it, and no build is at work for ever."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.builds import queue
from bench.builds.machine import BuildMachine, BuildStep
from bench.builds.queue import BuildQueue
from bench.builds.running import BuildOutcome
from bench.registry import Registry

HOLDER = """
import os, sys, pathlib
from bench.registry import serve
registry = serve(pathlib.Path(sys.argv[1]))
print(registry.process.pid, flush=True)
sys.stdin.read()
"""


def test_a_registry_ends_with_whoever_started_it_however_that_ends(registry: Registry, tmp_path: Path) -> None:
    del registry  # where it starts, crane is here
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:  # fmt: skip
        assert holder.stdout is not None
        served = int(holder.stdout.readline())
        ended = subprocess.Popen(["tail", f"--pid={served}", "-s", "0.05", "-f", "/dev/null"])
        holder.kill()
    assert ended.wait(timeout=30) == 0, "the registry's process is gone"


class Control:
    """A queue of builds."""

    url = "http://127.0.0.1:1"

    def __init__(self, name: str, *working: str) -> None:
        made = "2026-11-21T00:00:00Z"
        self.listed = {
            "QUEUED": [{"id": name, "name": name, "steps": [], "createTime": made}],
            "WORKING": [{"id": each, "name": each} for each in working],
        }
        self.reports: list[tuple[str, str]] = []

    def registry(self) -> dict[str, str]:
        return {"address": "127.0.0.1:1"}

    def clock(self) -> dict[str, float]:
        return {"offset": 0.0}

    def builds(self, status: str) -> list[dict[str, Any]]:
        return self.listed[status]

    def take(self, name: str) -> None:
        assert self.listed["QUEUED"].pop()["name"] == name

    def report(self, name: str, *, status: str, **more: object) -> None:
        del more
        self.reports.append((name, status))


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    builds: list[str] = []

    def run(build: dict[str, Any], machine: BuildMachine, *, fault: object) -> BuildOutcome:
        del machine, fault
        builds.append(build["name"])
        if build["name"] == "interrupted":
            raise KeyboardInterrupt
        return BuildOutcome("SUCCESS", {})

    monkeypatch.setattr(queue, "answers", lambda address: bool(address))
    monkeypatch.setattr(queue, "run_build", run)
    return builds


def build_queue(control: Control, home: Path) -> BuildQueue:
    return BuildQueue(control=control, home=home, root=home, recipes="owner/name")  # ty: ignore[invalid-argument-type]


def test_an_interrupted_build_is_cancelled_and_not_at_work_for_ever(ran: list[str], tmp_path: Path) -> None:
    control = Control("interrupted")
    with pytest.raises(KeyboardInterrupt):
        build_queue(control, tmp_path).run_next(None)
    assert ran == ["interrupted"]
    assert control.reports == [("interrupted", "CANCELLED")]


def test_a_build_whose_command_was_killed_is_not_at_work_for_ever(ran: list[str], tmp_path: Path) -> None:
    control = Control("next", "killed")
    build_queue(control, tmp_path).run_next(None)
    assert ran == ["next"]
    assert control.reports == [("killed", "INTERNAL_ERROR"), ("next", "SUCCESS")]


def test_an_interrupted_step_leaves_no_process_behind(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait, seen = subprocess.Popen.wait, []

    def interrupted(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        if process not in seen:
            seen.append(process)
            raise KeyboardInterrupt
        return wait(process, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    machine = BuildMachine(folder=tmp_path, registry=registry.address)
    machine.clear()
    with pytest.raises(KeyboardInterrupt):
        machine.run(BuildStep(id="step", script="tail -f /dev/null", env={}, seconds=60), None)
    assert seen[0].returncode is not None
