"""The program as the official CLI starts it: the folder `infra`, and what Pulumi.yaml says of it."""

from __future__ import annotations

import json
import runpy
import sys

import pytest
import yaml

from infra.model.stack import PULUMI_PROJECT
from infra.model.stack_text import pulumi_values
from infra.program.stack import run
from tests.lab.committed import ROOT, committed, shipped
from tests.program.fake_engine import build


def test_the_folder_runs_as_a_program_from_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    monkeypatch.setattr(sys, "path", list(sys.path))

    def started() -> None:
        runpy.run_path(str(ROOT / "infra"), run_name="__main__")

    built = build(started, stack="ci", config=pulumi_values(shipped("ci")))
    assert set(built.resources) == set(committed("ci").resources)


def test_pulumi_finds_program_stacks_and_environment() -> None:
    project = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())
    assert project["name"] == PULUMI_PROJECT
    assert project["main"] == "infra"
    assert project["stackConfigDir"] == "stacks"
    assert project["runtime"] == {"name": "python", "options": {"virtualenv": ".venv"}}, (
        "a toolchain would need a lock file of its own (uv) or pip inside the environment (pip)"
    )


def test_config_is_read_from_the_environment_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CLI's language host hands configuration over in PULUMI_CONFIG and nowhere else."""
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps(pulumi_values(shipped("ci"))))
    assert set(build(run, stack="ci", config={}).resources) == set(committed("ci").resources)
