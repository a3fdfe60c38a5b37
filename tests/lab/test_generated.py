"""What is generated from this lab's stacks, images and specifications is what is committed."""

from __future__ import annotations

from tests.cli.conftest import ROOT, Checkout


def test_what_is_committed_is_what_is_generated() -> None:
    checked = Checkout(ROOT).run("workflows", "--check")
    assert checked.exit_code == 0, checked.output
