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
    alone = checks.pytest_check(unit=True, heavy=False, live=False, extra=())
    assert alone.command[2] == "not heavy and not live and not end_to_end"
    every = checks.pytest_check(unit=False, heavy=True, live=True, extra=())
    assert every.command[2] == ""


def test_unit_tests_alone_and_a_long_tier_are_refused_together() -> None:
    refused = CliRunner().invoke(setup.test_command, ["--unit", "--heavy"])
    assert refused.exit_code == 2
    assert "--unit leaves out what --heavy and --live add" in refused.output


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
