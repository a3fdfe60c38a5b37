"""What is generated from this lab's stacks, images and specifications is what is committed."""

from __future__ import annotations

import json
import re

from infra.operations.workflows.pin import wrong_pins
from infra.operations.workflows.scene import GeneratedHere
from tests.cli.conftest import ROOT, Checkout
from workflows.outputs import outputs
from workflows.world import load_world


def test_what_is_committed_is_what_is_generated() -> None:
    checked = Checkout(ROOT).run("workflows", "--check")
    assert checked.exit_code == 0, checked.output


def test_the_committed_pins_are_right_where_git_knows_them() -> None:
    world = load_world(ROOT)
    here = GeneratedHere(root=ROOT, world=world, outputs=outputs(ROOT, world))
    assert [each for each in wrong_pins(here) if each.stops] == []


def test_the_example_of_a_preview_has_the_counts_of_the_committed_ci_stack() -> None:
    """One VM more, and the manifest that declares it; the stack itself is a resource too."""
    found = re.search(r'"summary": (\{.*?\})', (ROOT / "docs" / "json.md").read_text())
    assert found
    summary = json.loads(found[1])
    lines = (ROOT / "stacks" / "plans" / "ci.yaml").read_text().splitlines()
    resources = 1 + sum(line.startswith("  - ") for line in lines)
    assert (summary["create"], summary["update"], summary["same"]) == (1, 1, resources - 1)
