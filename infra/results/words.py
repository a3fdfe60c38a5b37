"""What a report says in markdown, for a job's summary, an issue and a comment, and in lines for a terminal.

Names of tests and their messages come from a stranger's job: all of them go through `infra.preview.markup`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from infra.preview.markup import clipped, code, one_line, prose, table
from infra.results.judge import Finding, Report
from infra.results.suite_run import Outcome
from infra.results.timing import LATEST, LEAST

SHOWN: Final = 30
"""Findings, and flaky tests, that are named; the rest is counted, so that a comment stays below GitHub's limit."""
_LONGEST: Final = 300


def headline(report: Report) -> str:
    """How the run ended, in one line without markup."""
    run = report.run
    if run.reused:
        return f"{run.suite}: {run.ended}; nothing ran: the inputs are those of run {run.reused}, which {run.ended}"
    counted = f", {len(run.tests)} tests" if run.tests else ""
    return f"{run.suite}: {run.ended} in {run.seconds:.0f} s on {run.hardware}{counted}"


def duration(report: Report) -> str:
    """The duration beside the usual one; empty where nothing is compared."""
    verdict = report.verdict
    if verdict is None:
        return ""
    if verdict.usual is None or verdict.ratio is None:
        return f"no baseline yet: it takes {LEAST} green runs of the main branch on this hardware with these versions"
    usual = verdict.usual
    said = f"usual {usual.median:.0f} s, spread {usual.spread:.1f} s, {usual.runs} runs"
    more = f"the latest {LATEST} runs {100 * (verdict.ratio - 1):+.0f} %"
    drift = f"; drifted by {usual.drift:+.0f} % over them" if abs(usual.drift) >= 10 else ""
    return f"{said}; {more}{drift}"


def lines(report: Report) -> list[str]:
    """For a terminal."""
    told = [headline(report)]
    told += [f"  duration: {duration(report)}"] if duration(report) else []
    told += [f"  coverage: {_coverage(report)}"] if _coverage(report) else []
    for finding in report.findings:
        told += [f"  {finding.kind}: {finding.subject}: {one_line(finding.says)}", f"    next: {finding.next}"]
    told += [
        f"  quarantined until {each.expires}: {each.test} failed ({each.owner}: {each.reason})"
        for each in report.excused
    ]
    return told if report.findings else [*told, "  nothing to look at"]


def markdown(report: Report) -> str:
    """For a job's summary and a comment."""
    run = report.run
    parts = [f"### {prose(headline(report))}", ""]
    facts = [f"commit {code(run.commit[:12])}", f"run {code(run.run)}"]
    facts += [f"[log]({run.link})"] if run.link else []
    facts += [f"{key} {code(value)}" for key, value in sorted(run.versions.items())]
    parts += [" · ".join(facts), ""]
    told = [("Duration", duration(report)), ("Coverage", _coverage(report))]
    parts += [f"- {name}: {text}" for name, text in told if text]
    parts += _found(report.findings)
    if report.excused:
        rows = [(code(each.test), prose(each.owner), str(each.expires)) for each in report.excused]
        parts += ["", "Failed, and excused by the quarantine:", "", *table(("Test", "Owner", "Until"), rows)]
    if report.flaky:
        parts += ["", *_flaky(report)]
    return "\n".join(parts) + "\n"


def _coverage(report: Report) -> str:
    if report.run.coverage is None:
        return ""
    since = "" if report.coverage_change is None else f" ({report.coverage_change:+.1f} points beside the latest runs)"
    return f"{report.run.coverage:.1f} %{since}"


def _found(findings: Sequence[Finding]) -> list[str]:
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
    words = {"broken": "broken", "slower": "slower", "coverage": "less coverage", "expired": "expired quarantine"}
    said = ", ".join(
        f"{count} {words[kind]}" if kind in ("broken", "expired") else words[kind] for kind, count in counts.items()
    )
    return f"Suite {report.run.suite}: {said}"


def status_text(report: Report) -> str:
    """At most 140 characters, as GitHub has it."""
    failing = sum(finding.fails for finding in report.findings)
    failed = len(report.run.named(Outcome.FAILED))
    said = headline(report).partition(": ")[2]
    more = f"; {failed} failed" if failed else ""
    return clipped(f"{said}{more}; {failing} findings" if failing else said, 140)
