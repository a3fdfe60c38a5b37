"""What apply.yaml asks GitHub before it believes a review or an environment: its shell, against answers of the API."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.github.workflow_sandbox import git, workflow
from tests.lacking import STRICT
from tests.workflows.sandbox.programs import Programs

pytestmark = pytest.mark.skipif(not shutil.which("jq") and not STRICT, reason="no jq here; GitHub's runners have it")

REPO, OURS = "lab/tidepool", 7
HEAD = "a" * 40
API = f"repos/{REPO}"


def step(name: str) -> Mapping[str, Any]:
    (found,) = (each for each in workflow("apply.yaml")["jobs"]["plan"]["steps"] if each.get("name") == name)
    return found


def ran(folder: Path, name: str, answers: Mapping[str, Any], **env: str) -> tuple[int, str, dict[str, str]]:
    """The step's exit code, what it said, and its outputs. answers: of the API, by path;field;field."""
    programs = Programs(Path(tempfile.mkdtemp(dir=folder)))
    programs.stand_in(programs.folder / "bin" / "gh", "gh")
    programs.answer("gh", err="gh: Not Found (HTTP 404)", code=1)
    for path, body in answers.items():
        path, *fields = map(re.escape, path.split(";"))
        programs.answer("gh", f" {path}( |$)" + "".join(f".* {each}( |$)" for each in fields), out=json.dumps(body))
    outputs = folder / "outputs"
    outputs.write_text("")
    said = {key: value for key, value in step(name)["env"].items() if "${{" not in value}
    around = {
        "PATH": f"{programs.folder / 'bin'}:{os.environ['PATH']}", "GITHUB_REPOSITORY": REPO,
        "GITHUB_OUTPUT": str(outputs), **said, **env,
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step(name)["run"]],
        env=around, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    return done.returncode, done.stdout + done.stderr, found


# Environments.

REVIEWERS = {"type": "required_reviewers", "reviewers": [{"type": "User", "reviewer": {"login": "ada"}}]}
NAMED = {"protected_branches": False, "custom_branch_policies": True}
MAIN_ALONE = {"total_count": 1, "branch_policies": [{"id": 1, "name": "main", "type": "branch"}]}
APPLY, ASKING = f"{API}/environments/apply", f"{API}/environments/apply-after-approval"
BRANCHES = "/deployment-branch-policies?per_page=100"


def protected() -> dict[str, Any]:
    """As docs/github.md asks for."""
    return {
        APPLY: {"name": "apply", "protection_rules": [{"type": "branch_policy"}], "deployment_branch_policy": NAMED},
        ASKING: {"protection_rules": [{"type": "branch_policy"}, REVIEWERS], "deployment_branch_policy": NAMED},
        APPLY + BRANCHES: MAIN_ALONE,
        ASKING + BRANCHES: MAIN_ALONE,
    }


def test_environments_that_github_protects_let_the_plan_go_on(tmp_path: Path) -> None:
    code, said, _ = ran(tmp_path, "Check that GitHub protects the environments", protected())
    assert (code, said) == (0, "")


@pytest.mark.parametrize(
    ("path", "answer", "why"),
    [
        (ASKING, None, "apply-after-approval is not there"),
        (APPLY, None, "apply is not there"),
        (ASKING, {"protection_rules": [], "deployment_branch_policy": NAMED}, "no required reviewers"),
        (ASKING, {"deployment_branch_policy": NAMED}, "no required reviewers"),
        (ASKING, {"protection_rules": [REVIEWERS | {"reviewers": []}], "deployment_branch_policy": NAMED}, "reviewers"),
        (ASKING, {"protection_rules": [REVIEWERS], "deployment_branch_policy": None}, "does not name the branches"),
        (APPLY, {"protection_rules": [], "deployment_branch_policy": None}, "does not name the branches"),
        (
            APPLY,
            {"deployment_branch_policy": {"protected_branches": True, "custom_branch_policies": False}},
            "does not name the branches",
        ),
        (APPLY + BRANCHES, {"branch_policies": [{"name": "*", "type": "branch"}]}, "other branches than main"),
        (
            ASKING + BRANCHES,
            {"branch_policies": [{"name": "main", "type": "branch"}, {"name": "topic"}]},
            "other branches than main",
        ),
        (ASKING + BRANCHES, {"branch_policies": [{"name": "main", "type": "tag"}]}, "other branches than main"),
        (ASKING + BRANCHES, None, "cannot be read"),
    ],
)
def test_an_environment_that_would_ask_nobody_ends_the_plan(tmp_path: Path, path: str, answer: Any, why: str) -> None:
    answers = protected() | {path: answer}
    if answer is None:
        del answers[path]
    code, said, _ = ran(tmp_path, "Check that GitHub protects the environments", answers)
    assert code != 0
    assert "::error::the" in said
    assert why in said


def test_environments_are_asked_about_before_anything_of_the_plan() -> None:
    names = [each.get("name") for each in workflow("apply.yaml")["jobs"]["plan"]["steps"]]
    assert names[0] == "Check that GitHub protects the environments"
    assert "plan" in workflow("apply.yaml")["jobs"]["apply"]["needs"]


# The reviewed plan.

FIND = "Find the reviewed plan of this tree"
RUN = {
    "path": ".github/workflows/plan.yaml",
    "event": "pull_request",
    "conclusion": "success",
    "head_sha": HEAD,
    "head_branch": "topic",
    "repository": {"id": OURS},
    "head_repository": {"id": OURS},
}
MERGED: dict[str, Any] = {"merged_at": "2026-11-20", "base": {"ref": "main", "repo": {"id": OURS}},
          "head": {"sha": HEAD, "ref": "topic", "repo": {"id": OURS}}}  # fmt: skip
ARTIFACT: dict[str, Any] = {
    "expired": False,
    "created_at": "2026-11-20",
    "workflow_run": {"id": 11, "head_sha": HEAD, "repository_id": OURS, "head_repository_id": OURS},
}


class Checkout:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        git(folder, "init", "-q")
        (folder / "file").write_text("x")
        git(folder, "add", "file")
        git(folder, "commit", "-q", "-m", "x")
        self.sha, self.tree = git(folder, "rev-parse", "HEAD"), git(folder, "rev-parse", "HEAD^{tree}")

    def found(
        self, *, pull: Any = None, run: Any = None, artifact: Any = None, others: tuple[Any, ...] = (), **env: str
    ) -> str:
        """The run whose plan counts; what is given replaces a part of what GitHub says of a right one."""
        pulled = MERGED | {"merge_commit_sha": self.sha} | (pull or {})
        answers = {
            f"{API}/commits/{self.sha}/pulls?per_page=100": [pulled],
            f"{API}/pulls;state=all;head=lab:topic": [pulled, *others],
            f"{API}/actions/artifacts?per_page=100&name=reviewed-plan-{self.tree}": {
                "artifacts": [ARTIFACT | (artifact or {})]
            },
            f"{API}/actions/runs/11": RUN | (run or {}),
        }
        numbers = {"REPOSITORY_ID": str(OURS), "PINNED": str(OURS)}
        code, said, outputs = ran(self.folder, FIND, answers, GITHUB_SHA=self.sha, **(numbers | env))
        assert code == 0, said
        assert outputs["tree"] == self.tree
        return outputs["run"]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_plan_of_the_head_that_was_merged_counts(checkout: Checkout) -> None:
    assert checkout.found() == "11"
    assert checkout.found(run={"path": ".github/workflows/plan.yaml@refs/pull/3/merge"}) == "11"


@pytest.mark.parametrize(
    "run",
    [
        {"path": ".github/workflows/other.yaml"},
        {"path": ".github/workflows/plan.yaml.yaml"},
        {"event": "push"},
        {"event": "workflow_dispatch"},
        {"event": "pull_request_target"},
        {"conclusion": "failure"},
        {"conclusion": None},
        {"head_sha": "b" * 40},
        {"head_branch": "other"},
        {"repository": {"id": 8}},
        {"head_repository": {"id": 8}},
        {"head_repository": None},
    ],
    ids=str,
)
def test_a_run_that_is_not_the_reviewed_one_is_no_review(checkout: Checkout, run: Any) -> None:
    assert checkout.found(run=run) == ""


@pytest.mark.parametrize(
    "artifact",
    [
        {"expired": True},
        {"workflow_run": ARTIFACT["workflow_run"] | {"head_sha": "b" * 40}},
        {"workflow_run": ARTIFACT["workflow_run"] | {"head_repository_id": 8}},
        {"workflow_run": ARTIFACT["workflow_run"] | {"repository_id": 8}},
    ],
    ids=str,
)
def test_an_artifact_of_another_run_is_no_review(checkout: Checkout, artifact: Any) -> None:
    assert checkout.found(artifact=artifact) == ""


@pytest.mark.parametrize(
    "pull",
    [
        {"merged_at": None},
        {"merge_commit_sha": "b" * 40},
        {"base": MERGED["base"] | {"ref": "other"}},
        {"base": {"ref": "main", "repo": {"id": 8}}},
        {"head": MERGED["head"] | {"repo": {"id": 8}}},
        {"head": MERGED["head"] | {"repo": None}},
        {"head": MERGED["head"] | {"sha": "b" * 40}},
    ],
    ids=str,
)
def test_a_commit_that_no_reviewed_pull_request_brought_has_no_review(checkout: Checkout, pull: Any) -> None:
    assert checkout.found(pull=pull) == ""


def test_a_head_that_was_put_forward_for_another_branch_too_has_no_review(checkout: Checkout) -> None:
    """That branch's plan.yaml would have planned it, under the name of the same head."""
    assert checkout.found(others=(MERGED | {"base": {"ref": "mine", "repo": {"id": OURS}}},)) == ""


def test_a_repository_of_another_number_than_the_stack_file_says_ends_the_plan(checkout: Checkout) -> None:
    code, said, outputs = ran(checkout.folder, FIND, {}, GITHUB_SHA=checkout.sha, REPOSITORY_ID="8", PINNED="7")
    assert (code, outputs) == (1, {})
    assert "this repository has the number 8" in said


def test_a_github_that_does_not_answer_ends_the_plan(checkout: Checkout) -> None:
    code, _, outputs = ran(checkout.folder, FIND, {}, GITHUB_SHA=checkout.sha, REPOSITORY_ID="7", PINNED="7")
    assert code != 0
    assert outputs == {}
