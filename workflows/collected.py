"""The tests of a consumer repository with their markers: `workflows/spec/NAME.tests`, one test a line below its file.

Owns the file's form. Who fills it is pytest in the consumer repository (`workflows/collect/tidepool_markers.py`), or
`workflows.collect.static` where nothing can be installed. Which tests should run where is `workflows.coverage`'s.

    markers: entry ray slow tpu_ci
    lib/levanter/tests/test_text.py
      test_tokenizes
      TestCache::test_many_shards ray slow
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from infra.model.errors import ConfigError, Problem

FOLDER: Final = Path("workflows/spec")
ENDING: Final = ".tests"
_DECLARED: Final = "markers:"
_FIX: Final = "the list anew, as docs/workflows.md says"


@dataclass(frozen=True, slots=True, order=True)
class Test:
    """One test function, by its file from the top of the repository; in a class it is `Class::function`."""

    __test__ = False

    path: str
    name: str
    markers: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.path}::{self.name}"

    @property
    def said(self) -> str:
        """Its markers for people."""
        return f"marked {', '.join(sorted(self.markers))}" if self.markers else "without a marker"


@dataclass(frozen=True, slots=True)
class Collected:
    """tests: sorted; one whose parameters are marked unlike stands once for each set. declared: pytest's `markers`."""

    tests: tuple[Test, ...]
    declared: frozenset[str]


def load_collected(root: Path, spec: str) -> Collected | None:
    """The list of a specification, None where it has none; ConfigError with every line that is wrong."""
    path = root / FOLDER / f"{spec}{ENDING}"
    return read_collected(path.read_text(encoding="utf-8"), f"{FOLDER}/{spec}{ENDING}") if path.is_file() else None


def read_collected(text: str, source: str) -> Collected:
    """The list that `text` is; ConfigError with every line that is wrong."""
    found: list[Test] = []
    problems: list[Problem] = []
    declared: frozenset[str] | None = None
    path = ""
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if line[0] == " ":
            if not path:
                problems.append(Problem(f"{source}:{number}", line.strip(), "a test stands below its file", _FIX))
            found.append(Test(path, words[0], frozenset(words[1:])))
        elif words[0] == _DECLARED:
            declared = frozenset(words[1:])
        elif len(words) == 1:
            path = words[0]
        else:
            problems.append(Problem(f"{source}:{number}", line, "a line is a file, or a test and its markers", _FIX))
    if declared is None:
        problems.append(Problem(source, "", "the list says which markers pytest knows", "markers: slow ..."))
    if problems:
        raise ConfigError(problems)
    return Collected(tuple(sorted(set(found), key=_order)), declared or frozenset())


def written(collected: Collected, header: Iterable[str]) -> str:
    """The list's text. header: lines of comment: from where, at which commit, on which day, how."""
    return "\n".join([*(f"# {line}".rstrip() for line in header), "", *_lines(collected), ""])


def _lines(collected: Collected) -> Iterator[str]:
    yield " ".join((_DECLARED, *sorted(collected.declared)))
    for path, tests in groupby(sorted(set(collected.tests), key=_order), key=lambda test: test.path):
        yield path
        yield from (" ".join((f"  {test.name}", *sorted(test.markers))) for test in tests)


def _order(test: Test) -> tuple[str, str, list[str]]:
    return test.path, test.name, sorted(test.markers)
