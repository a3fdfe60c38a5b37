"""`./tidepool doctor`: what is installed here, and what each absence means.

Owns the list of what is looked at and the sentence for each absence. Leaves reading the machine for the choice of
engine to `infra.engines.choose`, so that doctor and the other commands can never disagree.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from infra.cli.echo import echo
from infra.cli.options import json_option
from infra.cli.render.console import people, say, show
from infra.engines.choose import ChoiceError, Machine, choose, observe
from infra.operations.workspace import Workspace, workspace
from infra.tools import install

VERSION_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that may be here. `found` says what and where; `meaning` what its presence or absence leads to."""

    name: str
    present: bool
    found: str
    meaning: str


@click.command(name="doctor", short_help="Say what is installed here, and what each absence means.")
@json_option
def command(*, as_json: bool) -> None:
    """Say what is here (Python, uv, pulumi, provider plugin, credentials, local cloud) and what each absence means.

    Nothing of it is an error: with none of it, Tidepool works on its embedded engine and cloud. Exit code 0.
    """
    machine = observe()
    place = workspace()
    try:
        choice, refusal = choose(machine), ""
    except ChoiceError as error:
        choice, refusal = None, str(error)
    findings = examine(machine, place)
    if as_json:
        engine, cloud = (choice.engine.value, choice.cloud.value) if choice else (None, None)
        shown = {"engine": engine, "cloud": cloud, "reason": choice.reason if choice else refusal}
        echo(json.dumps({"choice": shown, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        report(findings, f"commands use {choice}" if choice else f"up, preview and the like refuse: {refusal}")


def examine(machine: Machine, place: Workspace) -> list[Finding]:
    """Every finding for this machine, in the order in which a newcomer needs it."""
    return [
        Finding("Python", True, f"{platform.python_version()} in {sys.prefix}", "runs Tidepool"),
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
        _local_cloud(place),
    ]  # fmt: skip


def _of(name: str, found: str | None, here: str, absent: str) -> Finding:
    return Finding(name, found is not None, found or "", here if found is not None else absent)


def _tool(name: str, here: str, absent: str) -> Finding:
    return _of(name, shutil.which(name), here, absent)


def _go_tool(name: str, here: str, absent: str) -> Finding:
    found = install.find(name)
    return _of(name, str(found) if found else None, here, f"{absent}; with Go, ./tidepool test builds it")


def _pulumi(machine: Machine) -> Finding:
    here = "previews and applies on Google Cloud"
    absent = "the embedded engine works instead, on the local cloud alone: https://www.pulumi.com/docs/install/"
    found = f"{version_of(machine.pulumi)} at {machine.pulumi}" if machine.pulumi else None
    return _of("pulumi CLI", found, here, absent)


def version_of(pulumi: str) -> str:
    """What `pulumi version` says; a sentence in its place where it says nothing sensible."""
    try:
        said = subprocess.run([pulumi, "version"], capture_output=True, text=True, timeout=VERSION_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return "does not tell its version"
    return said.stdout.strip() or "does not tell its version"


def _local_cloud(place: Workspace) -> Finding:
    from infra.local.cloud.daemon import status

    told = status(place.home)
    if not told.get("url"):
        return Finding("local cloud", False, "", "not running; up, preview and cloud start it when they need it")
    nodes = sum(told.get("nodes", {}).values())
    return Finding("local cloud", True, f"{told['url']} (pid {told['pid']})", f"serves {nodes} TPU VMs")


def report(findings: Sequence[Finding], so: str) -> None:
    """so: what follows of them for the commands."""
    console = people()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        mark = Text("yes", style="green") if finding.present else Text("no", style="yellow")
        found = f"{shorten(finding.found)}: " if finding.found else ""
        table.add_row(mark, finding.name, Text(f"{found}{finding.meaning}"))
    show(console, table)
    say(console, Text(f"\nWith this, {so}."))


def shorten(found: str) -> str:
    """The same text with the home folder written as ~, as people write it."""
    return found.replace(str(Path.home()), "~")
