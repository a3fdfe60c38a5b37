"""Whether a suite became slower, by how much and since which run: the statistics, of durations alone.

Owns the replay of a series of green runs of one suite on one kind of machine, oldest first. Does not own which runs
belong to one series (`infra.results.judge`).

How it decides. The latest three to eight runs are compared with the runs before them, in logarithms, so that 20 % is
the same distance at every duration. The density of those before is estimated by kernels of Student's t, which have
heavy tails: one outlier proves nothing, and two usual durations (a warm and a cold cache) are two peaks and no spread.
A change is told where the latest runs are `EVIDENCE` times more likely under a shift of 20 % or more than under one of
at most `TOLERATED`, the likeliest that there is. How often that is wrong, and how soon a step is found, is measured
(`infra.results.bench`, docs/results.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

SLOWER: Final = 0.20
"""The share by which a suite is slower, before anybody is told."""
TOLERATED: Final = 0.03
"""What belongs to a suite that did not change: slow drift, a machine that is a little slower."""
EVIDENCE: Final = 2.0
"""How many times more likely a change must be than none."""
LEAST: Final = 8
"""Runs of a baseline."""
MOST: Final = 40
"""Latest runs of a baseline; older ones say nothing of today."""
LATEST: Final = 3
"""Latest runs that are compared at least. One run alone, or two, are never a change."""
LATEST_OF_NOISY: Final = 8
"""And at most: what three runs of a noisy suite cannot prove, five or eight may."""
_WINDOWS: Final = (LATEST, 5, LATEST_OF_NOISY)
SETTLED: Final = 20
"""Runs after which a new level is the usual one."""

_SHARPEST: Final = 0.01
"""The smallest kernel: no clock of a virtual machine tells more than 1 %."""
_SHORTEST: Final = 1e-3
"""Seconds: what is shorter is as long as this."""
_FREEDOM: Final = 3
"""Of the kernels' Student's t: the fewest whole degrees that have a variance."""
_SHIFTS: Final = np.log(np.geomspace(1 + SLOWER, 2.0, 4))
"""Few, and near to what is looked for: each that fits badly takes its share of the evidence. What is slower still is
nearer to the last of them than to none."""
_NO_SHIFTS: Final = np.log(np.linspace(1.0, 1 + TOLERATED, 4))

Logs = NDArray[np.float64]


class Shift(StrEnum):
    """What the latest runs are beside those before."""

    NONE = "none"
    SLOWER = "slower"
    FASTER = "faster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """A baseline. median, spread: in seconds; the spread is 1.4826 times the median deviation, that of a bell curve.

    runs: how many. drift: percent that the line through them rises over all of them, by Theil and Sen.
    """

    median: float
    spread: float
    runs: int
    drift: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is known of a suite's duration after a run. at: its place in the series.

    change, since: since which place; None where nothing changed. began: whether this run is the one at which it is told
    first. usual: None where there are too few runs. ratio: of the median since then, or of the latest runs, to the
    usual one.
    """

    at: int
    change: Shift = Shift.NONE
    since: int | None = None
    began: bool = False
    usual: Usual | None = None
    ratio: float | None = None


Places = list[int]
"""Of runs in the series, in its order."""


@dataclass(frozen=True, slots=True)
class _Level:
    """Runs that took as long as one another. before: those of the level that was left, while people are told of it."""

    runs: Places
    before: Places


@dataclass(frozen=True, slots=True)
class _Decided:
    """One verdict without its figures. before, latest: its baseline, and what is compared with it."""

    before: Places
    latest: Places
    change: Shift = Shift.NONE
    began: bool = False

    @property
    def since(self) -> int | None:
        return None if self.change is Shift.NONE else self.latest[0]


def replay(seconds: Sequence[float]) -> list[Verdict]:
    """The verdict after each run of a series, oldest first."""
    logs = _logs(seconds)
    return [_measured(logs, at, each) for at, each in enumerate(_decided(logs))]


def latest(seconds: Sequence[float]) -> Verdict | None:
    """The verdict after the last run; None of an empty series."""
    logs = _logs(seconds)
    return _measured(logs, len(logs) - 1, _decided(logs)[-1]) if len(logs) else None


def told(seconds: Sequence[float]) -> list[tuple[Shift, bool]]:
    """After each run, what is told, and whether for the first time; without figures, which take most of the time."""
    return [(each.change, each.began) for each in _decided(_logs(seconds))]


def _logs(seconds: Sequence[float]) -> Logs:
    return np.log(np.maximum(np.asarray(seconds, dtype=float), _SHORTEST))


def _measured(logs: Logs, at: int, each: _Decided) -> Verdict:
    usual, late = _usual(logs[each.before]), logs[each.latest]
    ratio = None if usual is None else float(np.exp(np.median(late))) / usual.median
    return Verdict(at=at, change=each.change, since=each.since, began=each.began, usual=usual, ratio=ratio)


def _decided(logs: Logs) -> list[_Decided]:
    level, decided = _Level([], []), []
    for at in range(len(logs)):
        level, each = _next(logs, _Level([*level.runs, at], level.before))
        decided.append(each)
    return decided


def _next(logs: Logs, level: _Level) -> tuple[_Level, _Decided]:
    """The level and what is told. level: as it was, with the run that is new."""
    if level.before:
        level, still = _told_on(logs, level)
        if still is not None:
            return level, still
    runs = level.runs[-(LATEST_OF_NOISY + MOST) :]
    found = _changed(logs[runs])
    if found is None:
        return _Level(runs, []), _Decided(runs[-MOST:], runs[-LATEST:])
    change, place = found
    before, since = runs[:place][-MOST:], runs[place:]
    # What became faster is good news once, and the new level from there on.
    return _Level(since, before if change is Shift.SLOWER else []), _Decided(before, since, change, began=True)


def _told_on(logs: Logs, level: _Level) -> tuple[_Level, _Decided | None]:
    """Of a suite that was told to be slower: still, or None where it went back or the new level is the usual one."""
    slow = np.median(logs[level.before]) + np.log(1 + SLOWER / 2)
    recent = level.runs[-LATEST:]
    if len(recent) == LATEST and np.median(logs[recent]) < slow:
        # Back on the level that was left; what was slow in between belongs to neither.
        return _Level([*level.before, *(each for each in recent if logs[each] < slow)], []), None
    if len(level.runs) >= SETTLED:
        return _Level(level.runs, []), None
    return level, _Decided(level.before, level.runs, Shift.SLOWER)


def _changed(logs: Logs) -> tuple[Shift, int] | None:
    """Whether the latest of these runs are another level, and where it begins."""
    for size in _WINDOWS:
        place = len(logs) - size
        if place < LEAST:
            return None
        seen, late = logs[:place][-MOST:], logs[place:]
        moved = float(np.median(late) - np.median(seen))
        if abs(moved) <= np.log(1 + TOLERATED):
            continue
        density = _Density(seen)
        if density.evidence(late, np.sign(moved)) <= np.log(EVIDENCE):
            continue
        begins = place + density.begins(late, moved)
        if len(logs) - begins >= LATEST:
            return (Shift.SLOWER if moved > 0 else Shift.FASTER), begins
    return None


class _Density:
    """The density of logarithms of durations, by kernels around those that were seen."""

    def __init__(self, seen: Logs) -> None:
        self._seen = seen
        middle = float(stats.median_abs_deviation(seen, scale="normal"))
        self._width = max(_SHARPEST, 1.06 * middle * len(seen) ** -0.2)

    def evidence(self, latest: Logs, sign: float) -> float:
        """How much more likely these are under a shift than under none, as a logarithm."""
        likely = self._likelihoods(latest, sign * np.concatenate([_SHIFTS, _NO_SHIFTS]))
        shifted, unmoved = likely[: len(_SHIFTS)], likely[len(_SHIFTS) :]
        best = shifted.max()
        return float(best + np.log(np.mean(np.exp(shifted - best))) - unmoved.max())

    def begins(self, latest: Logs, moved: float) -> int:
        """From which of these runs on a shift by `moved` explains them best: the change point."""
        each = np.array([self._likelihoods(run[None], np.array([moved, 0.0])) for run in latest])
        gains = np.cumsum((each[:, 0] - each[:, 1])[::-1])[::-1]
        return int(np.argmax(gains))

    def _likelihoods(self, logs: Logs, shifts: Logs) -> Logs:
        """Of these durations together, under each shift; up to a factor that is the same for all."""
        distances = (logs[None, :, None] - shifts[:, None, None] - self._seen[None, None, :]) / self._width
        kernels = (1 + distances**2 / _FREEDOM) ** (-(_FREEDOM + 1) / 2)
        return np.log(kernels.mean(axis=2)).sum(axis=1)


def _usual(logs: Logs) -> Usual | None:
    if len(logs) < LEAST:
        return None
    seconds = np.exp(logs)
    slope = stats.theilslopes(logs).slope
    return Usual(
        median=float(np.median(seconds)),
        spread=float(stats.median_abs_deviation(seconds, scale="normal")),
        runs=len(logs),
        drift=float(np.expm1(slope * (len(logs) - 1)) * 100),
    )
