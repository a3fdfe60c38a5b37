"""How often the statistics of durations cry wolf, and how soon they find a step: measured on noise of many forms.

Owns the series: seeded ones, and real benchmarks that a package publishes (`data/benchmarks.yaml`). Every figure is of
`infra.results.timing` itself, run after run, as reports use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import yaml
from numpy.typing import NDArray

from infra.model.json_shape import CamelShape
from infra.results.timing import LATEST, LATEST_OF_NOISY, LEAST, Shift, told

STEP: Final = 1.2
_LENGTH: Final = 200
_QUIET_BEFORE: Final = 40
"""Runs before a step."""
_USUAL: Final = 100.0
"""Seconds."""

Seconds: TypeAlias = "NDArray[np.float64]"
Luck: TypeAlias = np.random.Generator


def _bell(spread: float) -> Callable[[Luck, int], Seconds]:
    return lambda luck, count: _USUAL * np.exp(luck.normal(0, spread, count))


def _drift(luck: Luck, count: int) -> Seconds:
    """15 % slower, run by run, over 100 runs."""
    return _bell(0.03)(luck, count) * np.exp(np.linspace(0, np.log(1.15) * count / 100, count))


def _two_peaks(luck: Luck, count: int) -> Seconds:
    """Three of ten runs take 30 % longer: a cold cache."""
    return _bell(0.02)(luck, count) * np.where(luck.random(count) < 0.3, 1.3, 1.0)


def _outliers(luck: Luck, count: int) -> Seconds:
    """One run of twenty takes 1.5 to 3 times as long."""
    return _bell(0.03)(luck, count) * np.where(luck.random(count) < 0.05, luck.uniform(1.5, 3.0, count), 1.0)


def _waves(luck: Luck, count: int) -> Seconds:
    """Each run is like the one before it: a machine that is slower for some days."""
    logs = np.zeros(count)
    for at in range(1, count):
        logs[at] = 0.6 * logs[at - 1] + luck.normal(0, 0.03)
    return _USUAL * np.exp(logs)


def _skewed(luck: Luck, count: int) -> Seconds:
    """Never faster than 90 s, and at times much slower: contention."""
    return 90 + 10 * luck.lognormal(0, 0.6, count)


NOISE: Final[Mapping[str, Callable[[Luck, int], Seconds]]] = {
    "bell curve, 2 %": _bell(0.02),
    "bell curve, 3 %": _bell(0.03),
    "bell curve, 5 %": _bell(0.05),
    "bell curve, 8 %": _bell(0.08),
    "drift, 15 % in 100 runs, and 3 %": _drift,
    "two peaks, 30 % apart, and 2 %": _two_peaks,
    "outliers, 1 in 20, and 3 %": _outliers,
    "waves, 3.8 %, correlated 0.6": _waves,
    "skewed, 7 %": _skewed,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures(CamelShape):
    """Of one form of noise. runs: of quiet series, in which every alarm is false. steps: series with a step of 20 %.

    found_in_three, found_in_ten: the share of steps that were told at the third run, and at the tenth.
    """

    noise: str
    runs: int
    false_alarms: int
    steps: int
    found_in_three: float
    found_in_ten: float

    @property
    def row(self) -> tuple[str, ...]:
        """For a table."""
        shares = (f"{100 * each:.0f} %" for each in (self.found_in_three, self.found_in_ten))
        return self.noise, str(self.runs), str(self.false_alarms), str(self.steps), *shares


def figures(series: int, seed: int) -> Iterator[Figures]:
    """Each form of noise with so many series of 200 runs, and then the real ones."""
    for number, (name, noise) in enumerate(NOISE.items()):
        luck = np.random.default_rng([seed, number])
        quiet = [noise(luck, _LENGTH) for _ in range(series)]
        stepped = []
        for _ in range(series):
            slow = noise(luck, _QUIET_BEFORE + 10)
            slow[_QUIET_BEFORE:] *= STEP
            stepped.append((slow, _QUIET_BEFORE))
        yield _measured(name, quiet, stepped)
    yield _measured("real benchmarks, 0.8 to 3 %", list(real_series().values()), list(_real_steps()))


def real_series() -> dict[str, Seconds]:
    """Durations of published benchmarks, in microseconds, by name."""
    text = (Path(__file__).parent / "data" / "benchmarks.yaml").read_text(encoding="utf-8")
    return {name: np.asarray(values, dtype=float) for name, values in yaml.safe_load(text).items()}


def _real_steps() -> Iterator[tuple[Seconds, int]]:
    for values in real_series().values():
        for at in range(2 * LEAST, len(values) - 10, 9):
            slow = values[: at + 10].copy()
            slow[at:] *= STEP
            yield slow, at


def _measured(name: str, quiet: list[Seconds], stepped: list[tuple[Seconds, int]]) -> Figures:
    alarms = sum(_alarms(values) for values in quiet)
    found = [_found(values, at) for values, at in stepped]
    return Figures(
        noise=name,
        runs=sum(map(len, quiet)),
        false_alarms=alarms,
        steps=len(stepped),
        found_in_three=sum(each <= LATEST for each in found) / len(found),
        found_in_ten=sum(each <= LATEST_OF_NOISY + 2 for each in found) / len(found),
    )


def _alarms(values: Seconds) -> int:
    return sum(began and change is Shift.SLOWER for change, began in told(values.tolist()))


def _found(values: Seconds, at: int) -> float:
    """At which run after a step it is told; infinity where it is not."""
    for place, (change, _) in enumerate(told(values.tolist())):
        if place >= at and change is Shift.SLOWER:
            return place - at + 1
    return float("inf")
