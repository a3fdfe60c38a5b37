"""A plugin of pytest that tries changes of code: one process collects, and each change is tried in a fork of it.

A change meets the tests that come past its statement, those first that saw others of its function, then the quickest,
up to the first that fails; if none does, it meets every other test of those files that keep what one test makes.
`tests.mutants` says in TIDEPOOL_MUTANTS what is changed (`modules`), how many of the changes are tried (`sample`; none
for all), and where the result goes (`out`).
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from coverage import Coverage
from hypothesis import Phase, settings

from tests.mutant_changes import Change, Mutant, mutants

JOB: Final = json.loads(os.environ["TIDEPOOL_MUTANTS"])
ROOT: Final = Path.cwd()
SAID: Final = os.dup(2)
"""Where a run tells of itself, before pytest takes what tests write there."""
STILL: Final = 10
"""Seconds for which every thread of a process sleeps and none takes any time of the machine: then it waits for ever."""

_failed: list[Callable[[pytest.Item], None]] = []


class Reach(NamedTuple):
    """tests: by file and line, the numbers of those that come past. seconds: what each took."""

    tests: dict[str, dict[int, list[int]]]
    seconds: list[float]


def pytest_sessionstart() -> None:
    """A failing example is enough: to make it small takes longer than to find it."""
    settings.register_profile("mutants", settings(), phases=(Phase.explicit, Phase.generate))
    settings.load_profile("mutants")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    modules = [ROOT / each for each in JOB["modules"]]
    made = list(mutants(ROOT, modules))
    reach = _reach(session, modules)
    tried = sampled(made, JOB["sample"])
    unseen = list(_unseen(session, tried, reach))
    result = {"made": len(made), "tried": len(tried), "unseen": unseen}
    Path(JOB["out"]).write_text(json.dumps(result))
    return True


def sampled(made: Sequence[Mutant], size: int | None) -> list[Mutant]:
    """So many of the changes, in their order; which, each change's own text decides: an edit elsewhere moves none."""
    drawn = {each.change for each in sorted(made, key=lambda each: sha256(str(each.change).encode()).digest())[:size]}
    return [each for each in made if each.change in drawn]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
    if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
        for told in _failed:
            told(item)
    return (yield)


def _unseen(session: pytest.Session, tried: Sequence[Mutant], reach: Reach) -> Iterator[Change]:
    saw: dict[str, list[int]] = defaultdict(list)
    began, unseen = time.monotonic(), 0
    for number, mutant in enumerate(tried, 1):
        lines = reach.tests.get(mutant.path, {})
        near = {test for line in mutant.lines for test in lines.get(line, ())}
        keeping = {session.items[test].path for test in near if _keeps(session.items[test])}
        rest = [test for test, item in enumerate(session.items) if item.path in keeping and test not in near]
        known = saw[mutant.change.where]
        order = dict.fromkeys((*(test for test in known if test in near), *sorted(near, key=reach.seconds.__getitem__)))
        status, by = _trial(session, mutant, [*order, *rest], sum(reach.seconds[test] for test in (*order, *rest)))
        known[:] = [by, *(test for test in known if test != by)] if by is not None else known
        if os.WIFSIGNALED(status):
            _tell(f"{mutant.change}\n  {signal.strsignal(os.WTERMSIG(status))}")
        if not status:
            unseen += 1
            _tell(f"{mutant.change}\n  {len(order)} tests come past")
            yield mutant.change
        if not number % 50 or number == len(tried):
            _tell(f"{number} of {len(tried)}: {unseen} unseen, {time.monotonic() - began:.0f} s")


def _keeps(item: pytest.Item) -> bool:
    """Whether a test's file keeps what one of its tests made for others: by a wider fixture or a cache."""
    given = vars(item).get("_fixtureinfo")
    fixtures = [each for several in given.name2fixturedefs.values() for each in several] if given else []
    named = vars(sys.modules[item.function.__module__]) if isinstance(item, pytest.Function) else {}
    wider = any(each.baseid and each.scope != "function" for each in fixtures)
    return wider or any(hasattr(each, "cache_clear") for each in named.values())


def _trial(session: pytest.Session, mutant: Mutant, tests: Sequence[int], seconds: float) -> tuple[int, int | None]:
    """How a change's process ended, 0 where no test failed, and the test that did; none where it had to be ended."""
    reading, writing = os.pipe()

    def met() -> None:
        _failed.append(lambda item: _end(writing, tests[items.index(item)]))
        _hurry(seconds)
        mutant.apply()
        _run(items)

    items = [session.items[test] for test in tests]
    status = _forked(met, meanwhile=lambda: os.close(writing))
    with os.fdopen(reading) as pipe:
        by = pipe.read()
    return status, int(by) if by else None


def _forked(work: Callable[[], None], meanwhile: Callable[[], None] = lambda: None) -> int:
    """Do work in a fork of this process; not 0 where it raised, or was ended."""
    if not (child := os.fork()):
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    meanwhile()
    ending, still, before = os.pidfd_open(child), 0, ""
    while not select.select([ending], [], [], 1.0)[0]:
        now = _standing(child)
        still = still + 1 if now == before and now else 0
        before = now
        if still >= STILL:
            os.kill(child, signal.SIGKILL)
    os.close(ending)
    return os.waitpid(child, 0)[1]


def _standing(child: int) -> str:
    """What the threads of a process have taken of the machine, from Linux; empty where one of them would go on."""
    taken = []
    for thread in Path(f"/proc/{child}/task").glob("*/stat"):
        with contextlib.suppress(OSError):
            state, *values = thread.read_text().rpartition(") ")[2].split()
            if state != "S":
                return ""
            taken.append(f"{thread.parent.name} {values[10]} {values[11]}")
    return "\n".join(sorted(taken))


def _tell(text: str) -> None:
    os.write(SAID, f"{text}\n".encode())


def _hurry(seconds: float) -> None:
    """Let the system end this process if the change made it endless."""
    own = int(5 + 10 * seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (own, own + 1))
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

    def met() -> None:
        _failed.append(_refuse)
        out.write_text(json.dumps(_traced(session, [str(each) for each in modules])))

    if _forked(met):
        raise pytest.UsageError("a test fails of code that is not changed")
    tests, seconds = json.loads(out.read_text())
    return Reach({path: {int(line): near for line, near in lines.items()} for path, lines in tests.items()}, seconds)


def _refuse(item: pytest.Item) -> None:
    _tell(f"{item.nodeid} fails of code that is not changed")
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
