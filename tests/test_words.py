"""One class name, one meaning: a name that a third class wants is taken."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from tests.texts import shown_texts

ROOT = Path(__file__).resolve().parents[1]
MEANINGS = 2
ALLOWED = {"Registries": 3}
"""Names that have more meanings yet, and how many: a number that only goes down."""


def test_no_public_class_name_gets_a_third_meaning() -> None:
    meanings: defaultdict[str, list[str]] = defaultdict(list)
    for room in ("bench", "infra", "workflows"):
        for path in sorted((ROOT / room).rglob("*.py")):
            if "tests" in path.parts:
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    meanings[node.name].append(path.relative_to(ROOT).as_posix())
    crowded = {name: where for name, where in meanings.items() if len(where) > ALLOWED.get(name, MEANINGS)}
    assert not crowded, f"say what each is in the field's words, or let one of them be the other: {crowded}"


def test_texts_that_people_see_are_listed_and_nothing_else() -> None:
    shown = [each.text for each in shown_texts(ROOT, ("infra/cli/call.py", "infra/fleet/controller/rules.yaml"))]
    assert "{what}. Go on?" in shown
    assert "it could not be made" in shown
    helps = [each.text for each in shown_texts(ROOT, ("infra/cli/status.py",))]
    assert any(text.startswith("Say why what has this NAME ") for text in helps), "the help of a command"
    assert not any(text.startswith("`./tidepool status`, `why`") for text in helps), "a module's docstring is none"
