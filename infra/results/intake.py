"""What test runners write, read without trust: JUnit XML, coverage XML and timing JSON.

The files come from jobs that ran a stranger's code. Their size is limited before they are read, a document type or an
entity is refused before anything is expanded, depth and number of elements are limited, and nothing outside the file is
fetched: expat, in Python's standard library, loads no external entity.
https://docs.python.org/3/library/xml.html#xml-security, read 2026-11.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar
from xml.etree import ElementTree as ET
from xml.parsers import expat

import junitparser
from pydantic import ValidationError

from infra.results.suite_run import (
    LONGEST_MESSAGE,
    LONGEST_NAME,
    MOST_TESTS_WRITTEN,
    Outcome,
    ResultsError,
    Test,
    mistakes,
    shortened,
)

Said = TypeVar("Said")
MOST_BYTES: Final = 16 << 20
MOST_DEPTH: Final = 40
MOST_ELEMENTS: Final = 500_000
_NOT_SAID: Final = (ValueError, KeyError, TypeError, RecursionError, OverflowError)
"""What reading a stranger's JSON may end with; the last of a number that is no float."""


def read_junit(content: bytes, name: str) -> tuple[Test, ...]:
    """The tests of one file. One that stands there several times was run again: failed and passed is flaky."""
    check_xml(content, name)
    root = ET.fromstring(content)  # noqa: S314 - checked: no entity, no internal subset
    if root.tag not in ("testsuites", "testsuite"):
        raise ResultsError(f"{name} is not JUnit XML: its root is {shortened(root.tag, 40)!r}")
    try:
        # Every test once: junitparser yields those of an inner suite with each suite around it.
        tests = [_test(junitparser.TestCase.fromelem(case)) for case in root.iter("testcase")]
    except ValidationError as wrong:
        raise ResultsError(f"{name} has a test that cannot be kept: {mistakes(wrong)}; write it anew") from None
    except ValueError as wrong:
        raise ResultsError(f"{name} is not JUnit XML: {shortened(str(wrong), 200)}") from None
    return joined(tests)


def _test(case: Any) -> Test:
    whole = ".".join(part for part in (case.classname, case.name) if part and part.strip())
    name = _named(whole) or "(without a name)"
    seconds = max(float(case.time or 0.0), 0.0)
    known = {type(each): each for each in case.result}
    for kind, outcome in (
        (junitparser.Failure, Outcome.FAILED),
        (junitparser.Error, Outcome.FAILED),
        (junitparser.Skipped, Outcome.SKIPPED),
    ):
        if kind in known:
            said = f"{known[kind].message or ''}\n{known[kind].text or ''}"
            return Test(
                name=name,
                outcome=outcome,
                seconds=seconds,
                message=shortened(said, LONGEST_MESSAGE),
            )
    return Test(name=name, outcome=Outcome.PASSED, seconds=seconds)


def _named(whole: str) -> str:
    """A test's name on one line. One that is cut ends with a digest of the whole, or two tests would become one."""
    line = " ".join(whole.split())
    if len(line) <= LONGEST_NAME:
        return shortened(line, LONGEST_NAME)
    digest = hashlib.sha256(line.encode("utf-8", errors="replace")).hexdigest()[:8]
    return f"{shortened(line, LONGEST_NAME - len(digest) - 1)} {digest}"


def joined(tests: Iterable[Test]) -> tuple[Test, ...]:
    """One of each name, by name: of several, times add up, and what failed once and passed once is flaky."""
    by_name: dict[str, Test] = {}
    for test in tests:
        known = by_name.get(test.name)
        try:
            by_name[test.name] = test if known is None else _both(known, test)
        except ValidationError as wrong:
            raise ResultsError(f"a test that ran several times cannot be kept: {mistakes(wrong)}") from None
        _limit_tests("the results", len(by_name))
    return tuple(by_name[name] for name in sorted(by_name))


def _limit_tests(name: str, tests: int) -> None:
    if tests > MOST_TESTS_WRITTEN:
        raise ResultsError(f"{name}: more than {MOST_TESTS_WRITTEN:,} tests. Fix: split the suite")


def _both(one: Test, other: Test) -> Test:
    outcomes = {one.outcome, other.outcome} - {Outcome.SKIPPED} or {Outcome.SKIPPED}
    outcome = outcomes.pop() if len(outcomes) == 1 else Outcome.FLAKY
    message = one.message or other.message
    return Test(name=one.name, outcome=outcome, seconds=one.seconds + other.seconds, message=message)


def read_coverage(content: bytes, name: str) -> float:
    """Percent of lines that a Cobertura file says are covered, as coverage.py's `coverage xml` writes it."""
    # coverage.py writes the DTD's address; expat does not load it, and an internal subset is refused.
    check_xml(content, name, named_doctype=True)
    root = ET.fromstring(content)  # noqa: S314 - checked: no entity, no internal subset
    if root.tag != "coverage":
        raise ResultsError(f"{name} is not coverage XML: its root is {shortened(root.tag, 40)!r}, not 'coverage'")
    try:
        valid, covered = root.get("lines-valid"), root.get("lines-covered")
        percent = 100 * (
            int(covered) / int(valid) if valid and covered and int(valid) else float(root.get("line-rate", ""))
        )
    except (ValueError, OverflowError):
        raise ResultsError(f"{name} says neither lines-covered and lines-valid nor a line-rate") from None
    if not 0 <= percent <= 100:
        raise ResultsError(f"{name} says that {percent:.1f} % of lines are covered")
    return round(percent, 2)


def read_timing(content: bytes, name: str) -> dict[str, Any]:
    """The object of `workflows/scripts/run_suite.py`: suite, commit, run, at, ok, seconds, coverage, tests by name."""
    if len(content) > MOST_BYTES:
        raise ResultsError(f"{name} has more than {MOST_BYTES:,} bytes")
    try:
        said = json.loads(content)
        tests = said["tests"]
        _limit_tests(name, len(tests))
        missing = " ".join(shortened(str(said.get("missing", "")), LONGEST_NAME).split())
        found = tuple(
            Test(
                name=_named(each),
                outcome=Outcome(told["outcome"]),
                seconds=max(told["seconds"], 0.0),
            )
            for each, told in sorted(tests.items())
        )
        return {
            "ended": "passed" if said["ok"] is True else "failed",
            "seconds": float(said["seconds"]),
            "coverage": None if said.get("coverage") is None else float(said["coverage"]),
            "tests": found,
            "missing": (f"{name.removesuffix('.json')}: {missing}"[:LONGEST_NAME],) if missing else (),
        }
    except (*_NOT_SAID, AttributeError):
        raise ResultsError(f"{name} is not the timing JSON that the test runner writes (docs/results.md)") from None


def joined_timing(shards: Sequence[Mapping[str, Any]], silent: Sequence[str] = ()) -> dict[str, Any]:
    """Results of the shards of one suite, each as `read_timing` gives it, as one.

    Seconds add up: the sum is the same whichever shard a test is in, and the longest shard is not. A suite has passed
    where each shard has. One that says why it has no result, as where Google took its VM back, leaves the suite
    incomplete; one that left nothing, `silent`, fails it. Percents of coverage do not add up: of several shards there
    is none.
    """
    of_tests = [each["ended"] for each in shards if not each["missing"]]
    failed = silent or any(each != "passed" for each in of_tests)
    return {
        "ended": "failed" if failed else "passed" if len(of_tests) == len(shards) else "incomplete",
        "missing": (
            *(each for shard in shards for each in shard["missing"]),
            *(f"{name}: it left no result, and nobody said why" for name in silent),
        ),
        "seconds": sum(each["seconds"] for each in shards),
        "coverage": shards[0]["coverage"] if len(shards) == 1 else None,
        "tests": tuple(test for each in shards for test in each["tests"]),
    }


def vm_seconds(content: bytes) -> float:
    """Seconds that the VM of a result of `run-on` stood, which its client wrote there; 0 where nothing is said."""
    return _said(content, "vm_seconds", float) or 0.0


def vm_place(content: bytes) -> tuple[str, str] | None:
    """Zone and kind of capacity of that VM, which may be another than the first that is tried; None where nothing is
    said."""
    said = _said(content, "vm", dict) or {}
    zone, capacity = said.get("zone"), said.get("capacity")
    return (zone, capacity) if isinstance(zone, str) and isinstance(capacity, str) else None


def run_named(content: bytes) -> str:
    """The run that a result says it is of: another one than asked, where a cache gave it back.

    JUnit XML says it as the name of its suite.
    """
    if content.lstrip().startswith(b"<"):
        check_xml(content, "JUnit XML")
        root = ET.fromstring(content)  # noqa: S314 - checked: no entity, no internal subset
        return next((each.get("name", "") for each in root.iter("testsuite")), "")
    return _said(content, "run", str) or ""


def _said(content: bytes, key: str, kind: Callable[[Any], Said]) -> Said | None:
    try:
        return kind(json.loads(content[:MOST_BYTES])[key])
    except _NOT_SAID:
        return None


def check_xml(content: bytes, name: str, *, named_doctype: bool = False) -> None:
    """Refuse what is large, deep, defines entities or is no XML. named_doctype: whether a bare DOCTYPE is taken."""
    if len(content) > MOST_BYTES:
        raise ResultsError(f"{name} has {len(content):,} bytes, and at most {MOST_BYTES:,} are read; split the suite")
    guard = _Guard(name, named_doctype=named_doctype)
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = guard.doctype
    parser.EntityDeclHandler = guard.entity
    parser.StartElementHandler = guard.starts
    parser.EndElementHandler = guard.ends
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError) as wrong:  # the latter two: of an encoding that it names
        raise ResultsError(f"{name} is not XML: {shortened(str(wrong), 200)}") from None


class _Guard:
    """What expat tells while it reads, before any tree is built."""

    def __init__(self, name: str, *, named_doctype: bool) -> None:
        self._name, self._named_doctype = name, named_doctype
        self._depth = self._elements = self._tests = 0

    def doctype(self, _name: str, _system: str | None, _public: str | None, has_internal_subset: int) -> None:
        if has_internal_subset or not self._named_doctype:
            raise ResultsError(f"{self._name} has a document type, which results do not have; it is not read")

    def entity(self, *_: object) -> None:
        raise ResultsError(f"{self._name} defines an entity, which results do not have; it is not read")

    def starts(self, tag: str, _attributes: object) -> None:
        self._depth += 1
        self._elements += 1
        self._tests += tag == "testcase"
        _limit_tests(self._name, self._tests)
        if self._depth > MOST_DEPTH:
            raise ResultsError(f"{self._name} is nested deeper than {MOST_DEPTH} elements; it is not read")
        if self._elements > MOST_ELEMENTS:
            raise ResultsError(f"{self._name} has more than {MOST_ELEMENTS:,} elements; split the suite")

    def ends(self, _tag: str) -> None:
        self._depth -= 1
