"""Runs as these tests need them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from infra.results.suite_run import Outcome, SuiteRun, Test

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
FIRST = datetime(2026, 10, 1, 2, tzinfo=UTC)


def hashed(text: object) -> str:
    return hashlib.sha1(str(text).encode(), usedforsecurity=False).hexdigest()


def made(at: int, seconds: float = 100.0, **more: Any) -> SuiteRun:
    """The run of one night on the main branch, of a commit of its own."""
    tests = more.pop("tests", (Test(name="a", outcome=Outcome.PASSED, seconds=seconds),))
    body: dict[str, Any] = {
        "suite": "tpu",
        "run": str(at),
        "commit": hashed(f"commit {at}"),
        "tree": hashed(f"tree {at}"),
        "branch": "main",
        "at": FIRST + timedelta(days=at),
        "hardware": "v6e-1",
        "versions": {"jax": "0.8.0"},
        "ended": "failed" if any(test.outcome is Outcome.FAILED for test in tests) else "passed",
        "seconds": seconds,
        "tests": tests,
    }
    return SuiteRun(**(body | more))


def nights(durations: Sequence[float], **more: Any) -> list[SuiteRun]:
    return [made(at, seconds, **more) for at, seconds in enumerate(durations)]


def ended(name: str, outcome: Outcome, message: str = "") -> Test:
    return Test(name=name, outcome=outcome, seconds=1.0, message=message)
