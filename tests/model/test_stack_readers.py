"""One schema, two ways in: a stack file read here and the same content as Pulumi hands it over are one StackConfig."""

from __future__ import annotations

import json
import sys

import pytest

from infra.model.errors import ConfigError, Problem
from infra.model.stack import (
    load_stack,
    read_sibling,
    siblings,
    stack_from_pulumi,
)
from infra.model.stack_text import pulumi_values, stack_names
from tests.model.given import pool, refusals, stack_text
from tests.synthetic_lab import the_lab

EACH_STACK = pytest.mark.parametrize("stack", stack_names(the_lab()))


@EACH_STACK
def test_both_readers_agree_on_every_stack(stack: str) -> None:
    text = (the_lab() / "stacks" / f"Pulumi.{stack}.yaml").read_text()
    read = load_stack(the_lab(), stack)
    handed = stack_from_pulumi(
        pulumi_values(text), project="tidepool", stack=stack, siblings=siblings(the_lab(), stack)
    )
    assert read == handed


def test_values_are_handed_over_as_the_pulumi_cli_does() -> None:
    text = 'config:\n  a:s: text\n  a:n: 30\n  a:b: true\n  a:o: {z: 1, b: ["<&>", true]}\n  a:l: [1.5]\n'
    assert pulumi_values(text) == {
        "a:s": "text",
        "a:n": "30",
        "a:b": "true",
        "a:o": '{"b":["\\u003c\\u0026\\u003e",true],"z":1}',
        "a:l": "[1.5]",
    }


def test_a_key_that_pulumi_hands_over_and_no_file_has_is_placed_without_a_line() -> None:
    values = pulumi_values(stack_text(pools=pool(accelerator="v9")))
    with pytest.raises(ConfigError) as caught:
        stack_from_pulumi(values, project="tidepool", stack="ci")
    assert caught.value.problems[0].subject == "stacks/Pulumi.ci.yaml tidepool:pools[0].accelerator"


@pytest.mark.parametrize("text", ["", "null", "5", '"text"', "[" * 100_000, "NaN", "{}"])
@pytest.mark.parametrize("key", ["pools", "reservations", "quotas", "mirrors", "secrets"])
def test_whatever_stands_for_a_list_is_refused_in_its_place_alone(key: str, text: str) -> None:
    values = pulumi_values(stack_text()) | {f"tidepool:{key}": text}
    with pytest.raises(ConfigError) as caught:
        stack_from_pulumi(values, project="tidepool", stack="ci")
    assert [problem.subject for problem in caught.value.problems] == [f"stacks/Pulumi.ci.yaml tidepool:{key}"]


def test_no_depth_of_nesting_is_more_than_a_problem() -> None:
    values = pulumi_values(stack_text())
    for depth in range(880, sys.getrecursionlimit() + 20):
        nested = {"tidepool:registries": "[" * depth + "]" * depth}
        with pytest.raises(ConfigError):
            stack_from_pulumi(values | nested, project="tidepool", stack="ci")


@pytest.mark.parametrize(
    "text", ['[{"name": "a", "name": "b"}]', '[{"name": "a", "\\u006eame": "b"}]', '{"a": {"b": 1, "b": 2}}']
)
def test_a_key_that_stands_twice_in_a_structure_written_as_text_is_refused(text: str) -> None:
    for found in (refusals(f"{stack_text()}  tidepool:secrets: '{text}'\n"), handed({"tidepool:secrets": text})):
        assert any("stands twice" in problem.value for problem in found)


def test_a_token_as_a_runner_label_reaches_no_manifest_and_no_message() -> None:
    token = "ghp_" + "a1B2" * 9
    content = stack_text(pools=pool(labels=f"[{token}]"))
    values = {"tidepool:pools": json.dumps([{"name": "a", "labels": [token]}])}
    for found in (refusals(content), handed(values)):
        assert any("a GitHub token" in problem.value for problem in found)
        assert token not in str(found)


def handed(values: dict[str, str]) -> tuple[Problem, ...]:
    """What is refused of a right stack with these values in it, as Pulumi hands it over."""
    with pytest.raises(ConfigError) as caught:
        stack_from_pulumi(pulumi_values(stack_text()) | values, project="tidepool", stack="ci")
    return caught.value.problems


def test_the_value_of_an_unknown_key_is_never_repeated_since_it_may_be_a_secret() -> None:
    values = pulumi_values(stack_text()) | {"tidepool:token": "hunter2", "aws:key": "hunter2", "plain": "hunter2"}
    with pytest.raises(ConfigError) as caught:
        stack_from_pulumi(values, project="tidepool", stack="ci")
    assert len(caught.value.problems) == 3
    assert "hunter2" not in str(caught.value)


def test_a_program_of_another_pulumi_project_is_refused() -> None:
    with pytest.raises(ConfigError, match="namespace"):
        stack_from_pulumi(pulumi_values(stack_text()), project="other", stack="ci")


def test_a_file_whose_name_is_no_stacks_is_nobodys_sibling() -> None:
    content = (the_lab() / "stacks" / "Pulumi.ci.yaml").read_bytes()
    assert read_sibling(content, stack="ci") is not None
    assert read_sibling(content, stack="No Name") is None
