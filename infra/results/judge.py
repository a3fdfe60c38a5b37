"""What is found of a run beside those before it: broken tests, a slower suite, less coverage, flaky tests; what next.

Pure: runs in, findings out. Owns which runs are compared with one another and what counts as a finding. Does not own
the statistics of durations (`infra.results.timing`) nor of flaky tests (`infra.results.flaky`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from statistics import median
from typing import Final

from infra.model.json_shape import CamelShape
from infra.results import flaky, timing
from infra.results.flaky import Flaky, Quarantined
from infra.results.suite_run import Outcome, SuiteRun

LESS_COVERAGE: Final = 1.0
"""Points by which coverage falls before it is a finding."""
_COVERED: Final = 5
"""Runs whose median is the usual coverage."""
_GUILTY: Final = 3


class Kind(StrEnum):
    """What a finding is about. All but FLAKY fail a report."""

    BROKEN = "broken"
    MISSING = "missing"
    SLOWER = "slower"
    COVERAGE = "coverage"
    EXPIRED = "expired"
    FLAKY = "flaky"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinding(CamelShape):
    """One thing that somebody shall look at. subject: the suite, or a test of it. next: what to do."""

    kind: Kind
    subject: str
    says: str
    next: str

    @property
    def fails(self) -> bool:
        return self.kind is not Kind.FLAKY


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(CamelShape):
    """What is told of one run. verdict: of its duration, None where it was not green or nothing ran.

    since: the first slow run and the last usual one before it, where the suite is slower. coverage_change: points, None
    where nothing is known before it. excused: failures that a quarantine excuses. newer: the newest run of the same
    branch, or pull request, hardware and versions, where this one is not.
    """

    JSON = (
        "suite=run.suite", "run=run.run", "commit=run.commit", "at=run.at", "hardware=run.hardware",
        "ended=run.ended", "seconds=run.seconds", "reused=run.reused", "coverage=run.coverage", "coverage_change",
        "verdict", "first_slow", "last_usual", "findings", "flaky", "excused", "failed",
    )  # fmt: skip

    run: SuiteRun
    findings: tuple[RunFinding, ...]
    verdict: timing.Verdict | None
    first_slow: str | None
    last_usual: str | None
    coverage_change: float | None
    flaky: tuple[Flaky, ...]
    excused: tuple[Quarantined, ...]
    newer: SuiteRun | None = None

    @property
    def ended(self) -> str:
        """`passed`, `failed`, `incomplete`, or `excused`, where a quarantine excuses every failure."""
        if self.run.green:
            return self.run.ended
        if any(finding.kind is Kind.BROKEN for finding in self.findings):
            return "failed"
        return "incomplete" if self.run.missing else "excused"

    @property
    def unknown(self) -> bool:
        """Whether nobody can say how the suite is: a part of it has no result, and nothing else is amiss."""
        failing = {finding.kind for finding in self.findings if finding.fails}
        return failing == {Kind.MISSING}

    @property
    def failed(self) -> bool:
        return any(finding.fails for finding in self.findings)


def comparable(run: SuiteRun, past: Sequence[SuiteRun], main: str) -> list[SuiteRun]:
    """The green runs of the main branch before this one, on the same hardware with the same versions."""
    return [each for each in _alike(run, past) if each.branch == main and each.pull is None]


def _alike(run: SuiteRun, past: Sequence[SuiteRun]) -> list[SuiteRun]:
    return [
        each
        for each in past
        if each.green
        and not each.reused
        and (each.suite, each.hardware, each.versions) == (run.suite, run.hardware, run.versions)
        and (each.at, each.run) < (run.at, run.run)
    ]


def _newer(run: SuiteRun, runs: Sequence[SuiteRun]) -> SuiteRun | None:
    place = (run.branch, run.pull, run.hardware, run.versions)
    after = [each for each in runs if (each.branch, each.pull, each.hardware, each.versions) == place]
    newest = max(after, key=lambda each: (each.at, each.run), default=run)
    return newest if (newest.at, newest.run) > (run.at, run.run) else None


def judge(
    run: SuiteRun, past: Sequence[SuiteRun], quarantine: Sequence[Quarantined], now: datetime, *, main: str = "main"
) -> Report:
    """What is told of a run. past: runs of its suite, oldest first, whether or not it is among them."""
    # Runs of other pull requests are strangers': what they say of a test is said of this tree by nobody.
    known = [each for each in past if each.run != run.run and each.pull in (None, run.pull)]
    before = [each for each in known if each.at <= run.at]
    alike = comparable(run, before, main)
    # Of a pull request, its own runs stand behind those of the main branch: one run alone proves nothing there either.
    own = [each for each in _alike(run, before) if run.pull is not None and each.pull == run.pull]
    own = _beside(alike, own)
    series = [*alike, *own, run]
    judged = run.green and not run.reused
    verdict = timing.latest([each.seconds for each in series]) if judged else None
    failing, excused, expired = flaky.split(run.suite, run.named(Outcome.FAILED), quarantine, now.date())
    loose = flaky.flaky_tests([*before, run], now)
    shown = flaky.shown_by(run, before)
    change = _coverage_change(run, alike)
    slow, usual = _ends(series, verdict)
    broken = _broken(run, before, failing, excused)
    findings = (
        *broken,
        *_missing(run),
        *_slower(run, *(_own_change(alike, own, run) if judged and run.pull is not None else (series, verdict))),
        # Tests that ended early cover less.
        *(() if broken else _coverage(run, change)),
        *(_over(each) for each in expired),
        *(_loose(run, each, quarantine) for each in loose if each.test in shown),
    )
    return Report(
        run=run,
        findings=findings,
        verdict=verdict,
        first_slow=slow,
        last_usual=usual,
        coverage_change=change,
        flaky=loose,
        excused=tuple(excused),
        newer=_newer(run, known),
    )


def _ends(series: Sequence[SuiteRun], verdict: timing.Verdict | None) -> tuple[str | None, str | None]:
    """The commits of the first slow run and of the last usual one."""
    if verdict is None or verdict.change is not timing.Shift.SLOWER or not verdict.since:
        return None, None
    return series[verdict.since].commit, series[verdict.since - 1].commit


def _own_change(
    alike: Sequence[SuiteRun], own: Sequence[SuiteRun], run: SuiteRun
) -> tuple[Sequence[SuiteRun], timing.Verdict | None]:
    """What a pull request changed, and in which series: beside the level that the main branch came to by itself.

    What became of the main branch is told there.
    """
    while True:
        series = [*alike, *own, run]
        verdict = timing.latest([each.seconds for each in series])
        if verdict is None or not verdict.since or verdict.since >= len(alike):
            return series, verdict
        alike = alike[verdict.since :]
        own = _beside(alike, own)


def _beside(alike: Sequence[SuiteRun], own: Sequence[SuiteRun]) -> Sequence[SuiteRun]:
    """A pull request's own runs, which never are their own baseline: none while the main branch has too few."""
    return own if len(alike) >= timing.LEAST else ()


def _broken(
    run: SuiteRun, before: Sequence[SuiteRun], failing: Sequence[str], excused: Sequence[Quarantined]
) -> list[RunFinding]:
    if run.green or ((run.ended == "incomplete" or excused) and not failing):
        return []
    place = (run.branch, run.pull, run.hardware, run.versions)
    same = [each for each in before if (each.branch, each.pull, each.hardware, each.versions) == place]
    green = next((each.commit for each in reversed(same) if each.green), None)
    span = f"; it passed last at {green[:12]}: `git bisect start {run.commit[:12]} {green[:12]}`" if green else ""
    if not failing:
        parts = f" ({'; '.join(run.missing)})" if run.missing else ""
        says = f"the suite failed, and no test says why: it was ended, or could not begin{parts}"
        return [RunFinding(kind=Kind.BROKEN, subject=run.suite, says=says, next=f"read the log of the run{span}")]
    by_name = {test.name: test for test in run.tests}
    return [
        RunFinding(
            kind=Kind.BROKEN,
            subject=name,
            says=by_name[name].message.partition("\n")[0] or "failed",
            next=f"run it at {run.commit[:12]} on {run.hardware}{span}",
        )
        for name in failing
    ]


def _missing(run: SuiteRun) -> list[RunFinding]:
    """Parts that were not tested, which says nothing of the tree."""
    advice = "run it again: neither a pass nor a failure of that part is known"
    return [
        RunFinding(kind=Kind.MISSING, subject=part.partition(": ")[0], says=part.partition(": ")[2], next=advice)
        for part in run.missing
    ]


def _slower(run: SuiteRun, series: Sequence[SuiteRun], verdict: timing.Verdict | None) -> list[RunFinding]:
    if verdict is None or verdict.change is not timing.Shift.SLOWER:
        return []
    assert verdict.usual is not None, "a change is of a baseline"
    assert verdict.ratio is not None, "as above"
    assert verdict.since, "as above"
    first, last = series[verdict.since].commit[:12], series[verdict.since - 1].commit[:12]
    slow = series[verdict.since :]
    says = (
        f"slower by {100 * (verdict.ratio - 1):.0f} %: {verdict.usual.median * verdict.ratio:.0f} s in the median of "
        f"{len(slow)} runs, {verdict.usual.median:.0f} s (spread {verdict.usual.spread:.1f} s) in that of "
        f"{verdict.usual.runs} before"
    )
    most = _guilty(slow, series[: verdict.since])
    tests = f"; most of it: {', '.join(most)}" if most else ""
    return [
        RunFinding(
            kind=Kind.SLOWER,
            subject=run.suite,
            says=f"{says}{tests}",
            next=f"the first commit in question is {first}; look at `git log {last}..{first}`",
        )
    ]


def _guilty(slow: Sequence[SuiteRun], usual: Sequence[SuiteRun]) -> list[str]:
    """The tests that took the most seconds more, where a test took at least a tenth of the whole difference."""
    before, after = _medians(usual[-timing.MOST :]), _medians(slow)
    more = {name: after[name] - before.get(name, 0.0) for name in after}
    whole = sum(max(each, 0.0) for each in more.values())
    worst = sorted(more, key=lambda name: (-more[name], name))[:_GUILTY]
    return [f"{name} (+{more[name]:.1f} s)" for name in worst if more[name] > 0.1 * whole > 0]


def _medians(runs: Sequence[SuiteRun]) -> dict[str, float]:
    seconds: dict[str, list[float]] = {}
    for run in runs:
        for test in run.tests:
            seconds.setdefault(test.name, []).append(test.seconds)
    return {name: median(found) for name, found in seconds.items()}


def _coverage_change(run: SuiteRun, alike: Sequence[SuiteRun]) -> float | None:
    known = [each.coverage for each in alike if each.coverage is not None][-_COVERED:]
    if run.coverage is None or not known:
        return None
    # What fell stays told until the usual coverage is the new one; what the main branch lost is no pull request's.
    usual = median(known) if run.pull is None else min(median(known), known[-1])
    return round(run.coverage - usual, 2)


def _coverage(run: SuiteRun, change: float | None) -> list[RunFinding]:
    if change is None or run.coverage is None or change > -LESS_COVERAGE:
        return []
    says = f"coverage fell by {-change:.1f} points, to {run.coverage:.1f} %"
    until = f"told until most of the latest {_COVERED} runs of the main branch have it"
    advice = f"add tests for what is not covered; a loss that is meant is {until}"
    return [RunFinding(kind=Kind.COVERAGE, subject=run.suite, says=says, next=advice)]


def _over(entry: Quarantined) -> RunFinding:
    return RunFinding(
        kind=Kind.EXPIRED,
        subject=entry.test,
        says=f"its quarantine ended on {entry.expires}; {entry.owner} owns it: {entry.reason}",
        next="mend the test and take the entry out of tidepool:results, or give it a later day and a reason",
    )


def _loose(run: SuiteRun, each: Flaky, quarantine: Sequence[Quarantined]) -> RunFinding:
    known = any((entry.suite, entry.test) == (run.suite, each.test) for entry in quarantine)
    advice = "it is in quarantine; mend it" if known else "mend it, or enter it in quarantine with an owner and a day"
    trees = f"{each.trees} tree{'s' * (each.trees > 1)}"
    says = f"failed and passed on one tree; {100 * each.score:.0f} % of its runs lately, on {trees}"
    return RunFinding(kind=Kind.FLAKY, subject=each.test, says=says, next=advice)
