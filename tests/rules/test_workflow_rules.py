"""A pool that a workflow needs and a mistyped label are told in the same words by explain, the check and the rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from infra.cli.app import cli as command_line
from infra.model.demand import Demands
from infra.model.schema import StackConfig
from infra.model.unclaimed import MisfitKind
from infra.operations.workflows.check import fitting
from infra.rules.book import judge
from infra.rules.finding import Finding, Level
from tests.cli import workflow_checkout
from tests.model.demanding import BRANCH, asking, demand, fleet, member
from tests.model.given import sibling
from tests.program.stacks import text_of
from tests.rules.right_edits import edit
from tests.rules.test_policy_pack import pack, settings_of
from workflows.outputs import outputs
from workflows.world import load_world

CI = text_of("ci")
REMOVED = CI.replace(CI[CI.index("    - name: tpu-v5p\n") : CI.index("    - name: tpu-v4\n")], "")
TYPO = CI.replace("    - name: tpu-v4\n", "    - name: tpu-v4\n      label: tpu-v4o\n")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All that workflows are generated from, in a folder of its own."""
    return workflow_checkout.made(tmp_path, monkeypatch)


@pytest.mark.parametrize(("text", "label"), [(REMOVED, "tpu-v5p"), (TYPO, "tpu-v4")], ids=["removed pool", "typo"])
def test_explain_the_check_and_the_policy_fail_in_the_same_words(checkout: Path, text: str, label: str) -> None:
    assert text != CI
    (checkout / "edited.yaml").write_text(text)
    base = ["explain", "ci", "--base", str(checkout / "stacks" / "Pulumi.ci.yaml")]
    explained = CliRunner().invoke(command_line, [*base, "--head", str(checkout / "edited.yaml"), "--json"])
    found = [each for each in json.loads(explained.output)["findings"] if each["rule"] in set(MisfitKind)]
    words = {(each["rule"], each["subject"], each["reason"], each["fix"]) for each in found}
    assert explained.exit_code == 1
    assert any(f"no pool has the label {label}" in each["reason"] and each["level"] == "stop" for each in found)

    (checkout / "stacks" / "Pulumi.ci.yaml").write_text(text)
    checked = CliRunner().invoke(command_line, ["workflows", "--check", "--json"])
    fleet = [each for each in json.loads(checked.stdout)["findings"] if each["kind"] == "fleet"]
    assert checked.exit_code == 1
    assert {(each["state"], each["subject"], *each["why"], each["mend"]) for each in fleet} == words

    with pack(settings_of(text)) as policy:
        told = [each for each in policy.stack() if each.policyName in set(MisfitKind)]
    assert {(each.policyName, each.message) for each in told} == {
        (rule, f"{subject}: {reason}\nwrite: {fix}") for rule, subject, reason, fix in words
    }


BY_HAND = """\
name: By hand
on: {push: {branches: [main]}}
jobs:
  tpu:
    runs-on: [self-hosted, tpu-cj]
    timeout-minutes: 15
    steps: [{run: "true"}]
"""


def test_a_mistyped_label_of_a_workflow_that_nobody_generates_is_told_by_the_check(checkout: Path) -> None:
    (checkout / ".github" / "workflows" / "by-hand.yaml").write_text(BY_HAND)
    made = outputs(checkout, load_world(checkout)).demands
    (misfit,) = fitting(checkout, made)
    assert misfit.subject == "marin-community/tidepool .github/workflows/by-hand.yaml tpu"
    assert "no pool has the label tpu-cj" in misfit.reason


def judged(config: StackConfig, demands: Demands | None, *siblings: StackConfig) -> list[Finding]:
    return [each for each in judge(edit(config, demands=demands, siblings=siblings)) if each.rule in set(MisfitKind)]


def test_a_finding_concerns_the_stacks_where_it_can_be_mended() -> None:
    other = sibling(stack="nightly", pools=member(name="nightly", serves="[lab/other]"))
    demands = asking(demand("lost"), demand("tpu-ci", job="there"), demand("nightly", repository="lab/other"))
    assert [each.rule for each in judged(fleet(), demands, other)] == [MisfitKind.RUNNER]
    assert judged(other, demands, fleet()) == []


def test_what_only_costs_time_or_money_is_a_warning() -> None:
    (unused,) = judged(fleet(member(name="idle")), asking(demand()))
    assert (unused.rule, unused.level) == (MisfitKind.USER, Level.WARN)


def test_a_job_of_another_lab_is_a_warning_and_a_queue_past_a_day_stops() -> None:
    (stranger,) = judged(fleet(), asking(demand(), demand(repository="stranger/code")))
    assert (stranger.rule, stranger.level) == (MisfitKind.RUNNER, Level.WARN)
    (queue,) = judged(fleet(), asking(demand(starts=(BRANCH.model_copy(update={"legs": 400}),))))
    assert (queue.rule, queue.level) == (MisfitKind.WAIT, Level.STOP)
