"""Made-up results of a monorepo's suites, seeded: forty merges of four suites, of which three run in several legs.

`levanter-tpu-tests` has twelve legs, of which the last merge breaks one and one became slower. No run of it was ever
run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Final

import numpy as np

from infra.results.suite_run import Outcome, SuiteRun, Test

MERGES: Final = 40
JAX: Final = ("0.6.2", "0.7.2", "0.8.0")
CHIPS: Final = ("v5litepod-4", "v4-8", "v5p-8", "v6e-8")
NOW: Final = datetime(2026, 11, 23, 6, tzinfo=UTC)
BROKEN: Final = ("v4-8", "0.8.0")
SLOWER: Final = ("v5p-8", "0.7.2")
_FIRST: Final = NOW - timedelta(hours=12 * MERGES)
LEGS: Final = (
    *(("levanter-cpu-unit-tests", "ubuntu-24.04", {"jax": jax, "python": "3.11"}) for jax in JAX),
    ("levanter-cpu-ray-tests", "ubuntu-24.04", {"python": "3.11"}),
    *(("levanter-tpu-tests", chips, {"jax": jax}) for jax, chips in product(JAX, CHIPS)),
    ("marin-tpu-tests", "v5litepod-4", {}),
)


def leg_runs() -> dict[str, list[SuiteRun]]:
    """Runs by suite, oldest first; equal at every call."""
    found: dict[str, list[SuiteRun]] = {}
    for merge in range(MERGES):
        for run in _merge(merge):
            found.setdefault(run.suite, []).append(run)
    return found


def _merge(merge: int) -> Iterator[SuiteRun]:
    luck = np.random.default_rng([23, merge])
    for suite, hardware, versions in LEGS:
        leg, tpu = (hardware, versions.get("jax", "")), hardware != "ubuntu-24.04"
        broken = leg == BROKEN and merge == MERGES - 1
        step = 1.3 if leg == SLOWER and merge >= MERGES - 6 else 1.0
        seconds = round(float((300 if tpu else 700) * step * np.exp(luck.normal(0, 0.03))), 3)
        yield SuiteRun(
            suite=suite,
            run="-".join((f"{30_000 + merge}-1", *versions.values(), hardware)),
            commit=_hash(f"commit {merge}"),
            tree=_hash(f"tree {merge}"),
            branch="main",
            at=_FIRST + timedelta(hours=12 * merge),
            hardware=hardware,
            versions=versions,
            ended="failed" if broken else "passed",
            seconds=seconds,
            waited=round(float(luck.gamma(2.0, 12.0)), 1),
            tests=tuple(_tests(seconds, broken=broken)),
        )


def _tests(seconds: float, *, broken: bool) -> Iterator[Test]:
    yield Test(name="tests.test_attention.test_splash_attention", outcome=Outcome.PASSED, seconds=0.6 * seconds)
    outcome = Outcome.FAILED if broken else Outcome.PASSED
    message = "AssertionError: arrays are not close" if broken else ""
    yield Test(name="tests.kernels.test_flash.test_backward", outcome=outcome, seconds=0.4 * seconds, message=message)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:40]
