"""Help, completion, and commands that need neither engine nor cloud start at once, because they load little."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.cli import images
from infra.cli.app import SECTIONS
from tests.synthetic_lab import the_lab

SLOW = (
    "cronsim", "detect_secrets", "google.auth", "googleapiclient", "grpc", "infra.engines.choose",
    "infra.engines.protocol", "bench.guests.guests", "infra.model.plan", "jwt", "numpy", "pulumi", "pydantic",
    "rich", "secrets", "starlette", "urllib3", "wcmatch", "yaml",
)  # fmt: skip
"""Packages and modules that take long to load."""
READING = {"cronsim", "pydantic", "secrets", "yaml"}
"""What of it a stack file is read with; pydantic loads `secrets`."""
FILES_ALONE = {
    "validate": READING,
    "schema": READING,
    "calendar": READING | {"infra.model.plan", "rich"},
    "explain ci": READING | {"infra.model.plan"},
    "config ci": {"yaml"},
    "completion bash": set(),
}
"""Commands that ask files alone, each with what it needs of what is slow."""
LOADED = f"""
import json, sys, types
def loaded():
    return [name for name in {SLOW} if type(sys.modules.get(name)) is types.ModuleType]
"""


def told_by(code: str, home: Path) -> Any:
    """What the last line of a process that ran this code says, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, timeout=60,
        env={"TIDEPOOL_HOME": str(home), "TIDEPOOL_ROOT": str(the_lab()), "PATH": os.environ["PATH"]},
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def loaded_by(code: str, home: Path) -> list[str]:
    """Which of what is slow a process has loaded after this code; a module that waits for its first use is not."""
    return told_by(f"{LOADED}\n{code}\nprint(json.dumps(loaded()))", home)


def test_no_module_of_commands_loads_what_is_slow(tmp_path: Path) -> None:
    entries = [
        entry for group in (SECTIONS, images.SECTIONS) for section in group.values() for entry in section.values()
    ]
    modules = sorted({entry.module for entry in entries})
    assert len(modules) > 10
    code = f"import infra.cli.app\nfrom infra.cli.lazy import load_command\nfor each in {modules}: load_command(each)"
    assert loaded_by(code, tmp_path) == []


@pytest.mark.parametrize("command", FILES_ALONE)
def test_commands_that_ask_files_alone_load_no_more_than_they_use(command: str, tmp_path: Path) -> None:
    code = f"from infra.cli.app import cli\ncli({command.split()}, standalone_mode=False)"
    assert set(loaded_by(code, tmp_path)) <= FILES_ALONE[command]


ASKED_BY_A_SHELL = """
import os
os.environ.update(COMP_WORDS="tidepool validate t", COMP_CWORD="2", _TIDEPOOL_COMPLETE="bash_complete")
from infra.cli.app import cli
try:
    cli(prog_name="tidepool")
except SystemExit:
    pass
"""


def test_names_of_stacks_complete_without_reading_a_stack(tmp_path: Path) -> None:
    assert loaded_by(ASKED_BY_A_SHELL, tmp_path) == ["yaml"]


UNBUILT = """
import json
from pydantic import BaseModel
from infra.operations.stacks import calendar, explain, validate
def models(model=BaseModel):
    return [each for below in model.__subclasses__() for each in (below, *models(below))]
ours = [each for each in models() if each.__module__.startswith("infra.")]
print(json.dumps([len(ours), [each.__name__ for each in ours if each.__pydantic_complete__]]))
"""


def test_no_validator_is_built_where_a_model_is_declared(tmp_path: Path) -> None:
    """Building them all costs a command more than its work, and it needs few."""
    declared, built = told_by(UNBUILT, tmp_path)
    assert declared > 50
    assert built == []


HELPS = ([], ["preview"], ["cloud", "fail"], ["cloud", "job", "end"], ["results"], ["jobs", "submit"], ["run-on"])


@pytest.mark.parametrize("arguments", [["cloud", "status"], *([*each, "--help"] for each in HELPS)])
def test_commands_without_engine_and_cloud_load_nothing_slow(arguments: list[str], tmp_path: Path) -> None:
    assert loaded_by(f"from infra.cli.app import cli\ncli({arguments}, standalone_mode=False)", tmp_path) == []


def test_a_command_that_looks_at_a_fleet_loads_what_it_needs(tmp_path: Path) -> None:
    """So that the tests above can fail."""
    assert "pydantic" in loaded_by("from infra.operations.fleet import looks", tmp_path)
