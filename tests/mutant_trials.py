"""A plugin of pytest that tries changes of code: one process collects, and each change is tried in a fork of it.

A change meets the tests that come past its statement, quickest first, up to the first that fails; if none does, it meets
every other test of their files, since what one test makes others may keep. Reads and writes what
`tests.mutants` says in TIDEPOOL_MUTANTS: `modules`, `every` and `out`.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from coverage import Coverage
from hypothesis import Phase, settings

from tests.mutant_changes import Change, Mutant, mutants

JOB: Final = json.loads(os.environ["TIDEPOOL_MUTANTS"])
ROOT: Final = Path.cwd()
PATIENCE: Final = 120.0
"""Seconds by the wall that a change may take beside ten times what its tests take."""

_failed: list[Callable[[pytest.Item], None]] = []


class Reach(NamedTuple):
    """tests: by file and line, the numbers of those that come past. seconds: what each took."""

    tests: dict[str, dict[int, list[int]]]
    seconds: list[float]


def pytest_sessionstart() -> None:
    """A failing example is enough: to make it small takes longer than to find it."""
    settings.register_profile("mutants", settings.get_profile("tidepool"), phases=(Phase.explicit, Phase.generate))
    settings.load_profile("mutants")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    modules = [ROOT / each for each in JOB["modules"]]
    made = list(mutants(ROOT, modules))
    reach = _reach(session, modules)
    tried = made[:: JOB["every"]]
    unseen = list(_unseen(session, tried, reach))
    result = {"made": len(made), "tried": len(tried), "unseen": unseen}
    Path(JOB["out"]).write_text(json.dumps(result))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
    if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
        for told in _failed:
            told(item)
    return (yield)


def _unseen(session: pytest.Session, tried: Sequence[Mutant], reach: Reach) -> Iterator[Change]:
    killers: dict[str, list[int]] = defaultdict(list)
    began, unseen = time.monotonic(), 0
    for number, mutant in enumerate(tried, 1):
        lines = reach.tests.get(mutant.path, {})
        near = {test for line in mutant.lines for test in lines.get(line, ())}
        known = [test for test in reversed(killers[mutant.change.where]) if test in near]
        order = list(dict.fromkeys((*known, *sorted(near, key=reach.seconds.__getitem__))))
        files = {session.items[test].path for test in near}
        rest = [test for test, item in enumerate(session.items) if item.path in files and test not in near]
        seen, killer = _trial(session, mutant, [*order, *rest], sum(map(reach.seconds.__getitem__, (*order, *rest))))
        if killer is not None:
            killers[mutant.change.where] = [*(each for each in killers[mutant.change.where] if each != killer), killer][
                -5:
            ]
        if not seen:
            unseen += 1
            print(f"{mutant.change}\n  seen by none of {len(order)} tests that come past", file=sys.stderr)
            yield mutant.change
        if not number % 50 or number == len(tried):
            print(f"{number} of {len(tried)}: {unseen} unseen, {time.monotonic() - began:.0f} s", file=sys.stderr)


def _trial(session: pytest.Session, mutant: Mutant, tests: Sequence[int], seconds: float) -> tuple[bool, int | None]:
    """Whether a change is seen, and by which test; by none where the process had to be ended."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        _failed.append(lambda item: _end(writing, tests[items.index(item)]))
        _hurry(seconds)
        try:
            mutant.apply()
            items = [session.items[test] for test in tests]
            _run(items)
        except BaseException:
            os._exit(1)
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        killer = pipe.read()
    return bool(status), int(killer) if killer else None


def _hurry(seconds: float) -> None:
    """Let the system end this process if the change made it endless: by its own time, or by the wall if it waits."""
    own = int(5 + 10 * seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (own, own + 1))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE + 10 * seconds)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)


def _end(writing: int, test: int) -> None:
    os.write(writing, str(test).encode())
    os._exit(1)


def _run(items: Sequence[pytest.Item]) -> None:
    for item, following in pairwise([*items, None]):
        _run_one(item, following)


def _run_one(item: pytest.Item | None, following: pytest.Item | None) -> None:
    if item is not None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _reach(session: pytest.Session, modules: Iterable[Path]) -> Reach:
    """What each test comes past, and how long it takes, from one run of a fork; this process stays as collected.

    Raises UsageError where a test fails of code that is not changed.
    """
    out = Path(JOB["out"]).with_suffix(".reach")
    if not (child := os.fork()):
        _failed.append(_refuse)
        try:
            out.write_text(json.dumps(_traced(session, [str(each) for each in modules])))
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise pytest.UsageError("a test fails of code that is not changed")
    tests, seconds = json.loads(out.read_text())
    return Reach({path: {int(line): near for line, near in lines.items()} for path, lines in tests.items()}, seconds)


def _refuse(item: pytest.Item) -> None:
    print(f"{item.nodeid} fails of code that is not changed", file=sys.stderr)
    os._exit(1)


def _traced(session: pytest.Session, modules: Sequence[str]) -> Reach:
    coverage = Coverage(data_file=None, include=modules, config_file=False)
    seconds = []
    coverage.start()
    for number, (item, following) in enumerate(pairwise([*session.items, None])):
        began = time.process_time()
        coverage.switch_context(str(number))
        _run_one(item, following)
        seconds.append(time.process_time() - began)
    coverage.stop()
    data = coverage.get_data()
    return Reach(
        {
            path: {line: [int(each) for each in tests if each] for line, tests in data.contexts_by_lineno(path).items()}
            for path in modules
        },
        seconds,
    )
