"""Runs modules of unittest, once more what failed, and writes how long each test took and how it ended.

Told by the command line: the file to write, then modules. SUITE, COMMIT and RUN go into it; COVER names the package
whose coverage is measured, where `coverage` is installed. A test that passes the second time is flaky, and no failure.
Asked to end, it writes what is known, and the test that ran then has failed.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import signal
import sys
import time
import unittest
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LONGEST_ID = 200


class Timed(unittest.TextTestResult):
    """Every test with its seconds and its outcome: passed, failed or skipped."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.seconds: dict[str, float] = {}
        self.outcomes: dict[str, str] = {}
        self.failed: set[str] = set()
        self.interrupted = False

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        self.outcomes[test.id()] = "passed"
        self.seconds[test.id()] = -time.monotonic()
        super().startTest(test)

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        self.seconds[test.id()] += time.monotonic()
        # unittest ends a test also while an interruption passes through it.
        if isinstance(sys.exc_info()[1], KeyboardInterrupt):
            self._went_wrong(test)
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
        self.failed.add(test.id())


def main() -> int:
    target, *modules = sys.argv[1:]
    sys.path.insert(0, str(Path.cwd()))
    signal.signal(signal.SIGTERM, interrupt)
    began = time.monotonic()
    tracer = tracing(os.environ.get("COVER", ""))
    first = run(modules)
    for name in repaired(first):
        first.outcomes[name] = "flaky"
    ended = set(first.outcomes.values())
    ok = not first.interrupted and "failed" not in ended and bool(ended & {"passed", "flaky"})
    result = {
        "version": 1,
        "suite": os.environ["SUITE"],
        "commit": os.environ["COMMIT"],
        "run": os.environ["RUN"],
        "at": int(time.time()),
        "ok": ok,
        "seconds": round(time.monotonic() - began, 3),
        "coverage": None if first.interrupted else percent(tracer),
        "tests": {
            name[:LONGEST_ID]: {"seconds": round(max(first.seconds.get(name, 0), 0), 3), "outcome": outcome}
            for name, outcome in sorted(first.outcomes.items())
        },
    }
    Path(target).write_text(json.dumps(result, separators=(",", ":")), encoding="utf-8")
    return 0 if ok else 1


def interrupt(*_: object) -> None:
    """Ends the tests, once: `timeout` asks a command and then its whole group."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def run(names: Iterable[str]) -> Timed:
    """The tests of these names, run; of an interruption, what is known by then."""
    tests = unittest.TestLoader().loadTestsFromNames(list(names))
    made: list[Timed] = []

    def kept(*arguments: Any, **options: Any) -> Timed:
        made.append(Timed(*arguments, **options))
        return made[0]

    try:
        unittest.TextTestRunner(resultclass=kept, verbosity=2).run(tests)
    except KeyboardInterrupt:
        made[0].interrupted = True
    return made[0]


def repaired(first: Timed) -> list[str]:
    """What failed and passes when it is run once more.

    A class or a module that could not be set up has no name that loads again, and stays failed.
    """
    names = [name for name in first.failed if not name.startswith(("setUp", "unittest.loader."))]
    if first.interrupted or not names:
        return []
    outcomes = run(names).outcomes
    return [name for name in names if outcomes.get(name) == "passed"]


def tracing(package: str) -> Any:
    """What measures the coverage of a package from here on; None where there is neither."""
    if not package or importlib.util.find_spec("coverage") is None:
        return None
    tracer = importlib.import_module("coverage").Coverage(source=[package], data_file=None)
    tracer.start()
    return tracer


def percent(tracer: Any) -> float | None:
    if tracer is None:
        return None
    tracer.stop()
    try:
        with Path(os.devnull).open("w") as nowhere:
            return round(tracer.report(file=nowhere), 2)
    except importlib.import_module("coverage").exceptions.NoDataError:
        return None


if __name__ == "__main__":
    sys.exit(main())
