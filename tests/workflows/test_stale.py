"""An edit of a stack names each generated file that it leaves behind, and what differs in it; all from both worlds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from infra.model.errors import Problem
from infra.model.stack import parse_stack
from tests.synthetic_lab import steady, the_lab
from tests.workflows.specs import world
from workflows.outputs import Outputs, outputs
from workflows.standing import Stale, stale

TESTS = "workflows/generated/marin/.github/workflows/levanter-tests.yaml"
CI = steady("ci")


@cache
def now() -> Outputs:
    return outputs(the_lab(), world())


def edited(old: str, new: str) -> Outputs:
    assert old in CI
    others = [stack for name, stack in world().stacks.items() if name != "ci"]
    ci = parse_stack(CI.replace(old, new, 1), stack="ci", source="stacks/Pulumi.ci.yaml", siblings=others)
    return outputs(the_lab(), replace(world(), stacks={**world().stacks, "ci": ci}))


def left_behind(old: str, new: str) -> dict[str, Stale]:
    found = stale(now(), edited(old, new), lambda path, text: now().texts.get(path) == text)
    return {each.path: each for each in found}


STEPS = "steps:\n- {name: Check out, uses: x}\n- {name: Test, run: pytest}\n"


def test_a_count_that_decides_a_share_is_told_with_the_share() -> None:
    found = left_behind("us-west4-a: 2\n        us-east1-c: 2\n", "us-west4-a: 0\n        us-east1-c: 1\n")
    assert found[TESTS].why == ("jobs.tpu-tests.strategy.max-parallel nothing -> 2",)


def test_a_label_is_told_in_the_workflows_the_demands_and_the_list_of_labels() -> None:
    found = left_behind("    - name: tpu-v4\n", "    - name: tpu-v4\n      label: tpu-v4-large\n")
    assert set(found) == {
        TESTS,
        "workflows/demand.yaml",
        "workflows/generated/marin/.github/actionlint.yaml",
        "workflows/generated/marin/.github/workflows/test-results.yaml",
    }
    assert "without tpu-v4 and with tpu-v4-large" in str(found["workflows/generated/marin/.github/actionlint.yaml"])


def test_a_specification_that_nothing_can_be_made_of_hides_its_files_alone() -> None:
    mistakes = (Problem("marin.yaml:3 tests", "x", "a rule", "y"),)
    after = replace(now(), problems={"marin.yaml": mistakes}, hidden=("workflows/generated/marin/",), texts={})
    found = stale(now(), after, lambda path, text: now().texts.get(path) == text)
    assert str(found[0]).endswith("nothing makes it any more")
    assert "marin.yaml: cannot be generated: marin.yaml:3 tests: x: a rule" in [str(each) for each in found]
    assert not [each for each in found if each.path.startswith("workflows/generated/marin/")]


def test_a_file_that_was_made_anew_is_not_stale() -> None:
    after = edited("us-west4-a: 2", "us-west4-a: 1")
    assert stale(now(), after, lambda path, text: after.texts.get(path) == text) == ()


@pytest.mark.parametrize(
    ("was", "becomes", "why"),
    [
        ("a: 1\n", "a: 2\n", ("a 1 -> 2",)),
        ("a: 1\n", "a: 1\nb: {c: 2}\n", ("b nothing -> ...",)),
        ("a: [1, 2]\n", "a: [1]\n", ("a without 2",)),
        ("a: [1, 2]\n", "a: [2, 1]\n", ("a [1, 2] -> [2, 1]",)),
        ("a: [1]\n", "a: [2]\n", ("a without 1 and with 2",)),
        ("# x\na: 1\n", "# y\na: 1\n", ("a comment: y",)),
        ("# x\n# y\na: 1\n", "# x\na: 1\n", ("without a comment: y",)),
        ("a: 1\n", "a:   1\n", ("its layout",)),
        ("a: 1\nb: 1\nc: 1\nd: 1\n", "a: 2\nb: 2\nc: 2\nd: 2\n", ("a 1 -> 2", "b 1 -> 2", "c 1 -> 2", "and 1 more")),
        (f"a: {'x' * 90}1\n", f"a: {'x' * 90}2\n", (f"a …{'x' * 12}1 -> …{'x' * 12}2",)),
    ],
)
def test_what_differs_is_said_by_its_place(was: str, becomes: str, why: tuple[str, ...]) -> None:
    before, after = Outputs(texts={"f": was}), Outputs(texts={"f": becomes})
    (found,) = stale(before, after, lambda path, text: was == text)
    assert found.why == why


def test_a_file_that_nothing_makes_any_more_and_one_that_is_new_are_told() -> None:
    before, after = Outputs(texts={"old": "a: 1\n"}), Outputs(texts={"new": "a: 1\n"})
    found = stale(before, after, lambda path, text: before.texts.get(path) == text)
    assert [str(each) for each in found] == ["new: it is new", "old: nothing makes it any more"]
