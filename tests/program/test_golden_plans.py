"""The plan of every committed stack, resource by resource: what one more VM adds is one line of a golden file."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from infra.model.stack import stack_names
from tests.program.stacks import ROOT, committed
from tests.shipped_stacks import RENEW

GOLDEN = Path(__file__).parent / "golden"


def plan(stack: str) -> str:
    """Each resource by type and name, children below the component that declares them."""
    program = committed(stack)
    lines = []
    for resource in program.resources.values():
        inside = program.resources.get(resource.parent or "")
        where = f"{inside.name} / " if inside and not inside.type.startswith("pulumi:") else ""
        lines.append(f"{resource.type} {where}{resource.name}{' (protected)' if resource.protect else ''}\n")
    return "".join(sorted(lines))


@pytest.mark.parametrize("stack", stack_names(ROOT))
def test_a_committed_stack_is_as_its_golden_plan(stack: str, update_goldens: bool) -> None:
    golden, made = GOLDEN / f"{stack}-plan.txt", plan(stack)
    if update_goldens:
        golden.write_text(made, encoding="utf-8")
    wanted = golden.read_text(encoding="utf-8") if golden.exists() else ""
    if made != wanted:
        differing = difflib.unified_diff(wanted.splitlines(), made.splitlines(), golden.name, stack, n=0, lineterm="")
        pytest.fail("\n".join((f"The plan of {stack} is another:", *differing, RENEW)), pytrace=False)
