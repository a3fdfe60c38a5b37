"""A generated file from its event to its last job in act, a runner of workflows on this machine, without containers.

Checkout is act's own: it copies the folder. setup-uv and uv have stand-ins; pytest and the tests are real, so that the
markers in the file choose them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.tools.install import ToolError, need
from tests.lacking import lacking
from tests.workflows.specs import ROOT, files
from workflows.events import pull_request
from workflows.world import load_actions

pytestmark = pytest.mark.heavy
FILE = "levanter-tests.yaml"
JAX = ("0.6.2", "0.7.2", "0.8.0")
TESTS = """\
import pytest

def test_plain(): ...

@pytest.mark.entry
def test_entry(): ...

@pytest.mark.ray
def test_ray(): {ray}

@pytest.mark.tpu_ci
def test_tpu(): assert False, "no job of this event is on a TPU"
"""
SETUP = """\
runs:
  using: composite
  steps:
    - shell: bash
      run: echo "$GITHUB_ACTION_PATH/bin" >>"$GITHUB_PATH"
"""
UV = """\
#!/bin/bash
echo "$*" >>{calls}
if [ "$1" = run ]; then
  until [ "$1" = pytest ]; do shift; done
  exec {python} -m "$@" -v --color=no
fi
"""


@dataclass(frozen=True)
class Ended:
    """jobs: by leg, success or failure; tests: by leg, those that ran and their outcome; calls: of uv."""

    jobs: Mapping[str, str]
    tests: Mapping[str, Mapping[str, str]]
    calls: tuple[str, ...]


@dataclass(frozen=True)
class Act:
    """A checkout of the monorepo with one package and its tests."""

    program: Path
    folder: Path

    def run(self, *, ray: str = "...") -> Ended:
        """The file at a pull request of a fork, with what the test of ray does."""
        checkout, setup = self.folder / "checkout", self.folder / "setup"
        written = {
            checkout / ".github" / "workflows" / FILE: files("marin")[FILE].text,
            checkout / "lib" / "levanter" / "tests" / "test_it.py": TESTS.format(ray=ray),
            checkout / "lib" / "levanter" / "pytest.ini": "[pytest]\nmarkers =\n  entry\n  ray\n  tpu_ci\n  slow\n",
            setup / "action.yml": SETUP,
            setup / "bin" / "uv": UV.format(calls=self.folder / "calls", python=sys.executable),
            self.folder / "event.json": json.dumps(pull_request(fork=True, repository="marin-community/marin").payload),
        }
        for path, text in written.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (setup / "bin" / "uv").chmod(0o755)
        subprocess.run(["git", "init", "--quiet", str(checkout)], check=True)
        uses = load_actions(ROOT).uses("astral-sh/setup-uv")
        done = subprocess.run(
            [
                str(self.program), "pull_request", "--json", "--no-cache-server", "--eventpath",
                str(self.folder / "event.json"), "--platform", "ubuntu-24.04=-self-hosted", "--local-repository",
                f"{uses}={setup}", "--action-cache-path", str(self.folder / "cache"),
            ],
            cwd=checkout, env={"HOME": str(self.folder), "PATH": os.environ["PATH"]}, capture_output=True, text=True,
            check=False, timeout=120,
        )  # fmt: skip
        return _read(done.stdout, tuple((self.folder / "calls").read_text().splitlines()))


def _read(told: str, calls: tuple[str, ...]) -> Ended:
    lines = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    lines = [line for line in lines if "jobID" in line]
    jobs = {_leg(line): line["jobResult"] for line in lines if "jobResult" in line}
    tests: dict[str, dict[str, str]] = {leg: {} for leg in jobs}
    for line in lines:
        if found := re.search(r"::(test_\w+) (PASSED|FAILED)", line["msg"]):
            tests[_leg(line)][found[1]] = found[2]
    return Ended(jobs, tests, calls)


def _leg(line: Mapping[str, Any]) -> str:
    jax = line["matrix"].get("jax")
    return f"{line['jobID']} with {jax}" if jax else line["jobID"]


@pytest.fixture
def act(tmp_path: Path) -> Act:
    try:
        return Act(need("act"), tmp_path)
    except ToolError as error:
        lacking(str(error))


def test_a_forks_pull_request_runs_every_test_that_needs_no_accelerator(act: Act) -> None:
    ended = act.run()
    assert ended.tests == {
        **{f"cpu-unit-tests with {jax}": {"test_plain": "PASSED"} for jax in JAX},
        "cpu-ray-tests": {"test_ray": "PASSED"},
        "cpu-entry-tests": {"test_entry": "PASSED"},
    }
    assert set(ended.jobs.values()) == {"success"}
    assert {call for call in ended.calls if call.startswith("sync")} == {
        "sync --package levanter --group test --frozen"
    }
    asked = [call.partition(" --with ")[2].partition(" ")[0] for call in ended.calls if " --with " in call]
    assert sorted(asked) == [f"jax[cpu]=={jax}" for jax in JAX]
