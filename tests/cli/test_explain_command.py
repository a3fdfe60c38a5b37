"""`./tidepool explain`: versions from git and from files, forms, exit codes, and nothing run of either version."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from infra.cli.app import cli
from tests.cli.conftest import git
from tests.model.given import ROOT
from tests.synthetic_lab import lend_stacks, steady

CI = steady("ci")
MORE = CI.replace("us-west4-a: 2", "us-west4-a: 3")
FILE = "stacks/Pulumi.ci.yaml"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git checkout whose one commit, tagged `first`, has the steady stacks."""
    root = tmp_path / "checkout"
    lend_stacks(root)
    monkeypatch.setenv("TIDEPOOL_ROOT", str(root))
    monkeypatch.setenv("TIDEPOOL_HOME", str(tmp_path / "home"))
    git(root, "init", "--quiet")
    commit(root, "first")
    return root


def commit(root: Path, tag: str) -> None:
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", tag)
    git(root, "tag", tag)


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["explain", *arguments])


def test_the_working_tree_is_compared_with_the_last_commit(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    assert explain("ci").output == f"ci: no change\n\nCompares the working tree with HEAD ({head[:12]}).\n"
    (checkout / FILE).write_text(MORE)
    result = explain("ci")
    assert result.exit_code == 0
    assert "tpu-ci in us-west4-a, v5litepod-4, preemptible: 2 -> 3 VMs (+4 chips)." in result.output
    body = json.loads(explain("ci", "--json").output)
    assert (body["base"], body["head"]) == ({"ref": "HEAD", "commit": head}, {"ref": None, "commit": None})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nosuch"], "there is no stack named nosuch"),
        (["cii"], "neither in HEAD nor in the working tree. Did you mean 'ci'? Stacks are ci, "),
        (["ci", "--base", "nosuch"], "neither a file nor a git reference"),
        (["ci", "--base", "--help"], "neither a file nor a git reference"),
        (["ci", "--base", "./nosuch.yaml"], "cannot be read"),
        (["../ci"], "not the name of a stack"),
    ],
)
def test_a_version_that_is_not_there_ends_with_two(checkout: Path, arguments: list[str], said: str) -> None:
    result = explain(*arguments)
    assert result.exit_code == 2
    assert said in result.output


def test_facts_of_other_rooms_are_handed_in_as_a_file(checkout: Path, tmp_path: Path) -> None:
    (checkout / FILE).write_text(CI.replace("us-east1-c: 2", "us-east1-c: 1"))
    facts = {
        "today": "2026-11-21T12:00:00Z",
        "busy": {"tpu-ci-us-east1-c-1": "tests / tpu"},
        "stale": [".github/workflows/tests.yaml"],
        "labelsUsed": {"tpu": ["tests.yaml"]},
        "windowHours": {"tpu-ci": 60},
    }
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    result = explain("ci", "--all", "--facts", str(tmp_path / "facts.json"))
    assert "busy: tpu-ci-us-east1-c-1 (tests / tpu)" in result.output
    assert ".github/workflows/tests.yaml" in result.output
    assert "(60 hours a month)" in result.output
    assert "not known" not in result.output


def test_facts_that_are_none_are_refused(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "facts.json").write_text('{"busy": 3, "weather": "fine"}')
    result = explain("ci", "--facts", str(tmp_path / "facts.json"))
    assert result.exit_code == 2
    assert "busy" in result.output
    assert "weather" in result.output


@pytest.mark.parametrize("shape", ["text", "markdown", "json"])
def test_equal_inputs_give_equal_bytes_whatever_the_process(checkout: Path, tmp_path: Path, shape: str) -> None:
    (checkout / FILE).write_text(MORE.replace("accelerator: v6e-8", "accelerator: v6e-4").replace("tpu-v4", "tpu-four"))
    (tmp_path / "facts.json").write_text('{"today": "2026-11-21T12:00:00Z"}')
    arguments = ["explain", "ci", "--format", shape, "--facts", str(tmp_path / "facts.json")]
    outputs = {
        subprocess.run(
            [sys.executable, "-m", "infra.cli", *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "COLUMNS": columns},
            capture_output=True,
            check=True,
        ).stdout
        for seed, columns in (("1", "40"), ("2", "200"))
    }
    assert len(outputs) == 1
