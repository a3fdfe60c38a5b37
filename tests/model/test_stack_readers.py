"""One schema, two ways in: a stack file read here and the same content as Pulumi hands it over are one StackConfig."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model import catalogue
from infra.model.errors import ConfigError, Problem
from infra.model.stack import (
    load_stack,
    parse_stack,
    read_sibling,
    siblings,
    stack_from_pulumi,
)
from infra.model.stack_text import pulumi_values, stack_names
from tests.model.given import SOURCE, pool, refusals, stack_text
from tests.synthetic_lab import the_lab

EACH_STACK = pytest.mark.parametrize("stack", stack_names(the_lab()))

counts = st.one_of(
    st.integers(-2, 10_002), st.booleans(), st.floats(0, 3), st.sampled_from(["", "2", "two", "é"]), st.none()
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["a", "spot", "yes", "1", "<&>"]))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "name", "reserved"]), inner, max_size=3)
    ),
    max_leaves=5,
)
pools = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.one_of(st.sampled_from(["a", "b", "tpu-ci", "Bad", 3]), values),
            "accelerator": st.one_of(st.sampled_from(["v5litepod-4", "v4-8", "v4-32", "v9"]), values),
            "zones": st.one_of(st.dictionaries(st.sampled_from([*catalogue.zones(), "nowhere"]), counts, max_size=3)),
            "capacity": st.one_of(st.sampled_from(["spot", "on-demand", {"reserved": "r"}, "cheap"]), values),
        },
        optional={
            "trust": st.sampled_from(["fork", "member", "protected", "none"]),
            "labels": values,
            "label": values,
            "serves": values,
            "unlisted_zone": values,
            "runtime_override": values,
            "data_disks": values,
            "chips": values,
        },
    ),
    max_size=4,
)
sections = st.fixed_dictionaries(
    {"pools": pools},
    optional=dict.fromkeys(("reservations", "quotas", "registries", "mirrors", "secrets", "vm_labels", "odd"), values),
)


@EACH_STACK
def test_both_readers_agree_on_every_stack(stack: str) -> None:
    text = (the_lab() / "stacks" / f"Pulumi.{stack}.yaml").read_text()
    read = load_stack(the_lab(), stack)
    handed = stack_from_pulumi(
        pulumi_values(text), project="tidepool", stack=stack, siblings=siblings(the_lab(), stack)
    )
    assert read == handed


@given(content=sections)
@settings(deadline=None, max_examples=150)
def test_both_readers_accept_and_refuse_the_same(content: dict[str, object]) -> None:
    config = {f"tidepool:{key}": value for key, value in content.items()}
    config |= {"gcp:project": "my-lab", "tidepool:owner": "lab"}
    config["tidepool:bucket"] = {"name": "my-lab-ci", "location": "us"}
    text = json.dumps({"config": config}, ensure_ascii=False)
    values = pulumi_values(text)
    try:
        read = parse_stack(text, stack="ci", source=SOURCE)
    except ConfigError as error:
        with pytest.raises(ConfigError) as caught:
            stack_from_pulumi(values, project="tidepool", stack="ci")
        said = {(problem.value, problem.rule) for problem in error.problems}
        assert said == {(problem.value, problem.rule) for problem in caught.value.problems}
    else:
        assert read == stack_from_pulumi(values, project="tidepool", stack="ci")


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


def test_text_that_is_no_structure_is_refused() -> None:
    values = pulumi_values(stack_text()) | {"tidepool:pools": "[not json"}
    with pytest.raises(ConfigError, match="not a list"):
        stack_from_pulumi(values, project="tidepool", stack="ci")


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


def test_half_a_character_is_refused_as_no_structure() -> None:
    (problem,) = handed({"tidepool:secrets": '["\\ud800"]'})
    assert problem.subject == "stacks/Pulumi.ci.yaml tidepool:secrets"


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


def test_siblings_are_all_stacks_but_this_one() -> None:
    assert [each.stack for each in siblings(the_lab(), "ci")] == [
        name for name in stack_names(the_lab()) if name != "ci"
    ]


def test_a_stack_is_frozen() -> None:
    config = load_stack(the_lab(), "ci")
    with pytest.raises(ValueError, match="frozen"):
        config.owner = "someone-else"  # ty: ignore[invalid-assignment]
    with pytest.raises(ValueError, match="frozen"):
        config.pools[0].name = "other"  # ty: ignore[invalid-assignment]


def test_a_file_whose_name_is_no_stacks_is_nobodys_sibling() -> None:
    content = (the_lab() / "stacks" / "Pulumi.ci.yaml").read_bytes()
    assert read_sibling(content, stack="ci") is not None
    assert read_sibling(content, stack="No Name") is None
