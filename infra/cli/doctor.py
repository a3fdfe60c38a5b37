"""`./tidepool doctor`: what is installed here, and what each absence means."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from infra.cli.echo import echo
from infra.cli.options import json_option
from infra.cli.render.console import people, say, show
from infra.operations.setup.doctor import Finding, diagnose


@click.command(name="doctor", short_help="Say what is installed here, and what each absence means.")
@json_option
def command(*, as_json: bool) -> None:
    """Say what is here (Python, uv, pulumi, provider plugin, credentials, local cloud) and what each absence means.

    Nothing of it is an error: with none of it, Tidepool works on its embedded engine and cloud. Exit code 0.
    """
    found = diagnose()
    choice = found.choice
    if as_json:
        engine, cloud = (choice.engine.value, choice.cloud.value) if choice else (None, None)
        shown = {"engine": engine, "cloud": cloud, "reason": choice.reason if choice else found.refusal}
        echo(json.dumps({"choice": shown, "findings": [asdict(finding) for finding in found.findings]}, indent=2))
    else:
        so = f"commands use {choice}" if choice else f"up, preview and the like refuse: {found.refusal}"
        report(found.findings, so)


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
