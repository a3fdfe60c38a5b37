"""Runs the shell steps of a workflow's job as GitHub's runner does: in a checkout, with the expressions filled in."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.synthetic_lab import lend_stacks, the_lab
from workflows.composite import expanded
from workflows.read import read
from workflows.world import ACTIONS, load_world

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = the_lab() / ".github" / "workflows"
WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
BARE = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
LOCKS = ("requirements.lock", "requirements-bench.lock")
_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")


def workflow(name: str) -> dict[Any, Any]:
    """A workflow of this repository with the actions in it that it calls. YAML 1.1 reads its `on` as True."""
    text = (WORKFLOWS / name).read_text()
    return yaml.safe_load(text) | {"jobs": expanded(read(text, name), _actions()).data["jobs"]}


@cache
def _actions() -> dict[str, Any]:
    """What is in the committed actions, by what calls them."""
    world = load_world(the_lab())
    files = (the_lab() / ACTIONS).glob("*/action.yml")
    return {str(world.action(file.parent.name)): read(file.read_text(), file.parent.name).data for file in files}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", folder, *arguments], env=BARE | WHO, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def tool_copied(folder: Path) -> None:
    """What the launcher and the commands need of this checkout."""
    shutil.copytree(ROOT / "infra", folder / "infra", ignore=shutil.ignore_patterns("__pycache__"))
    lend_stacks(folder)
    for name in ("tidepool", *LOCKS, "Pulumi.yaml"):
        shutil.copy2(ROOT / name, folder / name)


def checked_out(origin: Path, commit: str, folder: Path) -> None:
    """As actions/checkout leaves a folder: one commit, no credentials. The virtual environment is the one in use."""
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", str(origin))
    git(folder, "fetch", "-q", "--no-tags", "--depth=1", "origin", commit)
    git(folder, "checkout", "-q", "--detach", "FETCH_HEAD")
    venv = folder / ".venv"
    venv.mkdir()
    for part in Path(sys.prefix).iterdir():
        if not part.name.endswith(".stamp"):
            (venv / part.name).symlink_to(part)
    for lock in LOCKS:
        shutil.copy2(folder / lock, venv / f"{lock}.stamp")


@dataclass(frozen=True)
class Job:
    """A job, what its expressions stand for, and the environment that the runner gives every step."""

    job: dict[str, Any]
    expressions: Mapping[str, str]
    environ: Mapping[str, str]

    def run(self, folder: Path) -> list[subprocess.CompletedProcess[str]]:
        """Runs each `run` step, also after one that failed, as an upload with `!cancelled()` would."""
        return [self._step(step, folder) for step in self.job["steps"] if "run" in step]

    def _step(self, step: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
        own = {name: self._filled(str(value)) for name, value in step.get("env", {}).items()}
        assert "${{" not in step["run"], "an expression in a script is an injection"
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=folder,
            env={**BARE, **self.environ, **own},
            capture_output=True,
            text=True,
            check=False,
        )

    def _filled(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: self.expressions[found[1]], text)
