"""The page that says which test holds what the former launcher did, and which one each trap of the cloud's APIs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def tables(page: str) -> dict[str, set[tuple[str, str]]]:
    """What must hold, with the tests that a page names for it: the rows of its tables whose last column is `Test`."""
    found = {}
    for block in (ROOT / "docs" / page).read_text(encoding="utf-8").split("\n\n"):
        head, *rows = block.splitlines()
        if head.endswith("| Test |"):
            found |= {row: set(NAMED.findall(row)) for row in rows[1:]}
    return found


def test_whatever_must_hold_is_held_by_tests_that_exist() -> None:
    held = tables("training-traps.md")
    assert len(held) >= 70
    assert [row for row, tests in held.items() if not tests] == []
    named = {each for tests in held.values() for each in tests}
    assert named - {(path, name) for path in {path for path, _ in named} for name in functions(path)} == set()


def functions(path: str) -> set[str]:
    body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}
