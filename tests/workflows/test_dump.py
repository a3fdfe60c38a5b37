"""The dumper: what it writes is read back as it was, by readers of either YAML, and looks as people write it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given

from tests.workflows.values import DATA, TEXTS
from workflows.dump import CommentedData, dump
from workflows.read import read


@given(DATA)
def test_what_is_written_is_read_back_as_it_was(data: dict[str, Any]) -> None:
    assert read(dump(CommentedData(data or {"a": 1})), "x").data == (data or {"a": 1})


@given(TEXTS)
def test_text_is_the_same_text_to_a_reader_of_the_older_yaml(text: str) -> None:
    assert yaml.safe_load(dump(CommentedData({"key": text, "list": [text, 1]}))) == {"key": text, "list": [text, 1]}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"on": {"push": None}}, "on:\n  push:\n"),
        ({"with": {"on": 1}}, "with:\n  'on': 1\n"),
        ({"run": "a\nb\n"}, "run: |\n  a\n  b\n"),
        ({"run": "a\n\nb"}, "run: |-\n  a\n\n  b\n"),
        ({"run": "a\n\n"}, "run: |+\n  a\n\n"),
        ({"run": "  a\nb\n"}, "run: |2\n    a\n  b\n"),
        ({"branches": ["main", "!x"]}, "branches: [main, '!x']\n"),
        ({"paths": ["stacks/**", "**.py"]}, "paths: [stacks/**, '**.py']\n"),
        ({"versions": ["3.11", 3.11, 3]}, "versions: ['3.11', 3.11, 3]\n"),
        ({"name": "it's: so"}, 'name: "it\'s: so"\n'),
        ({"permissions": {}, "needs": []}, "permissions: {}\nneeds: []\n"),
        ({"steps": [{"run": "a"}, {"uses": "b"}]}, "steps:\n  - run: a\n  - uses: b\n"),
        ({"if": "${{ !cancelled() }}"}, "if: ${{ !cancelled() }}\n"),
        ({"jobs": {"a": {"x": 1}, "b": {"x": 1}}}, "jobs:\n  a:\n    x: 1\n\n  b:\n    x: 1\n"),
        ({"sum": 1e30}, "sum: 1.0e+30\n"),
    ],
)  # fmt: skip
def test_the_layout_is_the_one_that_people_write(data: dict[str, Any], text: str) -> None:
    assert dump(CommentedData(data)) == text


def test_a_long_condition_is_folded_behind_its_operators() -> None:
    parts = [f"github.event.pull_request.head.repo.full_name != 'someone/{number}'" for number in range(3)]
    written = dump(CommentedData({"if": " && ".join(parts)}))
    assert written == f"if: >-\n  {parts[0]} &&\n  {parts[1]} &&\n  {parts[2]}\n"
    assert read(written, "x").data == {"if": " && ".join(parts)}


def test_comments_stand_above_and_beside_what_they_are_of() -> None:
    step = ("jobs", "a", "steps", 0)
    document = CommentedData(
        {"on": {"push": None}, "jobs": {"a": {"steps": [{"uses": "x@1"}]}}},
        header="made\n\nnot by hand",
        above={("jobs", "a"): "why", step: "first", (*step, "uses"): "pinned"},
        beside={("on",): "said", (*step, "uses"): "v1"},
    )
    assert dump(document) == (
        "# made\n#\n# not by hand\non: # said\n  push:\njobs:\n  # why\n  a:\n    steps:\n      # first\n"
        "      # pinned\n      - uses: x@1 # v1\n"
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_github_cannot_read_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not a number of JSON"):
        dump(CommentedData({"key": value}))


def test_a_value_that_is_no_plain_data_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="bytes"):
        dump(CommentedData({"key": b"x"}))
