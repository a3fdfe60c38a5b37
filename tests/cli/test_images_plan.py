"""`images plan --base`: the files that git says differ, and tables compared entry by entry."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from infra.cli.app import cli
from tests.cli.conftest import BARE
from tests.synthetic_lab import lend


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the images and stacks of the synthetic lab."""
    root = lend(tmp_path_factory.mktemp("clone"))
    git(root, "init", "--quiet", "--initial-branch=main")
    commit(root, "the base")
    return root


def git(root: Path, *arguments: str) -> None:
    who = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b.c",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b.c",
    }
    subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True, env=os.environ | who)


def commit(root: Path, subject: str) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", subject)


def plan(root: Path, base: str = "HEAD") -> list[dict[str, Any]]:
    environ = BARE | {"PATH": os.environ["PATH"], "TIDEPOOL_ROOT": str(root)}
    done = CliRunner().invoke(cli, ("images", "plan", "--base", base, "--json"), env=environ, prog_name="tidepool")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


@pytest.fixture
def clean(checkout: Path) -> Path:
    git(checkout, "reset", "--quiet", "--hard", "HEAD")
    git(checkout, "clean", "--quiet", "-fd")
    return checkout


def test_a_branch_is_compared_with_where_it_parted_from_its_base(clean: Path) -> None:
    git(clean, "checkout", "--quiet", "-B", "edit")
    edit(clean / "images" / "tpu-ci" / "smoke.sh", "#", "##")
    commit(clean, "an edit")
    git(clean, "checkout", "--quiet", "main")
    edit(clean / "images" / "cluster" / "smoke.sh", "#", "##")
    commit(clean, "somebody else's")
    git(clean, "checkout", "--quiet", "edit")
    assert [each["image"] for each in plan(clean, "main")] == ["tpu-ci"]
    git(clean, "checkout", "--quiet", "main")
