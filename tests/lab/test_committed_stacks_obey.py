"""The committed stacks break no rule, and each rule would see it if they did."""

from __future__ import annotations

import pytest

from infra.model.bounds import fleet, limits
from infra.model.images.load import load_images
from infra.model.images.pins import RESOLVE, load_pins
from infra.model.images.steps import step_pins
from infra.model.phases import phases
from infra.model.stack import load_stack, siblings
from infra.rules.book import judge
from infra.rules.view import ResourceView
from tests.lab.committed import ROOT, STACKS, committed
from tests.rules.right_edits import TODAY, edit

STACK_FILES = {stack: load_stack(ROOT, stack) for stack in STACKS}


@pytest.mark.parametrize("stack", STACKS)
def test_a_committed_stack_has_no_finding(stack: str) -> None:
    config = load_stack(ROOT, stack)
    resources = [
        ResourceView(type=each.type, name=each.name, urn=each.urn, inputs=each.inputs, protect=each.protect)
        for each in committed(stack).resources.values()
    ]
    assert len(resources) > 30
    others = siblings(ROOT, stack)
    order = phases(fleet(config), fleet(config), limits(config, others))
    found = judge(edit(config, before=config, siblings=others, order=order, today=TODAY), resources)
    assert [finding for finding in found if finding.rule != "trigger-on"] == []


def test_a_trigger_is_off_for_what_its_build_needs_and_nobody_has_pinned() -> None:
    pins = load_pins(ROOT)
    triggers = committed("ci").of("Trigger")
    assert triggers
    for trigger in triggers:
        needed = (tag.removeprefix("image-") for tag in trigger.inputs["tags"] if tag.startswith("image-"))
        images = [load_images(ROOT, STACK_FILES).image(name) for name in needed]
        unresolved = pins.unresolved(step_pins(images))
        assert trigger.inputs.get("disabled", False) is bool(unresolved), trigger.name
        assert all(name in trigger.inputs["description"] for name in unresolved)
        assert (RESOLVE in trigger.inputs["description"]) is bool(unresolved)
