"""Files are read as GitHub reads them, with the place of everything, and mistakes are told by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infra.model.errors import ConfigError
from workflows.read import Position, read, read_file

TEXT = """\
name: Tests
on:
  push:
    branches: [main]
jobs:
  test:
    if: github.ref == 'x'
    steps:
      - run: |
          pytest
"""


def test_on_stays_a_word_and_everything_has_its_place() -> None:
    found = read(TEXT, "tests.yaml")
    assert list(found.data) == ["name", "on", "jobs"]
    assert found.positions["jobs", "test", "if"] == Position(7, 5)
    assert found.values["jobs", "test", "if"] == Position(7, 9)
    assert found.positions["jobs", "test", "steps", 0] == Position(9, 9)
    assert found.where(("jobs", "test", "if")) == "tests.yaml:7 jobs.test.if"
    assert found.where(("jobs", "test", "timeout-minutes")) == "tests.yaml:6 jobs.test.timeout-minutes"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"), ("on", "on"), ("True", True), ("~", None), ("", None), ("012", 12), ("0o17", 15), ("0x1F", 31),
        ("1_000", "1_000"), ("3.10", 3.1), ("'3.10'", "3.10"), ("1e3", 1000.0), (".5", 0.5), ("1:30", "1:30"),
        ("2026-11-21", "2026-11-21"), ("-.inf", float("-inf")), ("<<", "<<"), ("=", "="),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(written: str, value: Any) -> None:
    assert read(f"key: {written}\n", "x").data == {"key": value}


def test_an_alias_is_its_anchors_value() -> None:
    found = read("a: &shared {x: [1]}\nb: *shared\n", "x")
    assert found.data == {"a": {"x": [1]}, "b": {"x": [1]}}
    assert found.positions["b", "x", 0] == Position(1, 17)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\na: 2\n", "x:2 a\n  problem: line 1 has this key already"),
        ("a: [1\n", "x:2: did not find expected"),
        ("- a\n", "x:1\n  problem: not a mapping"),
        ("", "x:1\n  problem: not a mapping"),
        ("a: &a [*a]\n", "deeper than"),
        ("? [a]\n: 1\n", "a key that is not text"),
        ("a: \x01\n", "remove the character"),
        ("a: 1\n---\nb: 1\n", "one valid YAML document"),
        ("a: " + "[" * 200 + "]" * 200, "deeper than"),
    ],
)
def test_what_cannot_be_read_is_told_by_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        read(text, "x")
    assert said in str(error.value)


def test_aliases_that_multiply_into_one_another_are_refused() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 9)]
    with pytest.raises(ConfigError, match="deeper than 100 levels or longer than 50,000 values"):
        read("\n".join(lines), "x")


def test_a_file_is_called_by_its_path_from_the_root(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_bytes(b"name: \xff\n")
    with pytest.raises(ConfigError, match=r"^w\.yaml: .*\n  problem: not text in UTF-8"):
        read_file(tmp_path / "w.yaml", tmp_path)
    (tmp_path / "w.yaml").write_text(TEXT)
    assert read_file(tmp_path / "w.yaml", tmp_path).source == "w.yaml"
