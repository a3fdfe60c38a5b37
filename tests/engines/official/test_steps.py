"""What the CLI says becomes the neutral plan."""

from __future__ import annotations

import json

import pytest
from pulumi.automation import events

from infra.engines.official import plan_from_preview_json
from infra.engines.official.recorder import Recorder
from infra.engines.official.steps import without_traceback
from infra.model.errors import EngineError
from infra.model.plan import Diagnostic, Op, Plan, Status, Step
from infra.preview.words import told
from tests.engines.official.replay import engine_events, event_lines, text

VM = "urn:pulumi:ci::tidepool::tidepool:runners:Pool$gcp:tpu/v2Vm:V2Vm::tpu-ci-us-west4-a-"


class Ticks:
    """A clock that moves one second at each look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def record(name: str, *, planning: bool | None = None) -> tuple[Recorder, list]:
    heard: list = []
    planning = name.startswith("preview") if planning is None else planning
    recorder = Recorder(heard.append, planning=planning, clock=Ticks())
    for event in engine_events(name):
        recorder.take(event)
    return recorder, heard


def steps(name: str) -> dict[str, Step]:
    return {step.name: step for step in record(name)[0].steps()}


def ops(name: str) -> dict[str, str]:
    return {step.name: step.op.value for step in record(name)[0].steps()}


@pytest.mark.parametrize(
    ("name", "summary"),
    [
        ("preview-create", {"create": 6, "update": 0, "replace": 0, "delete": 0, "same": 0}),
        ("preview-change", {"create": 1, "update": 2, "replace": 0, "delete": 0, "same": 4}),
        ("preview-replace", {"create": 0, "update": 0, "replace": 3, "delete": 0, "same": 4}),
        ("preview-delete", {"create": 0, "update": 0, "replace": 0, "delete": 2, "same": 5}),
        ("preview-boom", {"create": 0, "update": 0, "replace": 0, "delete": 0, "same": 7}),
    ],
)
def test_a_plan_counts_what_the_cli_counts_without_its_default_providers(name: str, summary: dict[str, int]) -> None:
    recorder, _ = record(name)
    plan = Plan(stack="ci", engine="pulumi", cloud="local", steps=recorder.steps())
    assert plan.summary == {**summary, "adopt": 0, "retain": 0}
    assert all(step.status is Status.PLANNED and step.seconds is None for step in plan.steps)


@pytest.mark.parametrize(
    "name", ["preview-create", "preview-change", "preview-replace", "preview-delete", "preview-boom"]
)
def test_a_preview_from_a_file_is_the_preview_from_events(name: str) -> None:
    recorder, _ = record(name)
    plan = plan_from_preview_json(text(f"{name}.json"), stack="ci", cloud="google")
    assert {step.urn: step for step in plan.steps} == {step.urn: step for step in recorder.steps()}
    assert {(said.severity, said.message) for said in plan.diagnostics} == {
        (said.severity, said.message) for said in recorder.diagnostics()
    }


@pytest.mark.parametrize("read", [{"version": 3}, "Previewing update (ci):"])
def test_a_file_that_is_no_preview_is_refused_with_the_command_that_makes_one(read: dict[str, int] | str) -> None:
    with pytest.raises(EngineError, match="preview --json --show-sames"):
        plan_from_preview_json(read, stack="ci", cloud="google")


@pytest.mark.parametrize("name", ["up-create", "up-replace", "preview-replace", "up-failed"])
def test_no_ciphertext_and_no_engine_sentinel_leaves_the_translation(name: str) -> None:
    said = repr(record(name)[0].steps())
    assert "4dabf18193072939515e22adb298388d" not in said
    assert "04da6b54-80e4-46f7-96ec-b56ff0331ba9" not in said


def refused(recorder: Recorder, urn: str, message: str) -> None:
    """The CLI's event of a resource that its provider refuses at plan time: there is no step of it."""
    said = {"message": message, "severity": "error", "urn": urn, "prefix": "", "color": "never"}
    event = {"sequence": 1, "timestamp": 1, "diagnosticEvent": said}
    recorder.take(events.EngineEvent.from_json(event))


def test_what_a_provider_refuses_in_a_preview_is_a_failed_step_and_the_plan_is_incomplete() -> None:
    recorder = Recorder(None, planning=True)
    urn = "urn:pulumi:ci::tidepool::tidepool:builds:Builds$gcp:cloudbuild/trigger:Trigger::push"
    refused(recorder, urn, "sdk-v2/provider2.go:571: sdk.helper_schema: too long: provider=google-beta@10.2.0")
    refused(recorder, urn, "1 error occurred:\n\t* too long\n\n")
    (step,) = recorder.steps()
    assert (step.name, step.status, step.error) == ("push", Status.FAILED, "too long")
    plan = Plan(stack="ci", engine="pulumi", cloud="local", steps=recorder.steps(), diagnostics=recorder.diagnostics())
    assert plan.failed
    assert not plan.complete
    assert [told(said) for said in plan.diagnostics] == ["push (cloudbuild.Trigger): too long"]


@pytest.mark.parametrize("name", ["up-boom", "preview-boom"])
def test_a_program_that_raises_is_one_error_without_a_traceback(name: str) -> None:
    recorder, _ = record(name)
    (error,) = [said for said in recorder.diagnostics() if said.severity == "error"]
    assert error.message.endswith("ValueError: boom")
    assert "Traceback" not in error.message
    assert "__main__.py" not in error.message


def test_a_refresh_says_what_is_gone_and_what_is_as_it_was() -> None:
    assert ops("refresh-gone") == {
        "tidepool-ci": "same",
        "tpu-ci": "same",
        "runners": "same",
        "tpu-ci-vm": "same",
        "tpu-ci-us-west4-a-0": "delete",
    }


def test_a_preview_with_refresh_counts_each_resource_once() -> None:
    found = ops("preview-refresh")
    assert found["tpu-ci-us-west4-a-0"] == "create"
    assert set(found.values()) == {"create", "same"}


def test_a_diagnostic_that_the_cli_repeats_is_told_once() -> None:
    _, heard = record("up-create")
    said = [event for event in heard if isinstance(event, Diagnostic)]
    assert len(said) == len(set(said)) == 1


@pytest.mark.parametrize("cut", range(6, 40, 3))
def test_a_run_that_ends_anywhere_leaves_every_step_it_began_accounted_for(cut: int) -> None:
    recorder = Recorder(None, planning=False, clock=Ticks())
    begun = set()
    for line, event in list(zip(event_lines("up-replace"), engine_events("up-replace"), strict=True))[:cut]:
        recorder.take(event)
        metadata = json.loads(line).get("resourcePreEvent", {}).get("metadata")
        if metadata and "::pulumi:providers:" not in metadata["urn"]:
            begun.add(metadata["urn"])
    found = {step.urn: step.status for step in recorder.steps()}
    assert begun <= set(found)
    assert set(found.values()) <= {Status.DONE, Status.SKIPPED, Status.FAILED}


def test_a_replacement_whose_old_resource_is_deleted_already_is_a_creation() -> None:
    planned, run = Recorder(None, planning=True), Recorder(None, planning=False, clock=Ticks())
    for recorder, name in ((planned, "preview-replace"), (run, "up-replace")):
        recorder.create_again({f"{VM}0"})
        for event in engine_events(name):
            ended = event.res_outputs_event or event.resource_pre_event
            half = ended and ended.metadata.urn == f"{VM}0" and ended.metadata.op.value == "delete-replaced"
            if not half:
                recorder.take(event)
        found = {step.urn: step for step in recorder.steps()}
        assert (found[f"{VM}0"].op, found[f"{VM}0"].old_inputs) == (Op.CREATE, None)
        assert found[f"{VM}0"].status is (Status.PLANNED if recorder is planned else Status.DONE)
        assert sum(step.op is Op.REPLACE for step in found.values()) == 2


def test_half_a_replacement_is_a_failure_that_says_which_half_was_done() -> None:
    recorder = Recorder(None, planning=False, clock=Ticks())
    for event in engine_events("up-replace"):
        recorder.take(event)
        ended = event.res_outputs_event
        if ended and ended.metadata.op.value == "delete-replaced" and ended.metadata.urn == f"{VM}0":
            break
    (step,) = [step for step in recorder.steps() if step.urn == f"{VM}0"]
    assert step.status is Status.FAILED
    assert "its old resource is gone" in (step.error or "")


def test_frames_are_cut_and_every_line_of_the_message_is_kept() -> None:
    frames = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    boom()'
    said = f"Program failed:\n{frames}\nError: a\nb"
    assert without_traceback(said) == "Program failed:\nError: a\nb"
