"""Every value of the stack files, made wrong in every way: always a ConfigError that names the value, and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from infra.model.errors import ConfigError
from infra.model.names import PULUMI_PROJECT
from infra.model.stack import read_sibling, stack_from_pulumi
from infra.model.stack_text import pulumi_values
from infra.model.yamlfile import render
from tests.synthetic_lab import the_lab

STACKS = ("ci", "nightly", "training")
WRONG = (None, -1.5, "no-such-name", ["a", {"b": None}], {"x": 1}, 10**30)


@cache
def content(stack: str) -> bytes:
    return (the_lab() / "stacks" / f"Pulumi.{stack}.yaml").read_bytes()


@cache
def values(stack: str) -> dict[str, str]:
    return pulumi_values(content(stack).decode())


def parts(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """The paths of a value and of everything in it."""
    yield path
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from parts(each, (*path, key))


def changed(value: Any, path: tuple[str | int, ...], wrong: object) -> Any:
    if not path:
        return wrong
    copied: Any = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = changed(value[path[0]], path[1:], wrong)
    return copied


def edits() -> Iterator[tuple[str, tuple[str | int, ...], object]]:
    for stack in STACKS:
        for key, text in values(stack).items():
            if key.startswith(f"{PULUMI_PROJECT}:") and text[:1] in "[{":
                for path in parts(json.loads(text), (key,)):
                    yield from ((stack, path, wrong) for wrong in WRONG)


def outcome(stack: str, path: tuple[str | int, ...], wrong: object) -> tuple[str, ...] | None:
    """The subjects of what is refused, None for a file that is accepted."""
    key = str(path[0])
    given = {**values(stack), key: json.dumps(changed(json.loads(values(stack)[key]), path[1:], wrong))}
    siblings = [read_sibling(content(each), stack=each) for each in STACKS if each != stack]
    try:
        stack_from_pulumi(given, project=PULUMI_PROJECT, stack=stack, siblings=[each for each in siblings if each])
    except ConfigError as error:
        return tuple(problem.subject for problem in error.problems)
    return None


def assert_refused(chosen: list[tuple[str, tuple[str | int, ...], object]]) -> None:
    for stack, path, wrong in chosen:
        found = outcome(stack, path, wrong)
        if isinstance(wrong, str):  # a name may be right here, and missed where it is used
            assert found is None or found
        else:
            assert found is not None, (stack, path, wrong)
            assert any(f" {render(path)}" in subject for subject in found), (stack, path, wrong, found)


def test_a_sample_of_all_values_made_wrong_is_refused() -> None:
    assert_refused(list(edits())[::23])


@pytest.mark.heavy
def test_every_value_made_wrong_is_refused() -> None:
    assert_refused(list(edits()))
