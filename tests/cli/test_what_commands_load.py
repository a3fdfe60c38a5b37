"""Help, completion, and commands that need neither engine nor cloud start at once, because they load little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from infra.cli import images
from infra.cli.app import SECTIONS

SLOW = (
    "cronsim", "google.auth", "googleapiclient", "grpc", "infra.engines.choose", "infra.local.guests.guests", "jwt",
    "numpy", "pulumi", "pydantic", "starlette", "urllib3",
)  # fmt: skip
"""Packages and modules that take long to load."""
LOADED = f"""
import json, sys, types
def loaded():
    return [name for name in {SLOW} if type(sys.modules.get(name)) is types.ModuleType]
"""


def loaded_by(code: str, home: Path) -> list[str]:
    """Which of what is slow a process has loaded after this code; a module that waits for its first use is not."""
    done = subprocess.run(
        [sys.executable, "-c", f"{LOADED}\n{code}\nprint(json.dumps(loaded()))"],
        capture_output=True, text=True, check=True, timeout=60, env={"TIDEPOOL_HOME": str(home), "PATH": ""},
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def test_no_module_of_commands_loads_what_is_slow(tmp_path: Path) -> None:
    entries = [
        entry for group in (SECTIONS, images.SECTIONS) for section in group.values() for entry in section.values()
    ]
    modules = sorted({entry.module for entry in entries})
    assert len(modules) > 10
    code = f"import infra.cli.app\nfrom infra.cli.lazy import load_command\nfor each in {modules}: load_command(each)"
    assert loaded_by(code, tmp_path) == []


HELPS = ([], ["preview"], ["cloud", "fail"], ["cloud", "job", "end"], ["results"], ["jobs", "submit"], ["run-on"])


@pytest.mark.parametrize("arguments", [["config", "ci"], ["cloud", "status"], *([*each, "--help"] for each in HELPS)])
def test_commands_without_engine_and_cloud_load_nothing_slow(arguments: list[str], tmp_path: Path) -> None:
    assert loaded_by(f"from infra.cli.app import cli\ncli({arguments}, standalone_mode=False)", tmp_path) == []


def test_a_command_that_looks_at_a_fleet_loads_what_it_needs(tmp_path: Path) -> None:
    """So that the tests above can fail."""
    assert "pydantic" in loaded_by("from infra.operations.fleet import looks", tmp_path)
