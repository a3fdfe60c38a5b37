"""What the page of results shows, as plain values: health by day, durations with their band, coverage, waits, money.

Pure. Does not own how it looks (`infra.pages.health`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final

from infra.model.catalogue import CapacityKind
from infra.model.dollars import NOTHING, Dollars
from infra.model.usage import vm_cost
from infra.results import timing
from infra.results.flaky import Flaky, Quarantined
from infra.results.judge import Kind, Report, RunFinding, comparable, judge
from infra.results.suite_run import Outcome, SuiteRun, VmTime

_LATELY: Final = timedelta(days=7)
"""Within which the legs of a suite ran; what it ran on before is shown no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """How a suite ended on one day: `passed`, `flaky` or `failed`, the worst of its runs on the main branch; and
    `no result` where none of them was complete."""

    day: date
    state: str
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One run. low, high: of the usual seconds, the median less and plus two spreads; None while there are too few.

    told: whether the suite is told to be slower at this run.
    """

    at: datetime
    run: str
    seconds: float
    low: float | None
    usual: float | None
    high: float | None
    told: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One value of one run."""

    at: datetime
    run: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteBoard:
    """One suite. legs: of each kind of hardware and versions of late, its newest run on the main branch, or its newest;
    the worst first. points: of the one that is drawn. usd: of its runs that had a VM with a price. months:
    what all its runs cost by month, oldest first."""

    suite: str
    legs: tuple[Report, ...]
    days: tuple[Day, ...]
    points: tuple[Point, ...]
    coverage: tuple[Sample, ...]
    waits: tuple[Sample, ...]
    usd: tuple[Sample, ...]
    months: tuple[tuple[str, Dollars], ...]
    quarantine: tuple[Quarantined, ...]

    @property
    def report(self) -> Report:
        """Of the leg that is shown where there is room for one."""
        return self.legs[0]

    @property
    def drawn(self) -> Report:
        """The leg whose durations are drawn: one that became slower, else the first."""
        return _drawn(self.legs)

    @property
    def ended(self) -> str:
        """The worst end of its legs."""
        ends = {each.ended for each in self.legs}
        return next(end for end in ("failed", "incomplete", "excused", "passed") if end in ends)

    @property
    def failed(self) -> bool:
        return any(each.failed for each in self.legs)

    @property
    def unknown(self) -> bool:
        """Whether a leg has no whole result, and nothing else is amiss."""
        failing = [each for each in self.legs if each.failed]
        return bool(failing) and all(each.unknown for each in failing)

    @property
    def findings(self) -> tuple[tuple[Report, RunFinding], ...]:
        """Of every leg, with the leg."""
        return tuple((each, finding) for each in self.legs for finding in each.findings)

    @property
    def flaky(self) -> tuple[Flaky, ...]:
        return self.report.flaky


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """unread: objects that cannot be read, each with the reason."""

    made: datetime
    suites: tuple[SuiteBoard, ...]
    unread: tuple[tuple[str, str], ...] = ()


def board(
    runs: Mapping[str, Sequence[SuiteRun]], quarantine: Sequence[Quarantined], now: datetime, *, main: str = "main"
) -> Board:
    """runs: of each suite, oldest first."""
    shown = (_suite(suite, found, quarantine, now, main) for suite, found in sorted(runs.items()) if found)
    return Board(made=now, suites=tuple(shown))


def _suite(
    suite: str, runs: Sequence[SuiteRun], quarantine: Sequence[Quarantined], now: datetime, main: str
) -> SuiteBoard:
    on_main = [each for each in runs if each.branch == main and each.pull is None]
    legs = tuple(judge(each, runs, quarantine, now, main=main) for each in _newest_of_legs(on_main or runs))
    legs = tuple(sorted(legs, key=lambda each: (each.ended == "passed", not each.failed, not each.findings)))
    newest = _drawn(legs).run
    return SuiteBoard(
        suite=suite,
        legs=legs,
        days=_days(on_main),
        points=_points([*comparable(newest, runs, main), *([newest] if newest.green and not newest.reused else [])]),
        coverage=_samples(on_main, lambda each: each.coverage),
        waits=_samples(runs, lambda each: each.waited),
        usd=_samples(runs, run_cost),
        months=_months(runs),
        quarantine=tuple(each for each in quarantine if each.suite == suite),
    )


def _newest_of_legs(runs: Sequence[SuiteRun]) -> list[SuiteRun]:
    """The newest run with each hardware and versions, newest first; without what ran last long before all others."""
    newest: dict[tuple[str, tuple[tuple[str, str], ...]], SuiteRun] = {}
    for run in runs:
        newest[run.hardware, tuple(sorted(run.versions.items()))] = run
    last = runs[-1].at
    shown = (run for run in newest.values() if last - run.at <= _LATELY)
    return sorted(shown, key=lambda run: (run.at, run.run), reverse=True)


def _drawn(legs: Sequence[Report]) -> Report:
    slower = (each for each in legs if any(finding.kind is Kind.SLOWER for finding in each.findings))
    return next(slower, legs[0])


def run_cost(run: SuiteRun) -> float | None:
    """US dollars by list prices; None of a run without a VM, or with one without a price."""
    found = sum(map(time_cost, run.vms), NOTHING).exact if run.vms else None
    return None if found is None else float(found)


def _months(runs: Sequence[SuiteRun]) -> tuple[tuple[str, Dollars], ...]:
    sums: dict[str, Dollars] = {}
    for run in runs:
        if run.vms and not run.reused:
            month = f"{run.at:%Y-%m}"
            sums[month] = sum(map(time_cost, run.vms), sums.get(month, NOTHING))
    return tuple(sorted(sums.items()))


def time_cost(vm: VmTime) -> Dollars:
    """That of one VM of a run, or of several in one place."""
    return vm_cost(vm.accelerator, vm.zone, CapacityKind(vm.capacity), Decimal(str(vm.seconds)))


def _samples(runs: Sequence[SuiteRun], value: Callable[[SuiteRun], float | None]) -> tuple[Sample, ...]:
    found = ((each, value(each)) for each in runs if not each.reused)
    return tuple(Sample(at=each.at, run=each.run, value=known) for each, known in found if known is not None)


def _days(runs: Sequence[SuiteRun]) -> tuple[Day, ...]:
    by_day: dict[date, list[SuiteRun]] = {}
    for run in runs:
        by_day.setdefault(run.at.date(), []).append(run)
    return tuple(Day(day=day, state=_state(found), runs=len(found)) for day, found in sorted(by_day.items()))


def _state(runs: Sequence[SuiteRun]) -> str:
    runs = [each for each in runs if each.ended != "incomplete"]
    if not runs:
        return "no result"
    if any(not each.green for each in runs):
        return "failed"
    return "flaky" if any(each.named(Outcome.FLAKY) for each in runs) else "passed"


def _points(runs: Sequence[SuiteRun]) -> tuple[Point, ...]:
    verdicts = timing.replay([each.seconds for each in runs])
    return tuple(_point(run, verdict) for run, verdict in zip(runs, verdicts, strict=True))


def _point(run: SuiteRun, verdict: timing.Verdict) -> Point:
    usual = verdict.usual
    return Point(
        at=run.at,
        run=run.run,
        seconds=run.seconds,
        low=None if usual is None else max(usual.median - 2 * usual.spread, 0.0),
        usual=None if usual is None else usual.median,
        high=None if usual is None else usual.median + 2 * usual.spread,
        told=verdict.change is timing.Shift.SLOWER,
    )
