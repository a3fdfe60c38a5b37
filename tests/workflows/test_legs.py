"""The legs of a matrix are those of GitHub's documentation and its MatrixBuilder."""

from __future__ import annotations

from typing import Any

import pytest

from workflows.legs import MatrixError, legs

FRUIT = {"fruit": ["apple", "pear"], "animal": ["cat", "dog"]}


def test_include_extends_overwrites_its_own_and_adds_as_in_the_documentation() -> None:
    include = [
        {"color": "green"},
        {"color": "pink", "animal": "cat"},
        {"fruit": "apple", "shape": "circle"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]
    assert legs({**FRUIT, "include": include}) == (
        {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
        {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
        {"fruit": "pear", "animal": "cat", "color": "pink"},
        {"fruit": "pear", "animal": "dog", "color": "green"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    )


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ({"os": ["a", "b"], "exclude": [{"os": "A"}]}, ({"os": "b"},)),
        ({"v": [1, "1", 2], "exclude": [{"v": "1"}]}, ({"v": 2},)),
        ({"v": [{"n": 1, "m": 2}, {"n": 3}], "exclude": [{"v": {"n": 1}}]}, ({"v": {"n": 3}},)),
        ({"v": [[1, 2], [3]], "exclude": [{"v": [1]}]}, ({"v": [3]},)),
        ({"os": ["a"], "exclude": [{"os": "a"}], "include": [{"os": "a"}]}, ({"os": "a"},)),
        ({"include": [{"x": 1}, {"x": 2}]}, ({"x": 1}, {"x": 2})),
        ({"os": ["a"], "include": [{"x": 1}]}, ({"os": "a", "x": 1},)),
        ({"os": ["a"], "exclude": [{"os": "a"}]}, ()),
    ],
)
def test_what_is_left_out_and_what_is_added(matrix: dict[str, Any], expected: tuple[dict[str, Any], ...]) -> None:
    assert legs(matrix) == expected


@pytest.mark.parametrize("matrix", [{"os": []}, {"os": ["a"], "v": [], "include": [{"x": 1}]}, {}, {"include": []}])
def test_a_matrix_with_an_empty_axis_or_without_any_makes_no_job(matrix: dict[str, Any]) -> None:
    with pytest.raises(MatrixError, match=r"the axis .* has no values|has no axes"):
        legs(matrix)
