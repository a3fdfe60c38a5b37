"""What the rules say of a plan, told before anything is applied.

Owns how a plan is handed to the rules and how findings look on a terminal and in --json. Does not own the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from infra.cli.render.console import say
from infra.cli.render.plan import UNCHANGING
from infra.model.plan import Plan
from infra.operations.stacks.declared import Declared
from infra.rules.book import judge
from infra.rules.finding import Finding, Level
from infra.rules.rule import Edit
from infra.rules.view import views

STYLES = {Level.STOP: "bold red", Level.WARN: "yellow"}


def judged(plan: Plan, wanted: Declared, console: Console) -> tuple[Finding, ...]:
    """Every finding over a plan, told as well.

    Of a plan that could not be made the edit alone is judged: its resources are not whole.
    """
    edit = Edit(
        after=wanted.config,
        today=datetime.now(UTC),
        changes=None if plan.failed else any(step.op not in UNCHANGING for step in plan.steps),
        runs_phases=True,
        demands=wanted.demands,
        siblings=wanted.siblings,
    )
    found = judge(edit, None if plan.failed else views(plan))
    for line in describe_findings(found):
        say(console, line)
    return found


def describe_findings(findings: Iterable[Finding]) -> Iterator[Text]:
    """A line for each finding and one for what to write, those that stop first."""
    for finding in sorted(findings, key=lambda finding: (not finding.stops, finding)):
        line = Text(f"{finding.level}: ", style=STYLES[finding.level])
        yield line.append(f"{finding.subject}: {finding.reason}  [{finding.rule}]", style="default not bold")
        yield Text(f"    write: {finding.fix}", style="dim")


def findings_document(findings: Iterable[Finding]) -> dict[str, Any]:
    """The `findings` of --json."""
    return {"findings": [finding.to_json() for finding in findings]}
