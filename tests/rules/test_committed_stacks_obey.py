"""The committed stacks break no rule, and each rule would see it if they did."""

from __future__ import annotations

import pytest

from infra.model.stack import load_stack, siblings
from infra.rules.book import judge
from infra.rules.view import ResourceView
from tests.program.stacks import ROOT, STACKS, committed
from tests.rules.right_edits import TODAY, edit


@pytest.mark.parametrize("stack", STACKS)
def test_a_committed_stack_has_no_finding(stack: str) -> None:
    config = load_stack(ROOT, stack)
    resources = [
        ResourceView(type=each.type, name=each.name, urn=each.urn, inputs=each.inputs, protect=each.protect)
        for each in committed(stack).resources.values()
    ]
    assert len(resources) > 30
    assert judge(edit(config, before=config, siblings=siblings(ROOT, stack), today=TODAY), resources) == ()
