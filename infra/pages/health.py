"""What test runs came to, for a page: the page of results, with an anchor for every suite, and its outline for others.

Owns what is said of suites. Does not own charts (`charts`), nor what is known (`infra.results.board`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from infra.pages import charts
from infra.pages.kit import Block, Card, Cards, Drawing, Lack, Said, Section, Table, anchor, page
from infra.pages.theme import LIGHT
from infra.results.board import Board, Sample, SuiteBoard
from infra.results.judge import Report
from infra.results.lines import counted, duration, headline, leg

_NOTHING = "No results are kept yet. `./tidepool results publish` keeps the first."
_FOUND = ("What", "Where", "Found", "Next")
_DRAWN = 4
"""Suites whose durations an outline draws."""
_DAYS, _POINTS = 60, 120
"""The latest days and runs that an outline draws, so that it stays small however long results are kept."""


def results_page(board: Board) -> str:
    """Everything that is known of the suites of a board."""
    suites = [_suite(each) for each in board.suites]
    said = f"Made {board.made:%d %B %Y, %H:%M} UTC."
    return page("Results of test runs", said, [Section(id="suites", title="Suites", blocks=outline(board)), *suites])


def outline(board: Board, *, linked: bool = True) -> tuple[Block, ...]:
    """The suites at a glance, and how their days ended. linked: whether the page has a section for each."""
    head = ("Object", "Why")
    unread = (Table(caption="Results that cannot be read", head=head, rows=board.unread),) if board.unread else ()
    if not board.suites:
        return Lack(_NOTHING), *unread
    cards = tuple(_card(each, linked=linked) for each in board.suites)
    told = f"The worst end of each day on the main branch. {_told_health(board)}"
    drawing = Drawing(title="Health by suite and day", told=told, key="health", draw=charts.health(board))
    return Cards(label="Suites", cards=cards), drawing, *unread


def outlined(board: Board) -> tuple[Block, ...]:
    """An outline of the latest days with what to look at, and the durations of suites that something is found of."""
    lately = (replace(each, days=each.days[-_DAYS:], points=each.points[-_POINTS:]) for each in board.suites)
    board = replace(board, suites=tuple(lately))
    found = tuple((suite.suite, *row) for suite in board.suites for row in _findings(suite))
    head = ("Suite", *_FOUND)
    tables = (Table(caption="What to look at", head=head, rows=found),) if found else ()
    shown = [each for each in board.suites if each.findings and each.points][:_DRAWN]
    drawn = tuple(_durations(each, f"{each.suite}: duration, with what is usual") for each in shown)
    return (*outline(board, linked=False), *tables, *drawn)


def _card(suite: SuiteBoard, *, linked: bool) -> Card:
    run, several = suite.report.run, len(suite.legs) > 1
    coverage = "" if run.coverage is None else f" · coverage {run.coverage:.0f} %"
    loose = f" · {len(suite.flaky)} flaky" if suite.flaky else ""
    took = counted(suite.legs) if several else f"{run.seconds:.0f} s"
    where = "" if several else f" · {run.hardware}"
    more = f"{took}{coverage}{loose}", f"{run.at:%d %b %H:%M}{where}"
    return Card(title=suite.suite, said=_state(suite), more=more, link=_anchor(suite) if linked else "")


def _suite(suite: SuiteBoard) -> Section:
    report = suite.report
    ended = headline(report) if len(suite.legs) == 1 else f"{suite.suite}: {counted(suite.legs)}"
    says = Said(f"{ended}. Commit `{report.run.commit[:12]}`.", _state(suite).tone)
    return Section(id=_anchor(suite), title=suite.suite, says=says, blocks=tuple(_blocks(suite)))


def _blocks(suite: SuiteBoard) -> Iterator[Block]:
    if suite.findings:
        yield Table(caption="What to look at", head=_FOUND, rows=tuple(_findings(suite)))
    if len(suite.legs) > 1:
        head = ("Leg", "Ended", "Seconds", "Usual", "When")
        yield Table(caption="Legs", head=head, rows=tuple(map(_leg, suite.legs)), numbers=frozenset((2, 3)))
    if suite.points:
        of = f" of {leg(suite.drawn.run)}" if len(suite.legs) > 1 else ""
        yield _durations(suite, f"Duration{of}, with what is usual")
    yield from _series(suite)
    if suite.flaky:
        rows = tuple(
            (each.test, f"{100 * each.score:.1f} %", str(each.trees), f"{each.last:%Y-%m-%d}") for each in suite.flaky
        )
        head = ("Test", "Score", "Trees", "Last")
        yield Table(caption="Flaky tests", head=head, rows=rows, numbers=frozenset((1, 2)))
    if suite.quarantine:
        held = tuple((each.test, each.owner, each.reason, str(each.expires)) for each in suite.quarantine)
        yield Table(caption="Quarantine", head=("Test", "Owner", "Reason", "Until"), rows=held)
    if suite.months:
        months = tuple((month, str(cost)) for month, cost in suite.months)
        head = ("Month", "Cost")
        yield Table(caption="Cost by month, by list prices", head=head, rows=months, numbers=frozenset((1,)))


def _leg(report: Report) -> tuple[str, ...]:
    run, verdict = report.run, report.verdict
    usual = f"{verdict.usual.median:.0f}" if verdict and verdict.usual else ""
    ended = f"{report.ended}, reused" if run.reused else report.ended
    return leg(run), ended, f"{run.seconds:.0f}", usual, f"{run.at:%d %b %H:%M}"


def _findings(suite: SuiteBoard) -> Iterator[tuple[str, ...]]:
    several = len(suite.legs) > 1
    for report, each in suite.findings:
        where = f"{each.subject} ({leg(report.run)})" if several else each.subject
        yield each.kind.value, where, each.says, each.next


def _durations(suite: SuiteBoard, title: str) -> Drawing:
    slow, said = sum(each.told for each in suite.points), duration(suite.drawn)
    samples = [Sample(at=each.at, run=each.run, value=each.seconds) for each in suite.points]
    return Drawing(
        title=title,
        told=f"{len(suite.points)} green runs; {slow} are told to be slower. {said[:1].upper()}{said[1:]}",
        key=f"{_anchor(suite)}-time",
        draw=charts.durations(suite.points),
        numbers=_samples(title, "seconds", samples),
    )


def _series(suite: SuiteBoard) -> Iterator[Block]:
    several = len(suite.legs) > 1
    for title, what, unit, samples, colour, bars in (
        ("Coverage", "Percent of lines", "percent", suite.coverage, LIGHT.series_3, False),
        ("Waits", "Seconds from the request to the first test", "seconds", suite.waits, LIGHT.series_4, True),
        ("Cost of each run", "US dollars by list prices", "USD", suite.usd, LIGHT.series_2, True),
    ):
        if samples:
            values = [each.value for each in samples]
            yield Drawing(
                title=title,
                told=f"{what}: from {min(values):.3g} to {max(values):.3g}, last {values[-1]:.3g}.",
                key=f"{_anchor(suite)}-{title.split()[0].lower()}",
                draw=charts.over_time(samples, unit, colour, bars=bars, apart=several),
                numbers=_samples(title, unit, samples),
            )


def _samples(title: str, unit: str, samples: Sequence[Sample]) -> Table:
    rows = tuple((f"{each.at:%Y-%m-%d %H:%M}", each.run, f"{each.value:.4g}") for each in reversed(samples))
    head = ("When", "Run", unit)
    return Table(caption=f"{title}: {len(rows)} numbers", head=head, rows=rows, numbers=frozenset((2,)), strong=False)


def _state(suite: SuiteBoard) -> Said:
    if suite.ended == "failed":
        return Said("failed", "bad")
    if suite.unknown:
        return Said("no result", "muted")
    if suite.failed or suite.ended == "excused":
        return Said("look at it", "warning")
    return Said("passed", "good")


def _told_health(board: Board) -> str:
    counts = [
        f"{each.suite}: {sum(day.state == 'failed' for day in each.days)} of {len(each.days)} days failed"
        for each in board.suites
    ]
    return f"{'; '.join(counts)}."


def _anchor(suite: SuiteBoard) -> str:
    return anchor("suite", suite.suite)
