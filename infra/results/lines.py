"""What a report says in plain lines, for a terminal and a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from infra.results.judge import Report
from infra.results.suite_run import SuiteRun
from infra.results.timing import LATEST, LEAST


def leg(run: SuiteRun) -> str:
    """What tells a run of a suite from those beside it: its hardware and versions."""
    return ", ".join((run.hardware, *(f"{name} {version}" for name, version in sorted(run.versions.items()))))


def counted(legs: Sequence[Report]) -> str:
    """How the legs of a suite ended, in one line."""
    ended = Counter(each.ended for each in legs)
    told = [f"{ended[each]} of {len(legs)} legs {each}" for each in ("failed", "incomplete", "excused") if ended[each]]
    return ", ".join(told) or f"all {len(legs)} legs passed"


def tests_of(run: SuiteRun) -> str:
    """How many tests ran."""
    return f"{len(run.tests)} test{'s' * (len(run.tests) != 1)}"


def headline(report: Report) -> str:
    """How the run ended, in one line without markup."""
    run = report.run
    if run.reused:
        return f"{run.suite}: {run.ended}; nothing ran: the inputs are those of run {run.reused}, which {run.ended}"
    counted = f", {tests_of(run)}" if run.tests else ""
    ended = "failed, and the quarantine excuses it," if report.ended == "excused" else run.ended
    return f"{run.suite}: {ended} in {run.seconds:.0f} s on {run.hardware}{counted}"


def duration(report: Report) -> str:
    """The duration beside the usual one; empty where nothing is compared."""
    verdict = report.verdict
    if verdict is None:
        return ""
    if verdict.usual is None or verdict.ratio is None:
        return f"no baseline yet: it takes {LEAST} green runs of the main branch on this hardware with these versions"
    usual = verdict.usual
    said = f"usual {usual.median:.0f} s, spread {usual.spread:.1f} s, {usual.runs} runs"
    more = f"the latest {LATEST} runs {round(100 * (verdict.ratio - 1)):+d} %"
    drift = f"; drifted by {usual.drift:+.0f} % over them" if abs(usual.drift) >= 10 else ""
    return f"{said}; {more}{drift}"


def lines(report: Report) -> list[str]:
    """For a terminal."""
    told = [headline(report)]
    told += [f"  duration: {duration(report)}"] if duration(report) else []
    told += [f"  coverage: {coverage(report)}"] if coverage(report) else []
    for finding in report.findings:
        said = " ".join(f"{finding.subject}: {finding.says}".split())
        told += [f"  {finding.kind}: {said}", f"    next: {finding.next}"]
    told += [
        f"  quarantined until {each.expires}: {each.test} failed ({each.owner}: {each.reason})"
        for each in report.excused
    ]
    return told if report.findings else [*told, "  nothing to look at"]


def coverage(report: Report) -> str:
    """The coverage and its change; empty where nobody measured it."""
    if report.run.coverage is None:
        return ""
    since = "" if report.coverage_change is None else f" ({report.coverage_change:+.1f} points beside the latest runs)"
    return f"{report.run.coverage:.1f} %{since}"
