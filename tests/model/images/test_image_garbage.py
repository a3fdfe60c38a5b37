"""Whatever stands in the files of images, a person is told of it: nothing but a ConfigError leaves the readers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infra.model.errors import ConfigError
from tests.model.images.declared import IMAGES, LISTING, PINS, SOURCE, loaded, project, refused

JUNK = st.sampled_from(
    [
        None,
        "",
        0,
        -1,
        1.5,
        True,
        [],
        {},
        [[]],
        [{}],
        {"a": 1},
        "base",
        "a/b",
        "images/x",
        "*",
        "**",
        "x" * 300,
        ["base", 3],
    ]
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("garbage"))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key of mappings and index of lists, however deep."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in items:
        yield (*path, step)
        yield from places(item, (*path, step))


def replaced(text: str, path: tuple[Any, ...], junk: Any) -> str:
    data = yaml.safe_load(text)
    at = data
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = junk
    return yaml.safe_dump(data, sort_keys=False)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(list(places(yaml.safe_load(IMAGES)))), JUNK)
def test_junk_anywhere_in_the_declaration_is_told(root: Path, path: tuple[Any, ...], junk: Any) -> None:
    (root / "images/bases.yaml").write_text(PINS)
    (root / SOURCE).write_text(replaced(IMAGES, path, junk))
    with contextlib.suppress(ConfigError):
        loaded(root)


@pytest.mark.parametrize(
    "name", [SOURCE, "images/bases.yaml", LISTING, "images/runner/Dockerfile", "images/runner/Dockerfile.dockerignore"]
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, name: str) -> None:
    root = project(tmp_path)
    (root / name).write_bytes(b"version: 1\n# \xff\n")
    with refused() as problems:
        loaded(root)
    assert (f"{name}:2", True) in {(each.subject, "UTF-8" in f"{each.rule} {each.fix}") for each in problems}
