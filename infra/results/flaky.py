"""Tests that fail and pass on one tree, with the same hardware and versions: which, how often, and which of them are in
quarantine until when.

Owns the score and what a quarantine means. A quarantined test runs, and its failure is told and fails nobody, until the
last day of its entry; from then on the entry itself is a failure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from infra.model.json_shape import CamelShape
from infra.results.suite_run import Outcome, SuiteRun

HALF_LIFE_DAYS: Final = 14.0
"""After which a failure weighs half."""
LEAST_SCORE: Final = 0.005
"""Below which a test that was flaky once is told no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined(CamelShape):
    """One entry of the quarantine list. expires: the last day on which it holds."""

    suite: str
    test: str
    owner: str
    reason: str
    expires: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaky(CamelShape):
    """A test that failed and passed on one tree. score: the share of its runs that were flaky, the recent ones weighing
    more: half after `HALF_LIFE_DAYS`. last: when it was seen last; trees: on how many trees."""

    test: str
    score: float
    trees: int
    last: datetime


def flaky_tests(runs: Sequence[SuiteRun], now: datetime) -> tuple[Flaky, ...]:
    """The flaky tests of a suite, the worst first."""
    weight, flaky_weight = defaultdict[str, float](float), defaultdict[str, float](float)
    trees, last = defaultdict[str, set[str]](set), dict[str, datetime]()
    mixed = _mixed(runs)
    for run in runs:
        if run.reused:
            continue
        weighs = 0.5 ** (max((now - run.at).total_seconds(), 0.0) / 86400 / HALF_LIFE_DAYS)
        for test in run.tests:
            if test.outcome is Outcome.SKIPPED:
                continue
            weight[test.name] += weighs
            failed_here = test.outcome is Outcome.FAILED and _tried(run, test.name) in mixed
            if test.outcome is Outcome.FLAKY or failed_here:
                flaky_weight[test.name] += weighs
                trees[test.name].add(run.tree)
                last[test.name] = max(run.at, last.get(test.name, run.at))
    found = (
        Flaky(test=name, score=round(flaky_weight[name] / weight[name], 4), trees=len(trees[name]), last=last[name])
        for name in flaky_weight
        if flaky_weight[name] >= LEAST_SCORE
    )
    return tuple(sorted(found, key=lambda each: (-each.score, each.test)))


def shown_by(run: SuiteRun, before: Sequence[SuiteRun]) -> set[str]:
    """The tests that a run shows to be flaky: with two ends in it, or another one than before it on this tree.

    A pass after that says nothing new of the test, a failure does.
    """
    known = _mixed(before)
    new = {test for *_, test in _mixed([*before, run]) - known}
    again = {test for test in run.named(Outcome.FAILED) if _tried(run, test) in known}
    return {*run.named(Outcome.FLAKY), *new, *again}


_Tried = tuple[str, str, tuple[tuple[str, str], ...], str]


def _tried(run: SuiteRun, test: str) -> _Tried:
    """A test on a tree, on what it ran: one that fails on other hardware or versions alone is broken there."""
    return run.tree, run.hardware, tuple(sorted(run.versions.items())), test


def _mixed(runs: Iterable[SuiteRun]) -> set[_Tried]:
    """What both failed and passed."""
    seen = defaultdict[_Tried, set[Outcome]](set)
    for run in runs:
        if not run.reused:
            for test in run.tests:
                seen[_tried(run, test.name)].add(test.outcome)
    return {each for each, outcomes in seen.items() if {Outcome.PASSED, Outcome.FAILED} <= outcomes}


def split(
    suite: str, failed: Sequence[str], quarantine: Iterable[Quarantined], today: date
) -> tuple[list[str], list[Quarantined], list[Quarantined]]:
    """What failed and counts; entries that excuse a failure of these; entries that are over, failed or not."""
    entries = [each for each in quarantine if each.suite == suite]
    expired = [each for each in entries if each.expires < today]
    holds = {each.test: each for each in entries if each.expires >= today}
    return [name for name in failed if name not in holds], [holds[name] for name in failed if name in holds], expired
