"""Expressions mean what GitHub's documentation and its runner's source say."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from workflows.expressions import (
    ExpressionError,
    JobStatus,
    Scope,
    evaluate,
    functions,
    hash_files,
    parse,
    references,
    written,
)

LABELS = [{"name": "bug"}, {"name": "Run-TPU-Tests"}, {"color": "red"}]
CONTEXTS: dict[str, Any] = {
    "github": {
        "ref": "refs/heads/main",
        "event_name": "pull_request",
        "repository": "lab/mono",
        "event": {"pull_request": {"number": 12, "draft": False, "labels": LABELS, "title": None}},
    },
    "needs": {"a": {"result": "success", "outputs": {"count": "3"}}, "b": {"result": "failure"}},
    "matrix": {"jax": "0.8.0", "chips": 4, "share": 0.5, "list": [1, "two", [3], {"k": "v"}]},
    "vegetables": {"scallions": {"ediblePortions": ["roots", "stalks"]}, "beets": {"ediblePortions": ["roots"]}},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9).map(float) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def value(expression: str, **contexts: Any) -> Any:
    return evaluate(expression, Scope({**CONTEXTS, **contexts}))


TABLE = yaml.safe_load((Path(__file__).parent / "expressions.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        *(row for section in ("literals", "operators", "contexts", "functions") for row in TABLE[section]),
        *((f"!{each}", True) for each in TABLE["falsy"]),
        *((f"!{each}", False) for each in TABLE["truthy"]),
    ],
)
def test_an_expression_has_the_value_that_the_documentation_says(expression: str, expected: Any) -> None:
    found = value(expression)
    assert found == expected
    assert isinstance(found, bool) is isinstance(expected, bool)


@pytest.mark.parametrize(("expression", "said", "position"), TABLE["refused"])
def test_what_github_refuses_is_refused_where_it_stands(expression: str, said: str, position: int) -> None:
    with pytest.raises(ExpressionError, match=f"at position {position} of") as error:
        value(expression)
    assert said in str(error.value)


def test_an_expression_has_a_greatest_depth_and_length() -> None:
    assert value("(" * 40 + "1" + ")" * 40) == 1
    assert value("!" * 48 + "1") is True
    for long in ("!" * 60 + "1", "(" * 60 + "1" + ")" * 60, "'" + "x" * 21_000 + "'", "-" * 3):
        with pytest.raises(ExpressionError):
            value(long)


def test_the_status_functions_say_how_what_came_before_went() -> None:
    failed = Scope({}, JobStatus(success=False, failure=True))
    assert [evaluate(f"{name}()", failed) for name in ("success", "failure", "always", "cancelled")] == [
        False,
        True,
        True,
        False,
    ]
    assert evaluate("!Cancelled()", Scope({}, JobStatus(success=False, cancelled=True))) is False


def test_what_an_expression_reads_and_calls_is_known_without_its_value() -> None:
    node = parse(
        "contains(github.event.Labels.*.name, matrix[env.KEY].x) && needs['a'].result == 'success' || list[0].y"
    )
    assert set(references(node)) == {"github.event.labels.*.name", "matrix", "env.key", "needs.a.result", "list.0.y"}
    assert functions(node) == {"contains"}


def test_a_hash_is_of_all_files_that_match_and_changes_with_each(tmp_path: Path) -> None:
    (tmp_path / "lib" / "foo").mkdir(parents=True)
    for name in ("a.lock", "lib/b.lock", "lib/foo/c.lock"):
        (tmp_path / name).write_text(name)

    def hashed(*patterns: str) -> Any:
        arguments = ", ".join(f"'{pattern}'" for pattern in patterns)
        return evaluate(f"hashFiles({arguments})", Scope({}, hash_files=lambda each: hash_files(tmp_path, each)))

    every = hashed("**/*.lock")
    assert every == hashed("a.lock", "/lib/**")
    assert len({every, hashed("*.lock"), hashed("/lib/**", "!/lib/foo/**"), hashed("/lib/*.lock", "a.lock")}) == 4
    assert hashed("/lib/**", "!/lib/foo/**") == hashed("/lib/b.lock")
    assert hashed("lib") == hashed("lib/") == hashed("/lib/**/*")
    assert hashed("lib", "!lib/foo", "lib/foo/c.lock") == hashed("lib")
    assert hashed("nothing/**") == ""
    (tmp_path / "a.lock").write_text("changed")
    assert hashed("**/*.lock") != every


@pytest.mark.parametrize("expression", TABLE["written"])
def test_a_tree_is_written_with_the_parentheses_that_it_needs(expression: str) -> None:
    assert written(parse(expression)) == expression


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    with suppress(ExpressionError):
        value(text)


@given(st.text(max_size=20))
def test_a_quoted_text_is_itself(text: str) -> None:
    assert value(f"'{text.replace(chr(39), chr(39) * 2)}'") == text


@given(JSON)
def test_json_goes_out_and_comes_back(data: Any) -> None:
    again = value("fromJSON(toJSON(given))", given=data)
    assert again == data
    assert value("toJSON(given) == toJSON(again)", given=data, again=again) is True
