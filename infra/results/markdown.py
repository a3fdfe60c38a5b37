"""What a report says in markdown, for a job's summary, an issue and a comment.

Names of tests and their messages come from a stranger's job: all of them go through `infra.preview.markup`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from infra.preview.markup import clipped, code, one_line, prose, table
from infra.results.judge import Report, RunFinding
from infra.results.lines import coverage, duration, headline

SHOWN: Final = 30
"""Findings, and flaky tests, that are named; the rest is counted, so that a comment stays below GitHub's limit."""
_LONGEST: Final = 300
_LONGEST_STATUS: Final = 140


def markdown(report: Report, *, linked: bool = True) -> str:
    """For a job's summary and a comment. linked: with a link to the log."""
    run = report.run
    parts = [f"### {prose(headline(report))}", ""]
    facts = [f"commit {code(run.commit[:12])}", f"run {code(run.run)}"]
    facts += [f"[log](<{run.link}>)"] if linked and run.link else []
    facts += [f"{prose(key)} {code(value)}" for key, value in sorted(run.versions.items())]
    parts += [" · ".join(facts), ""]
    told = [("Duration", duration(report)), ("Coverage", coverage(report))]
    parts += [f"- {name}: {text}" for name, text in told if text]
    parts += _found(report.findings)
    if report.excused:
        rows = [(code(each.test), prose(each.owner), str(each.expires)) for each in report.excused]
        parts += ["", "Failed, and excused by the quarantine:", "", *table(("Test", "Owner", "Until"), rows)]
    if report.flaky:
        parts += ["", *_flaky(report)]
    return "\n".join(parts) + "\n"


def _found(findings: Sequence[RunFinding]) -> list[str]:
    if not findings:
        return ["- Nothing to look at."]
    rows = (
        (finding.kind.value, code(finding.subject), _short(finding.says), _short(finding.next))
        for finding in findings[:SHOWN]
    )
    return ["", *table(("What", "Where", "Found", "Next"), rows), *_more(len(findings))]


def _flaky(report: Report) -> Iterable[str]:
    rows = (
        (code(each.test), f"{100 * each.score:.1f} %", str(each.trees), f"{each.last:%Y-%m-%d}")
        for each in report.flaky[:SHOWN]
    )
    yield "Flaky tests, by the share of their runs that failed and passed on one tree, recent runs weighing more:"
    yield ""
    yield from table(("Test", "Score", "Trees", "Last"), rows, numbers=frozenset({1, 2}))
    yield from _more(len(report.flaky))


def _short(text: str) -> str:
    return prose(clipped(one_line(text), _LONGEST))


def _more(count: int) -> list[str]:
    return ["", f"... and {count - SHOWN:,} more"] if count > SHOWN else []


def issue_title(report: Report) -> str:
    """What is wrong with a suite, counted."""
    counts: dict[str, int] = {}
    for finding in report.findings:
        if finding.fails:
            counts[finding.kind.value] = counts.get(finding.kind.value, 0) + 1
    words = {
        "broken": "broken",
        "missing": "missing",
        "slower": "slower",
        "coverage": "less coverage",
        "expired": "expired quarantine",
    }
    said = ", ".join(
        f"{count} {words[kind]}" if kind in ("broken", "missing", "expired") else words[kind]
        for kind, count in counts.items()
    )
    return f"Suite {report.run.suite} on {report.run.hardware}: {said}"


def status_text(report: Report) -> str:
    """At most 140 characters, as GitHub has it."""
    said = headline(report).partition(": ")[2]
    failing = sum(finding.fails for finding in report.findings)
    more = f"; {failing} finding{'s' * (failing > 1)}" if failing else ""
    return f"{said[: _LONGEST_STATUS - len(more)]}{more}"
