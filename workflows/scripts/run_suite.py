"""Runs modules of unittest, once more what failed, and writes how long each test took and how it ended.

Told by the command line: the file to write, then modules. SUITE, COMMIT and RUN go into it; COVER names the package
whose coverage is measured, where `coverage` is installed. A test that passes the second time is flaky, and no failure.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import sys
import time
import unittest
from collections.abc import Generator
from pathlib import Path
from typing import Any

LONGEST_ID = 200


class Timed(unittest.TextTestResult):
    """Every test with its seconds and its outcome: passed, failed or skipped."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.seconds: dict[str, float] = {}
        self.outcomes: dict[str, str] = {}
        self.failed: dict[str, unittest.TestCase] = {}

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        self.outcomes[test.id()] = "passed"
        self.seconds[test.id()] = -time.monotonic()
        super().startTest(test)

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        self.seconds[test.id()] += time.monotonic()
        super().stopTest(test)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802 - unittest's name
        self.outcomes[test.id()] = "skipped"
        super().addSkip(test, reason)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - unittest's name
        self._went_wrong(test)
        super().addFailure(test, err)

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - unittest's name
        self._went_wrong(test)
        super().addError(test, err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: N802
        if err is not None:
            self._went_wrong(test)
        super().addSubTest(test, subtest, err)

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        self._went_wrong(test)
        super().addUnexpectedSuccess(test)

    def _went_wrong(self, test: unittest.TestCase) -> None:
        self.outcomes[test.id()] = "failed"
        self.failed[test.id()] = test


def main() -> int:
    target, *modules = sys.argv[1:]
    sys.path.insert(0, str(Path.cwd()))
    began = time.monotonic()
    with covered() as measured:
        first = run(unittest.TestLoader().loadTestsFromNames(modules))
        again = run(unittest.TestLoader().loadTestsFromNames(repeatable(first))) if first.failed else None
    for name, outcome in (again.outcomes if again else {}).items():
        if outcome == "passed" and first.outcomes.get(name) == "failed":
            first.outcomes[name] = "flaky"
    ok = "failed" not in first.outcomes.values() and bool(first.outcomes)
    result = {
        "version": 1,
        "suite": os.environ["SUITE"],
        "commit": os.environ["COMMIT"],
        "run": os.environ["RUN"],
        "at": int(time.time()),
        "ok": ok,
        "seconds": round(time.monotonic() - began, 3),
        "coverage": measured.get("percent"),
        "tests": {
            name[:LONGEST_ID]: {"seconds": round(max(first.seconds.get(name, 0), 0), 3), "outcome": outcome}
            for name, outcome in sorted(first.outcomes.items())
        },
    }
    Path(target).write_text(json.dumps(result, separators=(",", ":")), encoding="utf-8")
    return 0 if ok else 1


def run(tests: unittest.TestSuite) -> Timed:
    result = unittest.TextTestRunner(resultclass=Timed, verbosity=2).run(tests)
    assert isinstance(result, Timed)
    return result


def repeatable(first: Timed) -> list[str]:
    """Names that load again; a class or a module that could not be set up has none, and stays failed."""
    return [name for name in first.failed if not name.startswith(("setUp", "unittest.loader."))]


@contextlib.contextmanager
def covered() -> Generator[dict[str, float]]:
    """Measures the package of COVER, if there is one; `percent` is there when the block has ended."""
    measured: dict[str, float] = {}
    package = os.environ.get("COVER", "")
    if not package or importlib.util.find_spec("coverage") is None:
        yield measured
        return
    coverage = importlib.import_module("coverage")
    tracer = coverage.Coverage(source=[package], data_file=None)
    tracer.start()
    yield measured
    tracer.stop()
    with Path(os.devnull).open("w") as nowhere, contextlib.suppress(coverage.exceptions.NoDataError):
        measured["percent"] = round(tracer.report(file=nowhere), 2)


if __name__ == "__main__":
    sys.exit(main())
