"""Expressions mean what GitHub's documentation and its runner's source say."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
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


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("null", None),
        ("true", True),
        ("711", 711.0),
        ("-9.2", -9.2),
        ("0xff", 255.0),
        ("0o17", 15.0),
        ("-2.99e-2", -0.0299),
        (".5", 0.5),
        ("+4", 4.0),
        ("Infinity", math.inf),
        ("'It''s open source!'", "It's open source!"),
        ("''", ""),
        ("''''", "'"),
    ],
)
def test_literals_are_those_of_the_documentation(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # Text without regard to case; unlike types as numbers; lists and objects only with themselves.
        ("'Main' == 'mAIN'", True),
        ("'a' != 'A'", False),
        ("1 == '1'", True),
        ("1 == ' 1.0 '", True),
        ("'' == 0", True),
        ("null == ''", True),
        ("null == 0", True),
        ("null == false", True),
        ("true == 1", True),
        ("true == 'true'", False),
        ("'abc' == 0", False),
        ("NaN == NaN", False),
        ("NaN != NaN", True),
        ("'0x10' == 16", True),
        ("'1e2' == 100", True),
        ("matrix.list == matrix.list", True),
        ("fromJSON('[1]') == fromJSON('[1]')", False),
        ("matrix.list == 'Array'", False),
        ("github.event == null", False),
        ("matrix.nothing == null", True),
        ("1 < 2", True),
        ("'a' < 'B'", True),
        ("'10' < 9", False),
        ("2 <= 2", True),
        ("NaN <= NaN", False),
        ("false < true", True),
        ("null <= null", True),
        ("null < 1", True),
        ("matrix.list <= matrix.list", True),
        ("'a' > 1", False),
        ("3 > 2 > 1", False),
        # Precedence: or, and, equality, order, not.
        ("true || false && false", True),
        ("(true || false) && false", False),
        ("1 == 1 && 2 == 2", True),
        ("!true == false", True),
        ("!(true == false)", True),
        ("!!'x'", True),
        ("1 < 2 == true", True),
        # The operand that decides is the value.
        ("'' || 'else'", "else"),
        ("'first' || 'else'", "first"),
        ("0 && 'never'", 0.0),
        ("1 && 'then'", "then"),
        ("github.ref == 'refs/heads/main' && 'production' || 'test'", "production"),
    ],
)
def test_operators_compare_and_decide_as_github_does(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize("falsy", ["false", "0", "-0", "''", "null", "NaN"])
def test_what_is_false_in_a_condition(falsy: str) -> None:
    assert value(f"!{falsy}") is True


@pytest.mark.parametrize(
    "true", ["true", "1", "-1", "'0'", "'false'", "' '", "matrix.list", "fromJSON('[]')", "fromJSON('{}')"]
)
def test_what_is_true_in_a_condition(true: str) -> None:
    assert value(f"!{true}") is False


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("github.ref", "refs/heads/main"),
        ("GITHUB.Event_Name", "pull_request"),
        ("github['event_name']", "pull_request"),
        ("github.event.pull_request.number", 12),
        ("github.missing.deeper", None),
        ("github.ref.name", None),
        ("matrix.list[0]", 1),
        ("matrix.list[1.9]", "two"),
        ("matrix.list['1']", "two"),
        ("matrix.list[-1]", None),
        ("matrix.list[9]", None),
        ("matrix.list['x']", None),
        ("matrix.list[2][0]", 3),
        ("matrix.list[3].k", "v"),
        ('fromJSON(\'{"a": {"b": 2}}\').a.b', 2),
        ("matrix[format('{0}', 'jax')]", "0.8.0"),
        ("(github).ref", "refs/heads/main"),
        ("github.event.pull_request.labels.*.name", ["bug", "Run-TPU-Tests"]),
        ("needs.*.result", ["success", "failure"]),
        ("vegetables.*.ediblePortions", [["roots", "stalks"], ["roots"]]),
        ("vegetables.*.ediblePortions.*", ["roots", "stalks", "roots"]),
        ("vegetables.*.ediblePortions[0]", ["roots", "roots"]),
        ("github.ref.*", []),
        ("matrix.list[*].k", ["v"]),
        ("(needs.*).result", ["success", "failure"]),
    ],
)
def test_contexts_are_read_by_dots_brackets_and_filters(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("contains('Hello world', 'llo')", True),
        ("contains('Hello', 'HELL')", True),
        ("contains('abc', '')", True),
        ("contains(github.event.pull_request.labels.*.name, 'run-tpu-tests')", True),
        ("contains(needs.*.result, 'skipped')", False),
        ('contains(fromJSON(\'["push", "pull_request"]\'), github.event_name)', True),
        ("contains(matrix.list, '1')", True),
        ("contains(123, 2)", True),
        ("contains(github.event, 'x')", False),
        ("contains('x', github.event)", False),
        ("startsWith('Hello world', 'He')", True),
        ("startsWith('Hello', 'hE')", True),
        ("startsWith(github.ref, 'refs/tags/')", False),
        ("endsWith('Hello world', 'LD')", True),
        ("endsWith(12.5, '.5')", True),
        ("endsWith(matrix.list, '')", False),
        ("format('Hello {0} {1} {2}', 'Mona', 'the', 'Octocat')", "Hello Mona the Octocat"),
        ("format('{{Hello {0} {1} {2}!}}', 'Mona', 'the', 'Octocat')", "{Hello Mona the Octocat!}"),
        ("format('{1}{0}{1}', null, true)", "truetrue"),
        ("format('plain')", "plain"),
        ("format('{0}', matrix.list)", "Array"),
        ("join(github.event.pull_request.labels.*.name, ', ')", "bug, Run-TPU-Tests"),
        ("join(matrix.list)", "1,two,Array,Object"),
        ("join('alone', '-')", "alone"),
        ("join(github.event)", ""),
        ("join(fromJSON('[1]'), '-')", "1"),
        ("join(fromJSON('[1, null]'), 0)", "10"),
        ("toJSON('a\"b')", '"a\\"b"'),
        ("toJSON(null)", "null"),
        ("toJSON(1.50)", "1.5"),
        ("toJSON(fromJSON('{}'))", "{}"),
        ('toJSON(fromJSON(\'{"a": [1, {}], "b": null}\'))', '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": null\n}'),
        ("fromJSON('true')", True),
        ("fromJSON('3')", 3.0),
        ("fromJSON('\"x\"')", "x"),
        ("fromJSON(needs.a.outputs.count) > 2", True),
        ("case(github.ref == 'refs/heads/main', 'production', 'development')", "production"),
        ("case(false, fromJSON('no json'), 'default')", "default"),
        ("format('{0}', 1e21)", "1E+21"),
        ("format('{0}', -0)", "0"),
        ("format('{0}', 0.1)", "0.1"),
        ("format('{0}', 1e5)", "100000"),
    ],
)
def test_functions_give_what_the_documentation_says(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "said", "position"),
    [
        ("", "ends early", 1),
        ("github.ref.", "ends early", 12),
        ("github.ref ==", "ends early", 14),
        ("'open", "no closing quote", 1),
        ('github.ref == "main"', "single quotes", 15),
        ("github.ref = 'x'", "unexpected =", 12),
        ("true & false", "unexpected &", 6),
        ("githu.ref", "no context githu", 1),
        ("contain('a', 'b')", "no function contain", 1),
        ("contains('a')", "takes 2 arguments, not 1", 1),
        ("case(true, 1, false, 2)", "an odd number", 1),
        ("(1", ") is missing", 3),
        ("1)", "unexpected )", 2),
        ("matrix.list[0", "] is missing", 14),
        ("format('{0}{1}', 'a')", "asks for value 1 of 1", 1),
        ("format('{', 'a')", "has no partner", 1),
        ("1 && fromJSON('x')", "not JSON", 6),
        ("fromJSON('')", "not JSON", 1),
        ("1.2.3", "unexpected 1.2.3", 1),
        ("'a'.b", "unexpected .b", 4),
        ("github.*x", "unexpected x", 9),
        ("contains('a',)", "unexpected )", 14),
        ("* == 1", "unexpected *", 1),
        ("1 2", "unexpected 2", 3),
        ("hashFiles('x')", "needs a workspace", 1),
        ("github.ref#", "unexpected ref#", 8),
        ("a-b", "no context a-b", 1),
        ("case('x', 1, 2)", "true or false", 1),
    ],
)
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


@pytest.mark.parametrize(
    "expression",
    [
        "(a || b) && !(c == 'it''s') && !d",
        "a && b || c && d",
        "a == b == c < d",
        "a == (b == c)",
        "a < b < c != (d || true)",
        "contains(a.*.name, b['x y'][0].z[c]) || (a || b).c",
        "format('{0}', null, false, -0.5, 1E+21, Infinity, -Infinity)",
        "!!success()",
        "fromjson('[1]')[0]",
    ],
)
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


@given(JSON, JSON)
def test_equality_has_no_direction_and_is_what_unequal_is_not(left: Any, right: Any) -> None:
    assert value("a == b", a=left, b=right) == value("b == a", a=left, b=right)
    assert value("a == b", a=left, b=right) != value("a != b", a=left, b=right)
    assert value("a < b", a=left, b=right) == value("b > a", a=left, b=right)


@given(st.text(max_size=6), st.text(max_size=6))
def test_text_contains_starts_and_ends_with_what_it_is_made_of(left: str, right: str) -> None:
    assert (
        value("startsWith(format('{0}{1}', a, b), a) && endsWith(format('{0}{1}', a, b), b)", a=left, b=right) is True
    )
    assert value("contains(join(list, '-'), b)", list=[left, right], b=right) is True
