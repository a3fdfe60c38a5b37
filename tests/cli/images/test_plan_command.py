"""`./tidepool images plan`: what it takes as a change, and what it refuses rather than to call it no change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from infra.cli.app import cli
from infra.operations.images import changes
from tests.cli.conftest import git
from tests.synthetic_lab import lend, the_lab


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEPOOL_ROOT", str(the_lab()))
    monkeypatch.setenv("TIDEPOOL_HOME", str(tmp_path / "home"))


def run(*arguments: str, given: str | bytes = "") -> Result:
    return CliRunner().invoke(cli, ["images", "plan", *arguments], prog_name="tidepool", input=given)


def test_more_files_than_a_command_line_holds_are_read_from_standard_input() -> None:
    names = "".join(f"lib/{number}/with a space.py\n" for number in range(50_000))
    found = run("--changed", "-", "--json", given=f"{names}images/levanter-cluster/smoke.sh\n")
    assert [each["image"] for each in json.loads(found.stdout)] == ["levanter-cluster"]


def test_a_name_that_is_no_text_is_a_file_like_any_other() -> None:
    found = run("--changed", "-", given=b"images/cluster/\xff.sh\n")
    assert found.exit_code == 0, found.output
    assert "cluster" in found.stdout


def test_a_file_that_is_one_of_another_repositorys_sources_says_so() -> None:
    assert "images: --repository marin-community/marin" in run("--changed", "uv.lock").output
    assert "--repository" not in run("--changed", "README.md").output


@pytest.mark.parametrize("base", ["--all", "--help", "--octopus", "no-such-ref"])
def test_a_base_that_is_no_commit_is_refused(base: str) -> None:
    refused = run(f"--base={base}")
    assert refused.exit_code == 2, refused.output
    assert "is not a commit" in refused.stderr


def test_a_changed_file_whose_name_is_no_text_is_read_from_git(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "first")
    Path(f"{tmp_path}/\udcff.txt").touch()
    assert changes._differing(tmp_path, "HEAD") == ("\N{REPLACEMENT CHARACTER}.txt",)


def test_a_branch_is_compared_with_where_it_parted_from_its_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = lend(tmp_path / "clone")
    monkeypatch.setenv("TIDEPOOL_ROOT", str(root))

    def commit(image: str) -> None:
        script = root / "images" / image / "smoke.sh"
        script.write_text(f"{script.read_text()}#\n")
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", image)

    git(root, "init", "--quiet", "--initial-branch=main")
    commit("cluster")
    git(root, "checkout", "--quiet", "-b", "edit")
    commit("tpu-ci")
    git(root, "checkout", "--quiet", "main")
    commit("cluster")
    git(root, "checkout", "--quiet", "edit")
    assert [each["image"] for each in json.loads(run("--base", "main", "--json").stdout)] == ["tpu-ci"]
