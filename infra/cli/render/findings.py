"""What rules find in an edit, and grants that no stack declares, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from infra.cli.render.console import say
from infra.rules.finding import Finding, Level

if TYPE_CHECKING:
    from infra.operations.stacks.grants import GrantsSeen  # loads Google's clients, which a comment needs not

STYLES = {Level.STOP: "bold red", Level.WARN: "yellow"}


def describe_findings(findings: Iterable[Finding]) -> Iterator[Text]:
    """A line for each finding and one for what to write, those that stop first."""
    for finding in sorted(findings, key=lambda finding: (not finding.stops, finding)):
        line = Text(f"{finding.level}: ", style=STYLES[finding.level])
        yield line.append(f"{finding.subject}: {finding.reason}  [{finding.rule}]", style="default not bold")
        yield Text(f"    write: {finding.fix}", style="dim")


def show_findings(console: Console, findings: Iterable[Finding]) -> None:
    for line in describe_findings(findings):
        say(console, line)


def findings_document(findings: Iterable[Finding]) -> dict[str, Any]:
    """The `findings` of --json."""
    return {"findings": [finding.to_json() for finding in findings]}


def show_grants(console: Console, found: GrantsSeen) -> None:
    for grant in found.strange:
        say(console, Text(f"granted by hand: {grant.resource}: {grant.says}", style="bold red"))
    for why in found.unread:
        say(console, Text(f"not known: {why}", style="yellow"))


def grants_document(found: GrantsSeen) -> dict[str, Any]:
    return {"grants": {"strange": [each.to_json() for each in found.strange], "unread": list(found.unread)}}
