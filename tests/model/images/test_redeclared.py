"""Which images an apply makes to be built: those whose builds their triggers had to refuse until then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infra.model.images.rebuilds import TRIGGER, before, owed, told
from infra.model.plan import Op, Plan, Status, Step
from tests.model.images.declared import loaded, project

NAME = "tidepool-ci-runner-message"


def trigger(digest: str, **more: Any) -> dict[str, Any]:
    return {"build": {"options": {"envs": ["WORKSPACE=/w", f"STEPS={digest}"]}}, **more}


def step(
    op: Op,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    name: str = NAME,
    status: Status = Status.DONE,
) -> Step:
    return Step(op=op, urn=name, type=TRIGGER, name=name, old_inputs=before, new_inputs=after, status=status)


OTHER = step(Op.SAME, trigger("1"), trigger("1"), "tidepool-ci-other-message")


@pytest.mark.parametrize(
    ("steps", "built"),
    [
        ([step(Op.UPDATE, trigger("1"), trigger("2"))], True),
        ([step(Op.UPDATE, trigger("1"), trigger("1", description="another"))], False),
        ([step(Op.UPDATE, trigger("1", disabled=True), trigger("1"))], True),
        ([step(Op.UPDATE, trigger("1"), trigger("2", disabled=True))], False),
        ([step(Op.UPDATE, trigger("1"), trigger("2"), status=Status.FAILED)], False),
        ([step(Op.CREATE, None, trigger("1")), OTHER], True),
        ([step(Op.CREATE, None, trigger("1"))], False),
        ([step(Op.DELETE, trigger("1"), None), OTHER], False),
        ([step(Op.UPDATE, trigger("1"), trigger("2"), "tidepool-ci-runner-push-x")], False),
        ([step(Op.UPDATE, trigger("1"), {"build": {"options": {"envs": ["WORKSPACE=/w"]}}})], False),
        ([step(Op.UPDATE, trigger("1"), {"build": {"options": {}}})], False),
        ([step(Op.UPDATE, trigger("1"), {"build": {}})], False),
        ([step(Op.UPDATE, {}, trigger("1"))], True),
    ],
    ids=[
        "other steps", "same steps", "turned on", "turned off", "failed", "new beside others", "a first apply", "gone",
        "a trigger of pushes", "no digest", "no variables", "no options", "no build before",
    ],
)  # fmt: skip
def test_an_image_is_built_whose_trigger_has_other_steps_or_was_turned_on(
    steps: list[Step], built: bool, tmp_path: Path
) -> None:
    spec = loaded(project(tmp_path))
    run = Plan(stack="ci", engine="embedded", cloud="local", steps=tuple(steps))
    assert owed(spec, told(spec, run), before(spec, run)) == (("runner",) if built else ())


@pytest.mark.parametrize(
    ("asked", "built"),
    [({"runner": "1"}, True), ({"runner": "2"}, False), ({"runner": ""}, True), ({}, True)],
    ids=["others", "the same", "turned on since", "never"],
)
def test_what_was_asked_for_counts_though_the_run_changed_nothing(
    asked: dict[str, str], built: bool, tmp_path: Path
) -> None:
    spec = loaded(project(tmp_path))
    run = Plan(stack="ci", engine="embedded", cloud="local", steps=(step(Op.SAME, trigger("2"), trigger("2")),))
    assert owed(spec, told(spec, run), asked) == (("runner",) if built else ())
