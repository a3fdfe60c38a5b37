"""Path filters: what is one, and what each names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model.images.globs import first_match, is_path_filter, matches
from workflows import triggering as github_filters


@pytest.mark.parametrize(
    "text", ["uv.lock", "lib/**", "**/x.py", "lib/*/pyproject.toml", "lib/**/test_*.py", ".github/*", "a-b_c/D.e", "**"]
)
def test_a_path_with_stars_is_a_filter(text: str) -> None:
    assert is_path_filter(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/uv.lock",
        "lib/",
        "lib//x",
        "./x",
        "../x",
        "a/../b",
        "a?c",
        "[ab]",
        "{a,b}",
        "!x",
        "a**",
        "**a",
        "a b",
        "a\\b",
        "a+",
    ],
)
def test_what_readers_take_differently_is_no_filter(text: str) -> None:
    assert not is_path_filter(text)


@pytest.mark.parametrize(
    ("pattern", "path", "named"),
    [
        ("uv.lock", "uv.lock", True),
        ("uv.lock", "lib/uv.lock", False),
        ("lib/**", "lib/a/b/.hidden/c", True),
        ("lib/**", "library/a", False),
        ("lib/**", "lib/.env", True),
        ("lib/*/pyproject.toml", "lib/a/pyproject.toml", True),
        ("lib/*/pyproject.toml", "lib/a/b/pyproject.toml", False),
        ("lib/*/pyproject.toml", "lib/pyproject.toml", False),
        ("**/x.py", "x.py", True),
        ("lib/**/x.py", "lib/x.py", True),
        ("*.md", "README.md", True),
        ("*.md", "docs/README.md", False),
        ("Lib/**", "lib/a", False),
    ],
)
def test_a_filter_names_paths(pattern: str, path: str, named: bool) -> None:
    assert matches(path, pattern) is named


def test_the_first_filter_that_names_a_path_is_told() -> None:
    assert first_match("lib/a/x", ["uv.lock", "lib/*/x", "lib/**"]) == "lib/*/x"
    assert first_match("y", ["uv.lock"]) is None


PARTS = st.text("ab.*", min_size=1, max_size=3) | st.just("**")
FILTERS = st.lists(PARTS, min_size=1, max_size=4).map("/".join).filter(is_path_filter)
NAMES = st.text("ab.", min_size=1, max_size=3).filter(lambda name: name not in (".", ".."))
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@settings(deadline=None, max_examples=500)
@given(FILTERS, PATHS)
def test_the_plan_and_github_read_every_filter_alike(pattern: str, path: str) -> None:
    named = matches(path, pattern)
    assert github_filters.included(path, [pattern]) is named
