"""What is installed here, and what each absence means.

Owns the list of what is looked at and the sentence for each absence. Leaves reading the machine for the choice of
engine to `infra.engines.choose`, so that doctor and the other commands can never disagree.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from infra.engines.bench import bench
from infra.engines.choose import Choice, ChoiceError, Machine, choose, observe
from infra.model.json_shape import plain
from infra.preview.toned import Cell, Shown, Tone, text_table, toned
from infra.tools import install

VERSION_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Installed:
    """One thing that may be here. `found` says what and where; `meaning` what its presence or absence leads to."""

    name: str
    present: bool
    found: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """choice: the engine and cloud of commands that are told neither; None where they refuse, and `refusal` why."""

    findings: tuple[Installed, ...]
    choice: Choice | None
    refusal: str = ""

    def to_json(self) -> dict[str, Any]:
        engine, cloud = (self.choice.engine.value, self.choice.cloud.value) if self.choice else (None, None)
        chosen = {"engine": engine, "cloud": cloud, "reason": self.choice.reason if self.choice else self.refusal}
        return {"choice": chosen, "findings": plain(self.findings)}


def diagnosis_shown(found: Diagnosis, home: str) -> Iterator[Shown]:
    """What is here and what it leads to; the home folder is written as people write it."""
    rows = [_row(finding, home) for finding in found.findings]
    yield replace(text_table(("present", "name", "meaning"), rows, folded=("meaning",)), headed=False)
    so = f"commands use {found.choice}" if found.choice else f"up, preview and the like refuse: {found.refusal}"
    yield f"\nWith this, {so}."


def _row(finding: Installed, home: str) -> tuple[Cell, ...]:
    mark = toned(("yes", Tone.GOOD) if finding.present else ("no", Tone.WARNING))
    what = f"{finding.found.replace(home, '~')}: " if finding.found else ""
    return mark, finding.name, f"{what}{finding.meaning}"


def diagnose() -> Diagnosis:
    """Look at this machine. Nothing that it lacks is an error."""
    machine = observe()
    findings = tuple(examine(machine))
    try:
        return Diagnosis(findings, choose(machine))
    except ChoiceError as error:
        return Diagnosis(findings, None, str(error))


def examine(machine: Machine) -> list[Installed]:
    """Every finding for this machine, in the order in which a newcomer needs it."""
    return [
        Installed("Python", True, f"{platform.python_version()} in {sys.prefix}", "runs Tidepool"),
        _tool("uv", "sets up .venv quickly", "pip sets up .venv instead, more slowly; ./tidepool lock needs uv"),
        _pulumi(machine),
        _of(
            "gcp plugin", machine.plugin if machine.pulumi else None,
            "lets the pulumi CLI reach Google Cloud",
            "needed by the pulumi CLI, which fetches it: pulumi plugin install resource gcp",
        ),
        _of(
            "backend", machine.backend,
            "holds the pulumi CLI's state",
            "the pulumi CLI has no place for state: pulumi login gs://BUCKET (./tidepool bootstrap makes it)",
        ),
        _of(
            "Google credentials", machine.credentials,
            "reach Google Cloud",
            "only the local cloud can be reached: gcloud auth application-default login",
        ),
        _tool("gcloud", "can be pointed at the local cloud too", "its part of ./tidepool test is skipped"),
        _tool("go", "builds actionlint and crane for ./tidepool test", "what lacks actionlint or crane is skipped"),
        _go_tool("actionlint", "checks workflow files", "its part of ./tidepool test is skipped"),
        _go_tool("crane", "serves the registry of local builds", "builds of images do not run on this machine"),
        _local_cloud(),
    ]  # fmt: skip


def _of(name: str, found: str | None, here: str, absent: str) -> Installed:
    return Installed(name, found is not None, found or "", here if found is not None else absent)


def _tool(name: str, here: str, absent: str) -> Installed:
    return _of(name, shutil.which(name), here, absent)


def _go_tool(name: str, here: str, absent: str) -> Installed:
    found = install.find(name)
    return _of(name, str(found) if found else None, here, f"{absent}; with Go, ./tidepool test builds it")


def _pulumi(machine: Machine) -> Installed:
    here = "previews and applies on Google Cloud"
    absent = "the embedded engine works instead, on the local cloud alone: https://www.pulumi.com/docs/install/"
    found = f"{version_of(machine.pulumi)} at {machine.pulumi}" if machine.pulumi else None
    return _of("pulumi CLI", found, here, absent)


def version_of(tool: str, asked: str = "version") -> str:
    """What `TOOL version` says; a sentence in its place where it says nothing sensible."""
    try:
        said = subprocess.run([tool, asked], capture_output=True, text=True, timeout=VERSION_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return "does not tell its version"
    return said.stdout.strip() or "does not tell its version"


def _local_cloud() -> Installed:
    told = bench().status()
    if not told.get("url"):
        return Installed("local cloud", False, "", "not running; up, preview and cloud start it when they need it")
    nodes = sum(told.get("nodes", {}).values())
    return Installed("local cloud", True, f"{told['url']} (pid {told['pid']})", f"serves {nodes} TPU VMs")
