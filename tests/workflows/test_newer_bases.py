"""The weekly look for newer bases: one issue, opened, edited and closed, by the shell of the generated file itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from infra.model.federation import MAIN
from tests.synthetic_lab import the_lab
from tests.workflows.sandbox.programs import Programs
from workflows.own import generate_own
from workflows.world import load_world

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def steps() -> dict[str, str]:
    (file,) = [each for each in generate_own(load_world(the_lab())) if each.path.endswith("/bases.yaml")]
    job = file.workflow.plain()["jobs"]["look"]
    assert MAIN in job["if"]
    assert job["permissions"] == {"contents": "read", "issues": "write"}
    return {step["name"]: step["run"] for step in job["steps"] if "run" in step}


def kept(script: str, folder: Path, *, code: str, number: str) -> tuple[int, list[str]]:
    """What gh is asked, its first two words a call."""
    programs = Programs(folder / "programs")
    programs.stand_in(folder / "bin" / "gh", "gh")
    programs.answer("gh", "^issue list", out=number)
    (folder / "bases.txt").write_text("python  sha256:1  sha256:2\n")
    environ = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "RUNNER_TEMP": str(folder),
        "REPOSITORY": "lab/tidepool", "GH_TOKEN": "t", "CODE": code,
    }  # fmt: skip
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], env=environ, check=False)
    programs.close()
    return done.returncode, [" ".join(call.argv[:2]) for call in programs.calls()]


@pytest.mark.parametrize(
    ("code", "number", "asked"),
    [
        ("0", "", ["issue list"]),
        ("0", "7", ["issue list", "issue close"]),
        ("1", "", ["issue list", "label create", "issue create"]),
        ("1", "7", ["issue list", "issue edit"]),
    ],
)
def test_one_issue_says_what_is_newer(
    steps: dict[str, str], code: str, number: str, asked: list[str], tmp_path: Path
) -> None:
    assert kept(steps["Keep the issue"], tmp_path, code=code, number=number) == (0, asked)
    if "issue create" in asked or "issue edit" in asked:
        assert "python  sha256:1  sha256:2" in (tmp_path / "issue.md").read_text()


def test_a_command_that_is_broken_fails_the_run_and_touches_no_issue(steps: dict[str, str], tmp_path: Path) -> None:
    code, asked = kept(steps["Keep the issue"], tmp_path, code="2", number="7")
    assert (code, asked) == (2, [])
