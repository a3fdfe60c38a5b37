"""A plugin for the pytest of a consumer repository: which tests there are, and with which markers. Runs there alone.

Needs nothing but pytest, so that this one file is enough. It collects, runs no test, and writes in the list the tests
below the paths that were given anew; those of other packages stay, so that each is collected where it can be imported:

    cd lib/levanter && PYTHONPATH=TIDEPOOL/workflows/collect uv run pytest -p tidepool_markers \\
        --collect-only -q -o addopts= --tidepool-tests TIDEPOOL/workflows/spec/marin.tests tests

`-o addopts=` matters: a `-m` there would hide tests from the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PYTESTS_OWN = frozenset(
    ("filterwarnings", "parametrize", "skip", "skipif", "tryfirst", "trylast", "usefixtures", "xfail")
)
"""Markers that say how a test runs, and not which tests there are."""


def pytest_addoption(parser: Any) -> None:
    parser.addoption(
        "--tidepool-tests", metavar="FILE", help="the list of tests to write, of Tidepool's workflows/spec"
    )


def pytest_collection_finish(session: Any) -> None:
    file = session.config.getoption("--tidepool-tests")
    if file and not session.testsfailed:
        write(Path(file), session)


def write(file: Path, session: Any) -> None:
    """Put the session's tests into the list, in place of those below the paths that pytest was given."""
    config = session.config
    here = Path(config.invocation_params.dir)
    top = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    given = [(here / argument.partition("::")[0]).resolve().relative_to(top.resolve()) for argument in config.args]
    before = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    declared = {line.partition(":")[0].partition("(")[0].strip() for line in config.getini("markers")} - PYTESTS_OWN
    for line in before:
        if line.startswith("markers:"):
            declared |= set(line.split()[1:])
    found = {path: tests for path, tests in _listed(before) if not any(_below(Path(path), each) for each in given)}
    for item in session.items:
        path = item.path.resolve().relative_to(top.resolve()).as_posix()
        found.setdefault(path, set()).add(_line(item))
    day = datetime.now(UTC).date().isoformat()
    paths = " ".join(each.as_posix() for each in given)
    header = [line for line in before if line.startswith("#")]
    header = [line for line in header if not line.startswith(f"# collected {paths} ")]
    header.append(f"# collected {paths} by pytest on {day}")
    lines = [*header, "", " ".join(("markers:", *sorted(declared)))]
    for path in sorted(found):
        lines += [path, *sorted(found[path])]
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _line(item: Any) -> str:
    """The test without its parameters, and its markers."""
    classes = [each.name for each in item.listchain() if type(each).__name__ in {"Class", "UnitTestCase"}]
    name = "::".join([*classes, getattr(item, "originalname", None) or item.name])
    markers = sorted({mark.name for mark in item.iter_markers()} - PYTESTS_OWN)
    return " ".join((f"  {name}", *markers))


def _listed(lines: list[str]) -> Iterator[tuple[str, set[str]]]:
    """The files of a list as it stands, with the lines of their tests."""
    path, tests = "", set[str]()
    for line in lines:
        if line.startswith("  "):
            tests.add(line)
        elif line.strip() and not line.startswith(("#", "markers:")):
            if path:
                yield path, tests
            path, tests = line.strip(), set()
    if path:
        yield path, tests


def _below(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents or folder == Path()
