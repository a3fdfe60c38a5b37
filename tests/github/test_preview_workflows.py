"""The two jobs of a preview: what each may do, and that a stranger's pull request gets its comment and nothing else."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.github.lab_repository import FORK, REPO, TOKEN, Lab
from tests.github.workflow_sandbox import WORKFLOWS, Job, checked_out, git, tool_copied, workflow

PREVIEW, COMMENT = "preview.yaml", "preview-comment.yaml"
CANARY = "canary-5f3a9c"
PLANTED = {
    "AWS_SECRET_ACCESS_KEY": f"{CANARY}-cloud",
    "ACTIONS_RUNTIME_TOKEN": f"{CANARY}-runtime",
    "NPM_TOKEN": f"{CANARY}-registry",
}
HOSTILE = """\
import os, pathlib
print(dict(os.environ))
pathlib.Path({trace!r}).write_text(repr(dict(os.environ)))
"""


def only_job(name: str) -> dict[str, Any]:
    [job] = workflow(name)["jobs"].values()
    return job


def uses(name: str, action: str) -> list[dict[str, Any]]:
    return [step for step in only_job(name)["steps"] if step.get("uses", "").startswith(f"{action}@")]


OWN_PLAN = (
    "github.event.workflow_run.name == 'Plan' && "
    "github.event.workflow_run.head_repository.full_name == github.repository"
)


# What each job may do


def test_the_job_that_reads_the_pull_request_has_no_secret_and_no_token() -> None:
    text = (WORKFLOWS / PREVIEW).read_text()
    assert not re.search(r"secrets\b|github\.token|GITHUB_TOKEN|id-token|pull_request_target", text)


def test_the_job_that_posts_never_checks_out_the_head() -> None:
    [checkout] = uses(COMMENT, "actions/checkout")
    assert checkout["with"]["ref"] == "${{ github.event.repository.default_branch }}"
    scripts = " ".join(step.get("run", "") for step in only_job(COMMENT)["steps"])
    assert "git " not in scripts
    assert "comment write" not in scripts


def test_the_token_is_in_the_environment_of_the_posting_step_alone() -> None:
    for name in (PREVIEW, COMMENT):
        assert "env" not in workflow(name)
        assert "env" not in only_job(name)
    assert [step["name"] for step in only_job(COMMENT)["steps"] if "GITHUB_TOKEN" in step.get("env", {})] == ["Post"]


# A stranger's pull request, from its two commits to its comment


@pytest.fixture
def stranger(tmp_path: Path) -> dict[str, Any]:
    """An origin with a base commit, a fork's hostile head that also adds a VM, and what GitHub would merge."""
    tree, trace = tmp_path / "tree", tmp_path / "hostile-code-ran"
    tree.mkdir()
    tool_copied(tree)
    git(tree, "init", "-q", "-b", "main")
    git(tree, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "base")
    base = git(tree, "rev-parse", "HEAD")
    git(tree, "checkout", "-q", "-b", "edit")
    hostile = HOSTILE.format(trace=str(trace))
    for path in [*tree.glob("infra/*/__init__.py"), *tree.glob("infra/cli/*.py"), tree / "infra" / "__init__.py"]:
        path.write_text(hostile)
    for name in ("sitecustomize.py", "yaml.py", "click.py", "stacks/conftest.py"):
        (tree / name).write_text(hostile)
    (tree / "tidepool").write_text(f"#!/bin/sh\nenv | tee {trace}\n")
    (tree / ".gitattributes").write_text("*.yaml filter=evil diff=evil\n")
    (tree / "stacks" / "Pulumi.environ.yaml").symlink_to("/proc/self/environ")
    ci = tree / "stacks" / "Pulumi.ci.yaml"
    edited = ci.read_text().replace("us-west4-a: 2", "us-west4-a: 3", 1)
    assert edited != ci.read_text()
    ci.write_text(
        edited.replace("tidepool:owner:", "tidepool:vm_labels: {note: '@octo <img src=x>'}\n  tidepool:owner:", 1)
    )
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "edit")
    head = git(tree, "rev-parse", "HEAD")
    merged = git(tree, "commit-tree", "-p", base, "-p", head, "-m", "merge", f"{head}^{{tree}}")
    git(tree, "checkout", "-q", "main")
    return {"origin": tree, "base": base, "head": head, "merged": merged, "trace": trace}


def test_a_strangers_pull_request_gets_its_comment_and_nothing_of_the_environment(
    lab: Lab, stranger: dict[str, Any], tmp_path: Path
) -> None:
    number = lab.control.open_pull(REPO, branch="edit", sha=stranger["head"], head_repository=FORK)
    temp = tmp_path / "temp"
    temp.mkdir()

    checked_out(stranger["origin"], stranger["base"], tmp_path / "reading")
    expressions = {"github.sha": stranger["merged"]}
    reading = Job(only_job(PREVIEW), expressions, PLANTED | {"RUNNER_TEMP": str(temp), "HOME": str(temp)})
    said = reading.run(tmp_path / "reading")
    left = (temp / "preview.json").read_text()

    (temp / "preview").mkdir()
    shutil.move(temp / "preview.json", temp / "preview" / "preview.json")
    checked_out(stranger["origin"], "main", tmp_path / "posting")
    expressions = {"github.token": TOKEN, "github.event.workflow_run.head_sha": stranger["head"], OWN_PLAN: "false"}
    where = {"GITHUB_API_URL": lab.control.api, "GITHUB_REPOSITORY": REPO}
    posting = Job(only_job(COMMENT), expressions, PLANTED | where | {"RUNNER_TEMP": str(temp), "HOME": str(temp)})
    posted = posting.run(tmp_path / "posting")

    assert [step.returncode for step in posted] == [0, 0], [step.stderr for step in posted]
    [comment] = lab.repository().get_issue(number).get_comments()
    assert "## ci: +1 VM, +4 chips" in comment.body
    assert stranger["head"][:12] in comment.body
    assert not stranger["trace"].exists(), "code of the pull request ran"
    everything = [left, comment.body, *(text for step in (*said, *posted) for text in (step.stdout, step.stderr))]
    assert not any(CANARY in text or TOKEN in text for text in everything)
    assert "@octo" not in comment.body
    assert "<img" not in comment.body
    assert json.loads(left).keys() == {"version", "labels", "markdown"}


def test_the_hostile_tree_would_have_shown_itself(stranger: dict[str, Any], tmp_path: Path) -> None:
    checked_out(stranger["origin"], stranger["head"], tmp_path / "head")
    temp = {"RUNNER_TEMP": str(tmp_path), "HOME": str(tmp_path)}
    Job(only_job(PREVIEW), {"github.sha": stranger["merged"]}, PLANTED | temp).run(tmp_path / "head")
    assert CANARY in stranger["trace"].read_text()
