"""Marker expressions, held against pytest's own parser, which is private to pytest."""

from __future__ import annotations

import pytest
from _pytest.mark.expression import Expression
from hypothesis import given, settings
from hypothesis import strategies as st

from workflows.markers import MarkersError, parse

NAMES = ("slow", "ray", "tpu_ci", "entry", "nota", "order")
names = st.sampled_from(NAMES)
expressions = st.recursive(
    names,
    lambda inner: st.one_of(
        inner.map(lambda one: f"not {one}"),
        inner.map(lambda one: f"({one})"),
        st.tuples(inner, st.sampled_from(("and", "or")), inner).map(" ".join),
    ),
    max_leaves=8,
)
words = st.lists(st.sampled_from((*NAMES, "and", "or", "not", "(", ")")), max_size=8).map(" ".join)


@settings(deadline=None)
@given(expressions, st.sets(names))
def test_an_expression_takes_what_pytest_takes(text: str, markers: set[str]) -> None:
    assert parse(text).take(markers) == Expression.compile(text).evaluate(lambda name, /, **_: name in markers)


@settings(deadline=None)
@given(words)
def test_what_pytest_refuses_is_refused_and_nothing_else(text: str) -> None:
    try:
        Expression.compile(text)
    except SyntaxError:
        with pytest.raises(MarkersError):
            parse(text)
    else:
        parse(text)


def test_an_empty_expression_takes_every_test() -> None:
    assert parse(" ").take({"slow"})
    assert parse(" ").take(())


def test_the_names_of_an_expression_are_known() -> None:
    assert parse("not (slow or ray) and tpu_ci").names == {"slow", "ray", "tpu_ci"}


@pytest.mark.parametrize(
    ("text", "said"),
    [("slow and", "the end"), ("slow ray", "ray"), ("(slow", r"\)"), ("slow,ray", "','"), ("mark(a=1)", r"\(")],
)
def test_a_wrong_expression_is_refused_with_the_place(text: str, said: str) -> None:
    with pytest.raises(MarkersError, match=said):
        parse(text)
