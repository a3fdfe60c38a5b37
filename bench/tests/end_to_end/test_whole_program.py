"""The program of the ci stack, all types of it, at a cloud that checks every call and answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.cloud.testing import TestCloud
from bench.engine.run import Options
from bench.providers.google import GoogleProvider
from bench.tests.end_to_end.fleet_world import complaints, engine_of
from infra.model.plan import Op, Plan
from infra.model.stack_text import pulumi_values
from tests.program.stacks import lab_program
from tests.synthetic_lab import steady

pytestmark = pytest.mark.usefixtures("cheap_keys")


def changed(plan: Plan) -> list[tuple[str, str, dict[str, object]]]:
    return [(step.op.value, step.urn, dict(step.diff)) for step in plan.steps if step.op is not Op.SAME]


def test_what_was_made_reads_back_as_declared(tmp_path: Path, cloud: TestCloud) -> None:
    values = pulumi_values(steady("ci"), source="ci")
    engine = engine_of(tmp_path, "ci", values, lab_program, GoogleProvider(cloud.url))
    before = cloud.control.status()["requests"]
    made = engine.up(Options(previewed=True))
    assert complaints(made) == []
    assert {node["state"] for node in cloud.control.nodes()} == {"READY"}
    assert len(cloud.control.nodes()) == 9

    refused = [entry for entry in cloud.control.log(limit=5000, after=before) if entry["status"] >= 400]
    assert refused == [], "the provider must ask nothing that the service refuses"

    refreshed = engine.refresh()
    assert complaints(refreshed) == []
    assert {step.op for step in refreshed.steps} == {Op.SAME}, "what only a service counts is no change"
    again = engine.preview(Options(refresh=True))
    assert complaints(again) == []
    assert changed(again) == []
