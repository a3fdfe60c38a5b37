"""The baseline of the prose linter only shrinks."""

from __future__ import annotations

import pytest

from tests.vale import compare, lowered

FOUND = {"docs/a.md": {"Tidepool.Tense": ["docs/a.md:1: will", "docs/a.md:9: shall"]}}
GROWN = [
    *FOUND["docs/a.md"]["Tidepool.Tense"],
    "docs/a.md: 2 findings of Tidepool.Tense, 1 allowed. Fix: rewrite the text.",
]
TWO, FOUR = {"Tidepool.Tense": 2}, {"docs/b.md": {"Tidepool.Words": 2}}
FALLEN = ["baseline.yaml: 2 findings are fixed. Fix: run `.venv/bin/python -m tests.vale --write`."]


@pytest.mark.parametrize(
    ("baseline", "problems", "written"),
    [
        ({"docs/a.md": {"Tidepool.Tense": 2}}, [], {"docs/a.md": {"Tidepool.Tense": 2}}),
        ({"docs/a.md": {"Tidepool.Tense": 1}}, GROWN, {"docs/a.md": {"Tidepool.Tense": 1}}),
        ({"docs/a.md": {"Tidepool.Tense": 4}}, FALLEN, {"docs/a.md": {"Tidepool.Tense": 2}}),
        (FOUR | {"docs/a.md": TWO}, FALLEN, {"docs/a.md": TWO}),
        ({}, [*GROWN[:2], GROWN[2].replace(", 1 ", ", 0 ")], {}),
    ],
    ids=["equal", "more", "fewer", "file gone", "new file"],
)  # fmt: skip
def test_a_growth_is_refused_and_a_fall_lowers_the_number(
    baseline: dict[str, dict[str, int]], problems: list[str], written: dict[str, dict[str, int]]
) -> None:
    assert compare(FOUND, baseline) == problems
    assert lowered(FOUND, baseline) == written
