"""The result of tests that a label starts stands on the tested commit, by one name that can be required."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.sandbox.hub import Hub, serving
from tests.workflows.shipped_scripts import RUN_ID, run
from tests.workflows.test_tier_files import data
from workflows.expressions.evaluator import Scope, expand
from workflows.scripts.status import LONGEST

COMMIT = "f00dfeed" * 5
TOLD = {"CONTEXT": "TPU tests, asked for", "TEXT": "the tests have ended", "SHA": COMMIT}


def said(folder: Path, **told: str) -> tuple[Hub, Any]:
    with serving(Hub()) as hub:
        around = {"GITHUB_API_URL": hub.url, "GITHUB_REPOSITORY": "lab/engine", "GITHUB_TOKEN": "t"}
        return hub, run("status", folder, {**around, **TOLD, **told})


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        ("pending", "pending"),
        ("success", "success"),
        ("failure", "failure"),
        ("cancelled", "error"),
        ("skipped", "error"),
        ("", "error"),
    ],
)
def test_a_status_says_how_the_tests_of_the_commit_ended_and_leads_to_the_run(
    tmp_path: Path, outcome: str, state: str
) -> None:
    hub, done = said(tmp_path, OUTCOME=outcome)
    assert done.returncode == 0, done.stderr
    assert hub.asked == [f"POST /repos/lab/engine/statuses/{COMMIT}"]
    (sent,) = map(json.loads, hub.sent)
    assert (sent["state"], sent["context"]) == (state, "TPU tests, asked for")
    assert sent["target_url"].endswith(f"/actions/runs/{RUN_ID}")


@pytest.mark.parametrize("commit", ["main", "f00d", f"{COMMIT}/../x", ""])
def test_what_is_no_whole_commit_gets_no_status(tmp_path: Path, commit: str) -> None:
    hub, done = said(tmp_path, OUTCOME="success", SHA=commit)
    assert done.returncode != 0
    assert hub.asked == []


def test_the_status_is_set_when_they_start_when_they_do_not_and_when_they_end() -> None:
    jobs = data("tpu-pull-request.yaml")["jobs"]
    head, report = jobs["head"]["steps"], jobs["report"]["steps"]
    steps = [each for each in (*head, *report) if "OUTCOME" in each.get("env", {})]
    ended = "${{ contains(needs.reuse.outputs.reused, '|tpu|') && 'success' || needs.tests.outputs.ended }}"
    assert [each["env"]["OUTCOME"] for each in steps] == ["pending", "error", ended]
    assert [each.get("if") for each in steps] == [None, "failure() || cancelled()", None]
    assert {each["env"]["SHA"] for each in steps} == {"${{ inputs.sha }}"}
    assert all(jobs[job]["permissions"]["statuses"] == "write" for job in ("head", "report"))
    assert report.index(steps[-1]) == 0, "nothing that may fail comes before what is required"


@pytest.mark.parametrize(
    ("ended", "result", "text"),
    [
        ("success", "failure", "the tests have ended"),
        ("failure", "failure", "the tests have ended"),
        ("", "failure", "gave no result: "),
        ("", "cancelled", "gave no result: "),
    ],
    ids=["deleting failed", "tests failed", "no VM", "cancelled"],
)
def test_the_status_is_of_the_tests_and_not_of_the_job_around_them(ended: str, result: str, text: str) -> None:
    """Where nothing was tested, as without a VM, the commit is neither well nor red: people are told to ask again."""
    step, *_, comment = data("tpu-pull-request.yaml")["jobs"]["report"]["steps"]
    needs = {
        "head": {"result": "success"},
        "reuse": {"outputs": {"reused": ""}},
        "tests": {"result": result, "outputs": {"ended": ended}},
    }
    scope = Scope({"needs": needs, "inputs": {"sha": COMMIT}, "github": {}})
    assert expand(step["env"]["OUTCOME"], scope) == ended
    assert str(expand(step["env"]["TEXT"], scope)).startswith(text)
    said = str(expand(comment["env"]["TEXT"], scope))
    assert (f"ended with {ended}:" if ended else f"{text}no VM") in said
    assert ("Set the label again" in said) is not bool(ended)
    assert len(str(expand(step["env"]["TEXT"], scope))) <= LONGEST


def test_a_commit_whose_files_passed_before_is_green_and_says_why() -> None:
    step, *_, comment = data("tpu-pull-request.yaml")["jobs"]["report"]["steps"]
    needs = {"reuse": {"outputs": {"reused": "|tpu|"}}, "tests": {"result": "skipped", "outputs": {}}}
    scope = Scope({"needs": needs, "inputs": {"sha": COMMIT}, "github": {}})
    assert expand(step["env"]["OUTCOME"], scope) == "success"
    assert expand(step["env"]["TEXT"], scope) == "an earlier pass has the same files"
    assert "need not run: an earlier pass has the same files:" in str(expand(comment["env"]["TEXT"], scope))
