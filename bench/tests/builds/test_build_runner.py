"""What a build's fields mean where it runs here: order, waiting, variables, limits, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.builds.machine import BuildMachine, BuildOutcome, Fault, StepStatus
from bench.builds.queue import NoSuchStepError, fault_of
from bench.builds.running import UnsupportedError, run_build, run_job
from infra.tools import install


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuildMachine:
    monkeypatch.setattr("bench.builds.machine.need", lambda name: Path(f"/bin/{name}"))
    return BuildMachine(folder=tmp_path, registry="127.0.0.1:1")


def shell(step_id: str, script: str, **more: Any) -> dict[str, Any]:
    return {"id": step_id, "name": "x", "script": f"#!/bin/sh\n{script}\n", **more}


def test_a_step_waits_for_those_that_it_names_and_else_for_all_before_it(machine: BuildMachine) -> None:
    steps = [
        shell("a", "echo a >>order", waitFor=["-"]),
        shell("b", "echo b >>order", waitFor=["a"]),
        shell("c", "echo c >>order", waitFor=["b"]),
        shell("d", "cat order"),
    ]
    assert run_build({"steps": steps}, machine).step("d").log == "a\nb\nc\n"


def test_steps_that_wait_for_the_same_ones_run_at_once(machine: BuildMachine) -> None:
    """Each waits until the other one has begun, which steps one after the other never would."""
    meeting = "touch $ME; until [ -e $OTHER ]; do :; done"
    pair = [("left", "right"), ("right", "left")]
    steps = [shell(me, meeting, waitFor=["-"], env=[f"ME={me}", f"OTHER={other}"]) for me, other in pair]
    assert run_build({"steps": steps, "timeout": "30s"}, machine).status is StepStatus.SUCCESS


def test_the_first_step_that_fails_ends_those_beside_it_and_none_begins_after_it(machine: BuildMachine) -> None:
    steps = [
        shell("slow", "touch begun; while :; do :; done", waitFor=["-"]),
        shell("bad", "until [ -e begun ]; do :; done; exit 1", waitFor=["-"]),
        shell("later", "true", waitFor=["-", "slow"]),
    ]
    outcome = run_build({"steps": steps, "timeout": "60s"}, machine)
    assert [step.status for step in outcome.steps] == ["CANCELLED", "FAILURE", "QUEUED"]
    assert outcome.status is StepStatus.FAILURE


def test_the_workspace_is_shared_by_steps_and_empty_for_the_next_build(machine: BuildMachine) -> None:
    build = {"steps": [shell("a", "test ! -e mark; echo here >mark"), shell("b", "cat mark")]}
    for _ in range(2):
        assert run_build(build, machine).step("b").log == "here\n"


def test_a_step_that_takes_too_long_is_ended(machine: BuildMachine) -> None:
    outcome = run_build({"steps": [shell("a", "while :; do :; done", timeout="0.2s"), shell("b", "true")]}, machine)
    assert outcome.status is StepStatus.TIMEOUT
    assert outcome.step("b").status is StepStatus.QUEUED


@pytest.mark.parametrize(
    ("field", "value"), [("secretEnv", ["TOKEN"]), ("volumes", [{}]), ("allowFailure", True), ("waitFor", ["later"])]
)
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


def test_a_job_hands_on_what_a_step_writes_and_takes_what_others_wrote(machine: BuildMachine) -> None:
    step = {"id": "a", "shell": "sh", "run": 'echo "digest=$FROM-child" >>"$GITHUB_OUTPUT"'}
    job = {"steps": [{**step, "env": {"FROM": "${{ needs.base.outputs.digest }}"}}]}
    job["outputs"] = {"digest": "${{ steps.a.outputs.digest }}", "none": "${{ steps.a.outputs.other }}"}
    needs = {"base": BuildOutcome(StepStatus.SUCCESS, (), {"digest": "parent"})}
    assert run_job(job, machine, needs=needs, run="1").outputs == {"digest": "parent-child", "none": ""}


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
