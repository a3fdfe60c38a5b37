"""The jobs that have an identity: what each may do, on what, and that nothing unseen is applied."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from infra.cli.app import cli
from infra.model.stack import load_stack
from tests.github.workflow_sandbox import WORKFLOWS, workflow
from tests.synthetic_lab import the_lab

PLAN, APPLY, DRIFT = "plan.yaml", "apply.yaml", "drift.yaml"
EACH = pytest.mark.parametrize("name", [PLAN, APPLY, DRIFT])
AUTH = "google-github-actions/auth@"


def jobs(name: str) -> dict[str, Any]:
    return workflow(name)["jobs"]


def script(job: dict[str, Any]) -> str:
    return "\n".join(step.get("run", "") for step in job["steps"])


def account(job: dict[str, Any]) -> set[str]:
    return {step["with"]["service_account"] for step in job["steps"] if step.get("uses", "").startswith(AUTH)}


@EACH
def test_nothing_of_an_event_stands_in_a_script(name: str) -> None:
    assert "${{" not in "".join(script(job) for job in jobs(name).values())


@EACH
def test_no_key_and_no_secret_is_named_and_no_checkout_leaves_a_token(name: str) -> None:
    text = (WORKFLOWS / name).read_text()
    assert not re.search(r"secrets\.|credentials_json|service_account_key|pull_request_target", text)
    steps = chain.from_iterable(job["steps"] for job in jobs(name).values())
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_only_the_applying_job_acts_as_the_deployer() -> None:
    deploying = "${{ vars.TIDEPOOL_DEPLOYER }}"
    reading = [jobs(PLAN)["plan"], jobs(APPLY)["plan"], jobs(DRIFT)["look"]]
    assert [account(job) for job in reading] == [{"${{ vars.TIDEPOOL_PREVIEWER }}"}] * 3
    assert account(jobs(APPLY)["apply"]) == {deploying}
    assert account(jobs(DRIFT)["report"]) == set()
    assert not any("tidepool up" in script(job) for job in reading)


def test_a_forks_pull_request_gets_no_identity() -> None:
    assert "head.repo.full_name == github.repository" in jobs(PLAN)["plan"]["if"]


def test_the_applying_job_runs_in_an_environment_that_the_stack_lets_in() -> None:
    github = load_stack(the_lab(), "ci").github
    assert github is not None
    for environment in github.environments:
        assert f'"{environment}"' in jobs(APPLY)["apply"]["if"]
        assert f'"{environment}"' in script(jobs(APPLY)["plan"])
    assert jobs(APPLY)["apply"]["environment"] == "${{ needs.plan.outputs.environment }}"


def test_the_plan_that_was_agreed_to_is_compared_before_anything_is_applied() -> None:
    text = script(jobs(APPLY)["apply"])
    assert 0 < text.index('plan digest "$RUNNER_TEMP"/plans/*.json --expect "$AGREED"') < text.index("tidepool up")


def written(path: Path, *ops: str, exit_code: int = 0) -> str:
    steps = [{"op": op, "urn": f"urn:{op}", "name": f"vm-{op}", "diff": {}} for op in ops]
    path.write_text(json.dumps({"stack": path.stem, "complete": True, "steps": steps, "exit": exit_code}))
    return str(path)


def ran(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, list(arguments))
    return result.exit_code, result.stdout


def test_the_two_commands_agree_on_what_was_reviewed(tmp_path: Path) -> None:
    plans = [written(tmp_path / "ci.json", "create", "same"), written(tmp_path / "nightly.json")]
    code, told = ran("plan", "digest", *plans, "--json")
    assert code == 0
    assert json.loads(told)["stacks"] == ["ci", "nightly"]
    reviewed = tmp_path / "digest.json"
    reviewed.write_text(told)
    code, told = ran("plan", "approval", *plans, "--reviewed", str(reviewed), "--json")
    assert (code, json.loads(told)["approval"], json.loads(told)["why"]) == (0, False, [])
    digest = json.loads(told)["digest"]
    assert ran("plan", "digest", *plans, "--expect", digest) == (0, f"{digest}\n")
    assert ran("plan", "digest", plans[1], "--expect", digest)[0] == 1


@pytest.mark.parametrize("content", [None, "{}", "[]", '{"digest": "all of it"}'])
def test_a_review_that_is_missing_or_says_nothing_is_none(tmp_path: Path, content: str | None) -> None:
    reviewed = tmp_path / "digest.json"
    if content is not None:
        reviewed.write_text(content)
    code, told = ran("plan", "approval", written(tmp_path / "ci.json", "create"), "--reviewed", str(reviewed))
    assert (code, told) == (0, "approval needed: no reviewed plan of this head and base is known\n")
