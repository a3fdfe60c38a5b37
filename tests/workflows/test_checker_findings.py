"""A finding says where it is and what to write; what is not known is not judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.model.schema import Trust
from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from tests.synthetic_lab import the_lab
from tests.workflows.rule_examples.files import CHECKS, OURS, files, following, run, workflow
from workflows.checks import RULES, Fault, Known, Pool, TestCase, check, pools_of
from workflows.checks.coverage import marked
from workflows.read import read

ROOT = Path(__file__).parents[2]
SCRIPT = """\
name: Checks
on: push
permissions: {}
concurrency: checks
jobs:
  train:
    runs-on: ubuntu-24.04
    timeout-minutes: 15
    steps:
      - name: Train
        run: |
          echo before
          python train.py \\
            --steps 10
            --rate 1
"""


def test_a_fault_within_a_script_has_the_line_of_the_command() -> None:
    (found,) = check([read(SCRIPT, ".github/workflows/checks.yaml")])
    assert (found.line, SCRIPT.splitlines()[found.line - 1].strip()) == (15, "--rate 1")
    assert (found.file, found.job, found.rule) == (".github/workflows/checks.yaml", "train", "line-continued")


def test_a_finding_reads_as_place_reason_and_fix() -> None:
    (found,) = check([read(SCRIPT, "checks.yaml")])
    assert str(found).splitlines() == [
        "checks.yaml:15 job train [line-continued]",
        "  --rate begins a command: the line before it does not end in a backslash",
        "  write: a backslash at the end of the line before, and nothing behind it",
    ]


def test_findings_come_by_file_and_line_whatever_the_order_of_files() -> None:
    repository = files((workflow(drop="permissions", name="A"), workflow(drop="timeout-minutes", name="B")))
    found = check(repository)
    assert found == check(tuple(reversed(repository))) == tuple(sorted(found))
    assert len({each.file for each in found}) == 2


def test_labels_are_judged_only_where_the_pools_are_known() -> None:
    asking = files((workflow(on={"push": {}}, job={"runs-on": ["self-hosted", "nobody"]}),))
    assert not check(asking)
    (found,) = check(asking, Known(pools=(Pool("tpu", frozenset(OURS)),)))
    assert found.reason == "no runner has self-hosted, nobody; pools have tpu-ci"


def test_a_workflow_that_stays_as_it_is_can_be_followed() -> None:
    repository = files((following(),))
    assert [each.rule for each in check(repository)] == ["upstream-exists"]
    assert not check(repository, Known(workflows=frozenset(("Checks",))))


def test_an_accepted_gap_is_no_finding() -> None:
    known = Known(tests=(TestCase("tests/test_a.py", frozenset(("slow",))),))
    repository = files((workflow(run("pytest -m 'not slow' tests")),))
    (found,) = check(repository, known)
    assert found.reason == "no job runs 1 test marked slow, such as tests/test_a.py"
    assert not check(repository, Known(tests=known.tests, accepted_gaps=frozenset(("slow",))))


@pytest.mark.parametrize(
    ("expression", "markers", "taken"),
    [
        ("", (), True),
        ("tpu_ci", ("tpu_ci",), True),
        ("not entry and not slow", ("slow",), False),
        ("not (entry or slow)", ("ray",), True),
        ("entry or ray", ("ray",), True),
        ("tpu_ci(", (), True),
    ],
)
def test_a_marker_expression_selects_as_pytest_does(expression: str, markers: tuple[str, ...], taken: bool) -> None:
    assert marked(expression, frozenset(markers)) is taken


def test_pools_of_the_stacks_have_their_labels_and_say_whom_they_are_for() -> None:
    stacks = [load_stack(the_lab(), name) for name in stack_names(the_lab())]
    pools = {pool.name: pool for pool in pools_of(stacks)}
    declared = [pool for stack in stacks for pool in stack.pools if pool.slices]
    assert pools.keys() == {pool.name for pool in declared}
    for pool in declared:
        assert pools[pool.name].labels == {"self-hosted", *pool.runner_labels}
        assert pools[pool.name].forks is (pool.trust is Trust.FORK)


def test_the_same_files_give_the_same_findings_and_are_not_changed() -> None:
    repository = files((CHECKS, following(condition="")))
    before = [json.dumps(each.data) for each in repository]
    first: tuple[Fault, ...] = check(repository)
    assert first == check(repository)
    assert [json.dumps(each.data) for each in repository] == before
    assert {each.rule for each in first} <= {rule.id for rule in RULES}


@pytest.mark.parametrize(
    "text",
    [
        "on: 3\njobs: {a: {runs-on: x, needs: 3, strategy: 3, if: [1], steps: [3, {run: 3}, {uses: 3}]}}",
        "on: {schedule: 3, workflow_dispatch: {inputs: 3}, workflow_run: 3}\njobs: {a: {runs-on: [3, [4]]}}",
        "on: push\njobs: {a: {services: 3, strategy: {matrix: {a: 3}}, steps: [{run: 'x ${{'}, {if: '${{'}]}}",
        *(
            f"on: push\njobs: {{a: {{runs-on: x, steps: [{{run: {command}}}]}}}}"
            for command in ("trap", "timeout", "cd", "sed -i", "xargs", "uv run", "python -m", "docker login -u")
        ),
    ],
)
def test_a_file_that_is_half_written_is_judged_as_far_as_it_goes(text: str) -> None:
    check([read(text, "checks.yaml")])
