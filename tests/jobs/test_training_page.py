"""The page that says which test holds what the former launcher did."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_test_that_the_page_names_exists() -> None:
    named = NAMED.findall((ROOT / "docs" / "training.md").read_text(encoding="utf-8"))
    there = {
        (path, node.name)
        for path in {path for path, _ in named}
        for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert len(named) >= 27
    assert set(named) - there == set()
