"""What a build's fields mean where it runs here: order, outputs, limits, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.builds.machine import BuildMachine, Fault
from bench.builds.queue import NoSuchStepError, fault_of
from bench.builds.running import UnsupportedError, run_build, run_job
from infra.tools import install


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuildMachine:
    monkeypatch.setattr("bench.builds.machine.need", lambda name: Path(f"/bin/{name}"))
    return BuildMachine(folder=tmp_path, registry="127.0.0.1:1")


def shell(step_id: str, script: str, **more: Any) -> dict[str, Any]:
    return {"id": step_id, "name": "x", "script": f"#!/bin/sh\n{script}\n", **more}


def test_the_workspace_is_shared_by_steps_and_empty_for_the_next_build(machine: BuildMachine) -> None:
    build = {"steps": [shell("a", "test ! -e mark; echo here >mark"), shell("b", "cat mark")]}
    for _ in range(2):
        assert run_build(build, machine).steps["b"].log == "here\n"


def test_a_step_that_takes_too_long_is_ended_and_none_begins_after_it(machine: BuildMachine) -> None:
    outcome = run_build({"steps": [shell("a", "while :; do :; done", timeout="0.2s"), shell("b", "true")]}, machine)
    assert [outcome.status, *(step.status for step in outcome.steps.values())] == ["TIMEOUT", "TIMEOUT", "QUEUED"]


@pytest.mark.parametrize(("field", "value"), [("secretEnv", ["TOKEN"]), ("volumes", [{}]), ("allowFailure", True)])
def test_a_field_that_is_not_executed_is_refused_by_name(machine: BuildMachine, field: str, value: Any) -> None:
    with pytest.raises(UnsupportedError, match=rf"steps\[0\]\.{field}"):
        run_build({"steps": [shell("a", "touch ran", **{field: value})]}, machine)


def test_a_fault_names_the_first_step_that_it_fits() -> None:
    steps = ["build-x", "copy-x-us-east1", "copy-x-us-west4"]
    assert fault_of("copy", steps) == Fault("copy-x-us-east1")
    assert fault_of("copy:us-west4", steps) == Fault("copy-x-us-west4")
    assert fault_of(None, steps) is None
    with pytest.raises(NoSuchStepError, match="copy-x-us-west4"):
        fault_of("copy:mars", steps)


@pytest.mark.parametrize(
    ("step", "said"),
    [({"uses": "actions/checkout@v4"}, "actions/checkout"), ({"run": "", "env": {"X": "${{ a == b }}"}}, "a == b")],
)
def test_what_a_job_needs_more_is_refused_by_name(machine: BuildMachine, step: dict[str, Any], said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        run_job({"steps": [{"id": "a", **step}]}, machine, needs={}, run="1")


def test_without_go_and_without_a_tool_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "BIN", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install.find("crane") is None
    assert install.build(["crane"]) == []
    with pytest.raises(install.ToolError, match=r"https://go\.dev/dl/"):
        install.need("crane")
