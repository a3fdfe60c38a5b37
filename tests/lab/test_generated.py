"""What is generated from this lab's stacks, images and specifications is what is committed."""

from __future__ import annotations

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
