"""What a build's fields mean where it runs here: order, waiting, variables, limits, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.builds.machine import BuildMachine, BuildOutcome, Fault, StepStatus, When
from bench.builds.queue import NoSuchStepError, fault_of
from bench.builds.running import UnsupportedError, run_build, run_job
from bench.cloud.services.cloudbuild.substitutions import applied
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


def test_a_dollar_sign_in_arguments_and_environment_is_written_twice_and_in_a_script_once(
    machine: BuildMachine,
) -> None:
    argument = {"id": "a", "name": "x", "entrypoint": "sh", "args": ["-c", "echo $$0 $_NAME $${HOME:+home}"]}
    script = shell("b", "echo $$ | grep -q '[0-9]' && echo $VALUE", env=["VALUE=$$5 for ${_NAME}"])
    build = applied({"steps": [argument, script]}, {"_NAME": "somebody"})
    outcome = run_build(build, machine)
    assert outcome.step("a").log == "sh somebody home\n"
    assert outcome.step("b").log == "$5 for somebody\n"


def test_the_workspace_is_shared_by_steps_and_empty_for_the_next_build(machine: BuildMachine) -> None:
    build = {"steps": [shell("a", "test ! -e mark; echo here >mark"), shell("b", "cat mark")]}
    for _ in range(2):
        assert run_build(build, machine).step("b").log == "here\n"


def test_a_path_of_the_workspace_is_one_of_this_machine(machine: BuildMachine) -> None:
    build = {"steps": [shell("a", 'echo x >"$FILE"', env=["FILE=/workspace/file"]), shell("b", "cat file")]}
    assert run_build(build, machine).step("b").log == "x\n"


def test_a_step_that_takes_too_long_is_ended(machine: BuildMachine) -> None:
    outcome = run_build({"steps": [shell("a", "while :; do :; done", timeout="0.2s"), shell("b", "true")]}, machine)
    assert outcome.status is StepStatus.TIMEOUT
    assert outcome.step("b").status is StepStatus.QUEUED


def test_a_step_without_a_limit_is_ended_with_the_build(machine: BuildMachine) -> None:
    outcome = run_build({"steps": [shell("a", "while :; do :; done")], "timeout": "0.2s"}, machine)
    assert outcome.status is StepStatus.TIMEOUT


@pytest.mark.parametrize(
    ("field", "value"), [("secretEnv", ["TOKEN"]), ("volumes", [{}]), ("allowFailure", True), ("waitFor", ["later"])]
)
def test_a_field_that_is_not_executed_is_refused_by_name(machine: BuildMachine, field: str, value: Any) -> None:
    with pytest.raises(UnsupportedError, match=rf"steps\[0\]\.{field}"):
        run_build({"steps": [shell("a", "touch ran", **{field: value})]}, machine)


def test_secrets_of_a_build_are_refused(machine: BuildMachine) -> None:
    with pytest.raises(UnsupportedError, match="availableSecrets"):
        run_build({"steps": [], "availableSecrets": {}}, machine)


def test_a_fault_names_the_first_step_that_it_fits() -> None:
    steps = ["build-x", "copy-x-us-east1", "copy-x-us-west4"]
    assert fault_of("copy", steps) == Fault("copy-x-us-east1")
    assert fault_of("copy:us-west4", steps) == Fault("copy-x-us-west4")
    assert fault_of(None, steps) is None
    with pytest.raises(NoSuchStepError, match="copy-x-us-west4"):
        fault_of("copy:mars", steps)


def test_a_step_that_ended_well_and_was_not_heard_of_is_a_failure(machine: BuildMachine) -> None:
    outcome = run_build({"steps": [shell("a", "echo done")]}, machine, fault=Fault("a", When.AFTER))
    assert outcome.step("a").log == "done\n"
    assert outcome.status is StepStatus.FAILURE


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


def test_a_tool_on_path_serves_where_it_cannot_be_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "crane").touch(mode=0o755)
    monkeypatch.setattr(install, "BIN", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install.need("crane") == tmp_path / "crane"


def test_a_tool_that_was_built_from_other_versions_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "BIN", tmp_path)
    monkeypatch.setenv("PATH", "")
    (tmp_path / "crane").touch(mode=0o755)
    (tmp_path / ".crane.go-stamp").write_text("another go.sum")
    assert install.find("crane") is None


def test_the_versions_of_the_go_tools_are_pinned_with_checksums() -> None:
    sums = (install.MODULE / "go.sum").read_text()
    module = (install.MODULE / "go.mod").read_text()
    assert "github.com/rhysd/actionlint v1.7.12 h1:" in sums
    for package in install.PACKAGES.values():
        assert f"\t{package}\n" in module
