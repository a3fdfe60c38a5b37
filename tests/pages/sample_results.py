"""Made-up results of a lab, seeded: 75 nights of three suites, for pictures and tests. No run of it was ever run.

`slow` becomes 25 % slower on its sixty-first night, has a flaky test and loses coverage; `tpu` is quiet; `cpu` is
broken on two nights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final

import numpy as np

from infra.results.flaky import Quarantined
from infra.results.suite_run import Outcome, SuiteRun, Test, VmTime

NIGHTS: Final = 75
SLOWER_FROM: Final = 60
LESS_COVERAGE_FROM: Final = 73
BROKEN: Final = (20, 21)
NOW: Final = datetime(2026, 11, 23, 6, tzinfo=UTC)
_FIRST: Final = datetime(2026, 9, 10, 2, tzinfo=UTC)
_FLAKY: Final = "test.srt.test_cache.CacheTest.test_eviction"
_NAMES: Final = (
    "test.srt.test_score_api.ScoreTest.test_batch",
    "test.srt.test_score_api.ScoreTest.test_single",
    _FLAKY,
)

QUARANTINE: Final = (
    Quarantined(
        suite="slow", test=_FLAKY, owner="@lab/serving", reason="waits for a port that may be taken",
        expires=date(2026, 12, 15),
    ),
)  # fmt: skip


def sample_runs() -> dict[str, list[SuiteRun]]:
    """Runs by suite, oldest first; equal at every call."""
    return {suite: list(_nights(suite, number)) for number, suite in enumerate(("cpu", "slow", "tpu"))}


def _nights(suite: str, number: int) -> Iterator[SuiteRun]:
    luck = np.random.default_rng([17, number])
    for night in range(NIGHTS):
        step = 1.25 if suite == "slow" and night >= SLOWER_FROM else 1.0
        seconds = float((42, 180, 105)[number] * step * np.exp(luck.normal(0, 0.03)))
        broken = suite == "cpu" and night in BROKEN
        flaky = suite == "slow" and luck.random() < 0.12
        waited = float(luck.gamma(4.0, 20.0))
        coverage = 86.0 + night / 40 - (4.0 if suite == "slow" and night >= LESS_COVERAGE_FROM else 0.0)
        yield SuiteRun(
            suite=suite,
            run=f"{20_000 + night}-1",
            commit=_hash(f"commit {night}"),
            tree=_hash(f"tree {night}"),
            branch="main",
            at=_FIRST + timedelta(days=night, seconds=float(luck.uniform(0, 300))),
            hardware="ubuntu-24.04" if suite == "cpu" else "v6e-1",
            zone="" if suite == "cpu" else "us-central1-b",
            versions={"jax": "0.8.0"},
            ended="failed" if broken else "passed",
            seconds=round(seconds, 3),
            waited=None if suite == "cpu" else round(waited, 1),
            coverage=round(coverage, 2),
            vm=None if suite == "cpu" else _vm(seconds + waited),
            tests=_tests(seconds, step, broken=broken, flaky=flaky),
        )


def _tests(seconds: float, step: float, *, broken: bool, flaky: bool) -> tuple[Test, ...]:
    batch = 0.5 * seconds if step == 1.0 else seconds * (1 - 0.5 / step)
    rest = seconds - batch
    return (
        Test(name=_FLAKY, outcome=Outcome.FLAKY if flaky else Outcome.PASSED, seconds=round(0.2 * rest, 3)),
        Test(name=_NAMES[0], outcome=Outcome.PASSED, seconds=round(batch, 3)),
        Test(
            name=_NAMES[1],
            outcome=Outcome.FAILED if broken else Outcome.PASSED,
            seconds=round(0.8 * rest, 3),
            message="AssertionError: 3 scores of 4" if broken else "",
        ),
    )


def _vm(seconds: float) -> VmTime:
    return VmTime(
        accelerator="v6e-1", zone="us-central1-b", capacity="preemptible", seconds=round(seconds, 1), pool="nightly-v6e"
    )


def _hash(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
