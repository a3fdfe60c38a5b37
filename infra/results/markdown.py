"""What a report says in markdown, for a job's summary, an issue and a comment.

Names of tests and their messages come from a stranger's job: all of them go through `infra.preview.markup`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from infra.preview.markup import clipped, code, one_line, prose, table
from infra.results.judge import Report, RunFinding
from infra.results.lines import counted, coverage, duration, headline, leg

SHOWN: Final = 30
"""Findings, and flaky tests, that are named; the rest is counted, so that a comment stays below GitHub's limit."""
_LONGEST: Final = 300
_LEGS: Final = 6
"""Legs of a suite whose findings are shown in full."""
_LONGEST_STATUS: Final = 140


def markdown(legs: Sequence[Report], *, linked: bool = True) -> str:
    """For a job's summary and a comment, of each leg of a suite its report. linked: with a link to the log."""
    if len(legs) == 1:
        return _one(legs[0], linked=linked)
    first = legs[0].run
    parts = [f"### {prose(f'{first.suite}: {counted(legs)}')}", ""]
    facts = [f"commit {code(first.commit[:12])}", *([f"[log](<{first.link}>)"] if linked and first.link else [])]
    parts += [" · ".join(facts), ""]
    head = ("Leg", "Ended", "Seconds", "Usual", "Coverage", "To look at")
    shown = any(each.run.coverage is not None for each in legs)
    rows = [_row(each, covered=shown) for each in legs]
    numbers = frozenset({2, 3, 4} if shown else {2, 3})
    parts += table(tuple(name for name in head if shown or name != "Coverage"), rows, numbers=numbers)
    looked = [each for each in legs if each.findings or each.excused]
    parts += ["", *(_one(each, linked=False, alone=False) for each in looked[:_LEGS])]
    if len(looked) > _LEGS:
        parts.append(f"... and {len(looked) - _LEGS} more legs to look at")
    newest = max(legs, key=lambda each: each.run.at)  # which knows of all runs before it, whatever they ran on
    if newest.flaky:
        parts += ["", *_flaky(newest)]
    return "\n".join(parts).rstrip() + "\n"


def _row(report: Report, *, covered: bool) -> tuple[str, ...]:
    run, verdict = report.run, report.verdict
    usual = f"{verdict.usual.median:.0f}" if verdict and verdict.usual else ""
    coverage_ = ("" if run.coverage is None else f"{run.coverage:.1f} %",) if covered else ()
    kinds = dict.fromkeys(each.kind.value for each in report.findings)
    ended = f"{report.ended}, reused" if run.reused else report.ended
    return prose(leg(run)), ended, f"{run.seconds:.0f}", usual, *coverage_, ", ".join(kinds)


def _one(report: Report, *, linked: bool, alone: bool = True) -> str:
    """alone: whether it is all that is told of its suite."""
    run, depth = report.run, 3 if alone else 4
    parts = [f"{'#' * depth} {prose(headline(report))}", ""]
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
    if report.flaky and alone:
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


def issue_title(legs: Sequence[Report]) -> str:
    """What is wrong with a suite, counted: what several legs find alike once."""
    counts: dict[str, int] = {}
    found = {(each.kind.value, each.subject): each for leg_ in legs for each in leg_.findings if each.fails}
    for kind, _ in found:
        counts[kind] = counts.get(kind, 0) + 1
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
    failing = [each.run for each in legs if each.failed]
    where = f"on {legs[0].run.hardware}" if len(legs) == 1 else f"in {len(failing)} of {len(legs)} legs"
    return f"Suite {legs[0].run.suite} {where}: {said}"


def status_text(legs: Sequence[Report]) -> str:
    """At most 140 characters, as GitHub has it."""
    said = headline(legs[0]).partition(": ")[2] if len(legs) == 1 else counted(legs)
    failing = sum(finding.fails for each in legs for finding in each.findings)
    more = f"; {failing} finding{'s' * (failing > 1)}" if failing else ""
    return f"{said[: _LONGEST_STATUS - len(more)]}{more}"
