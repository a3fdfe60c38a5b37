"""Which files `./tidepool test` looks at, and what it says where git cannot tell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from infra.cli import setup
from infra.operations.checkout import checks
from infra.operations.errors import Failure


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(checks, "CHECKOUT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "run.sh").touch()
    return tmp_path


def test_a_file_that_nobody_added_yet_is_checked_and_an_ignored_one_is_not(root: Path) -> None:
    subprocess.run(["git", "-C", root, "init", "-q"], check=True)
    (root / ".gitignore").write_text("left.sh\n")
    (root / "left.sh").touch()
    assert checks.tracked(checks.is_shell) == [Path("run.sh")]


@pytest.mark.usefixtures("root")
def test_a_source_archive_without_git_metadata_is_told_the_way_on() -> None:
    with pytest.raises(Failure, match=r"not a git repository.*git init && \./tidepool test"):
        checks.tracked(checks.is_shell)


@pytest.mark.usefixtures("root")
def test_a_machine_without_git_is_told_the_way_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Failure, match=r"git.*--fast"):
        checks.tracked(checks.is_shell)


def test_the_unit_tests_alone_leave_out_what_goes_end_to_end_and_the_long_tiers() -> None:
    (alone,) = checks.checks_for(unit=True)
    assert alone.command[2] == "not heavy and not live and not end_to_end"
    (every,) = checks.checks_for(fast=True, heavy=True, live=True)
    assert every.command[2] == ""


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--unit", "--heavy"], "--unit leaves out what --heavy and --live add"),
        (["--core"], "give --live --core"),
        (["--live", "--core", "--heavy"], "without --heavy"),
    ],
)
def test_tiers_that_exclude_each_other_are_a_usage_error(options: list[str], problem: str) -> None:
    refused = CliRunner().invoke(setup.test_command, options)
    assert refused.exit_code == 2
    assert problem in refused.output


def test_the_core_fails_where_the_judge_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def run_all(*_: object, strict: bool, **__: object) -> list[checks.CheckResult]:
        seen.append(strict)
        return []

    monkeypatch.setattr(checks, "run_all", run_all)
    monkeypatch.setattr(setup.install, "build", lambda _: [])
    for options in (["--live"], ["--live", "--core"]):
        assert CliRunner().invoke(setup.test_command, options).exit_code == 0
    assert seen == [False, True], "a core in which every test was skipped is not green"
