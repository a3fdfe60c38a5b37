"""One plan, told by the pulumi CLI's events and by its preview in a file: one comment."""

from __future__ import annotations

import pytest

from infra.engines.official import plan_from_preview_json
from infra.engines.official.recorder import Recorder
from infra.model.plan import Plan
from infra.preview.comment import Preview, comment
from tests.engines.official.replay import engine_events, text


def _told_by_events(name: str) -> Plan:
    recorder = Recorder(None, planning=True)
    for event in engine_events(name):
        recorder.take(event)
    return Plan(stack="ci", engine="pulumi", cloud="google", steps=recorder.steps(), diagnostics=recorder.diagnostics())


def _comment(plan: Plan) -> str:
    return comment(Preview(stack="ci", plan=plan))


@pytest.mark.parametrize("name", ["preview-create", "preview-change", "preview-replace", "preview-delete"])
def test_events_and_a_file_make_one_comment(name: str) -> None:
    told = _comment(_told_by_events(name))
    assert told == _comment(plan_from_preview_json(text(f"{name}.json"), stack="ci", cloud="google"))
    assert "hunter2" not in told


def test_a_program_that_raises_is_told_alike_from_events_and_from_a_file() -> None:
    told = _comment(_told_by_events("preview-boom"))
    assert told == _comment(plan_from_preview_json(text("preview-boom.json"), stack="ci", cloud="google"))
    assert told.startswith("## ci: the preview failed\n")
    assert "ValueError: boom" in told
    assert "pulumi-resource-gcp" not in told, "remarks on the machine are nobody's business"
