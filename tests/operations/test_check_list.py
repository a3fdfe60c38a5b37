"""Which files `./tidepool test` looks at, and what it says where git cannot tell."""

from __future__ import annotations

import os
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


def test_the_core_of_the_live_tier_runs_alone() -> None:
    (core,) = checks.checks_for(live=True, core=True)
    assert core.command[1:5] == ("-m", "core", "-o", "testpaths=tests/engines/live")


def test_every_test_of_the_core_is_in_the_folder_that_the_core_collects() -> None:
    marked = {path for path in (checks.CHECKOUT / "tests").rglob("*.py") if "mark.core" in path.read_text()}
    outside = {path for path in marked if checks.CHECKOUT / checks.CORE not in path.parents}
    assert outside == {Path(__file__)}
    assert outside < marked


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


def test_checks_run_side_by_side_and_each_is_told_in_one_piece(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "meet")
    both = (
        ("one", f"echo begins; echo >{tmp_path}/meet; echo ends"),
        ("two", f"cat {tmp_path}/meet; echo ends; exit 1"),
    )
    made = [checks.Check(name, ("timeout", "20", "sh", "-c", script)) for name, script in both]
    told: list[str] = []
    outcomes = checks.run_all(made, told.append, strict=False, quiet=False)
    assert [(each.name, each.status) for each in outcomes] == [("one", "passed"), ("two", "failed")]
    assert sorted(told) == ["-- one\nbegins\nends", "-- two\n\nends"]
