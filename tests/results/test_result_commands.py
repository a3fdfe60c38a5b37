"""`./tidepool results` in a git repository, with a folder as the store, and the local GitHub."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from infra.cli.app import cli
from tests.github.conftest import lab as lab
from tests.github.workflow_sandbox import git
from tests.synthetic_lab import the_lab

STACK = """
  tidepool:results:
    bucket: {name: lab-results, location: us-central1}
    kept_days: 30
    suites:
      - {name: tpu, inputs: ["src/**"]}
    quarantine:
      - {suite: tpu, test: t.loose, owner: ann, reason: a port, expires: 2999-01-01}
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, in a lab whose nightly stack declares results."""
    root, work = tmp_path / "lab", tmp_path / "work"
    (root / "stacks").mkdir(parents=True)
    text = (the_lab() / "stacks" / "Pulumi.nightly.yaml").read_text()
    (root / "stacks" / "Pulumi.nightly.yaml").write_text(text.split("  tidepool:results:")[0] + STACK)
    (work / "src").mkdir(parents=True)
    (work / "src" / "a.py").write_text("1\n")
    git(work, "init", "-q")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "first")
    for name, value in {
        "TIDEPOOL_ROOT": root,
        "TIDEPOOL_HOME": tmp_path / "home",
        "TIDEPOOL_RESULTS": tmp_path / "kept",
    }.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.chdir(work)
    return work


def run(*arguments: str, code: int = 0, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    done = CliRunner().invoke(cli, ["results", *arguments, "--json"], env=environ, prog_name="tidepool")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def publish(desk: Path, number: int, *outcomes: str, name: str = "t.a") -> dict[str, Any]:
    cases = "".join(f'<testcase name="{name}" time="1">{outcome}</testcase>' for outcome in outcomes or ("",))
    (desk.parent / "junit.xml").write_text(f'<testsuite>{cases}<testcase name="t.b" time="1"/></testsuite>')
    return run(
        "publish", "tpu", "--run", str(number), "--hardware", "v6e-1", "--branch", "main",
        "--junit", str(desk.parent / "junit.xml"),
    )  # fmt: skip


def test_a_run_is_kept_and_reported_with_summary_badges_and_exit_code(desk: Path, tmp_path: Path) -> None:
    assert publish(desk, 1)["tests"] == 2
    summary, badges = tmp_path / "summary.md", tmp_path / "badges"
    told = run("report", "tpu", "--summary", str(summary), "--badges", str(badges))
    assert (told["ended"], told["findings"]) == ("passed", [])
    assert "tpu: passed" in summary.read_text()
    assert "passing" in (badges / "tpu.svg").read_text()
    publish(desk, 2, '<failure message="boom"/>')
    assert run("report", "tpu", code=1)["findings"][0]["kind"] == "broken"
    assert run("report", "tpu", "--run", "1")["failed"] is False
    run("report", "other", code=2)


def test_a_quarantined_test_of_the_stack_file_fails_no_report(desk: Path) -> None:
    publish(desk, 1, "<failure/>", name="t.loose")
    told = run("report", "tpu", "--badges", str(desk.parent))
    assert [each["test"] for each in told["excused"]] == ["t.loose"]
    assert "passing" in (desk.parent / "tpu.svg").read_text()
    assert "the quarantine excuses it" in CliRunner().invoke(cli, ["results", "report", "tpu"]).output


def test_an_unchanged_tree_reuses_a_pass_says_so_and_runs_anew_after_an_edit_of_an_input(desk: Path) -> None:
    asked = ("reuse", "tpu", "--hardware", "v6e-1", "--branch", "main")
    assert run(*asked, "--run", "0", code=1)["reused"] is None
    publish(desk, 1)
    (desk / "README").write_text("no input\n")
    git(desk, "add", "-A")
    git(desk, "commit", "-q", "-m", "docs")
    assert run(*asked, "--run", "2")["reused"] == "1"
    assert "nothing ran" in CliRunner().invoke(cli, ["results", "report", "tpu"]).output
    (desk / "src" / "a.py").write_text("2\n")
    git(desk, "commit", "-q", "-a", "-m", "edit")
    assert run(*asked, "--run", "3", code=1)["reused"] is None
