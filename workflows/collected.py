"""The tests of a consumer repository with their markers: `workflows/spec/NAME.tests`, one test a line below its file.

Owns the file's form. Who fills it is pytest in the consumer repository (`workflows/collect/tidepool_markers.py`), or
`read_checkout` where nothing can be installed. Which tests should run where is `workflows.coverage`'s.

    markers: entry ray slow tpu_ci
    lib/levanter/tests/test_text.py
      test_tokenizes
      TestCache::test_many_shards ray slow
"""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from infra.model.errors import ConfigError, Problem
from workflows.collect.tidepool_markers import PYTESTS_OWN

FOLDER: Final = Path("workflows/spec")
ENDING: Final = ".tests"
_DECLARED: Final = "markers:"
_FIX: Final = "the list anew, as docs/workflows.md says"
_FILE = re.compile(r"(test_.*|.*_test)\.py")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


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
                problems.append(Problem(f"{source}:{number}", line.strip(), "a test without its file above it", _FIX))
            found.append(Test(path, words[0], frozenset(words[1:])))
        elif words[0] == _DECLARED:
            declared = frozenset(words[1:])
        elif len(words) == 1:
            path = words[0]
        else:
            problems.append(Problem(f"{source}:{number}", line, "neither a file nor a test with its markers", _FIX))
    if declared is None:
        problems.append(Problem(source, "", "the list does not say which markers pytest knows", "markers: slow ..."))
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


class UnreadableFileError(Exception):
    """A file of the checkout that is not what its name says."""


@contextmanager
def _reading(file: Path) -> Generator[None]:
    try:
        yield
    except (SyntaxError, ValueError, configparser.Error) as error:
        raise UnreadableFileError(f"{file} cannot be read: {error}") from error


def read_checkout(root: Path, folders: Iterable[str]) -> Collected:
    """The tests below some folders of a checkout, and the markers that the packages' configuration declares."""
    tests: set[Test] = set()
    declared: set[str] = set()
    for folder in sorted(set(folders)):
        declared |= _declared(root, folder)
        base = root / folder
        for file in sorted(base.rglob("*.py")) if base.is_dir() else ():
            if _FILE.fullmatch(file.name):
                with _reading(file):
                    tests |= set(read_module(file.read_text(encoding="utf-8"), file.relative_to(root).as_posix()))
    return Collected(tuple(sorted(tests, key=lambda test: (str(test), sorted(test.markers)))), frozenset(declared))


def read_module(text: str, path: str) -> Iterator[Test]:
    """The tests of one file; a test with marked parameters once for each set of markers."""
    module = ast.parse(text, path)
    named = _named(module)
    own = _assigned(module.body, named)
    for node in module.body:
        if isinstance(node, _Function) and node.name.startswith("test"):
            yield from _tests(node, path, node.name, own, named)
        elif isinstance(node, ast.ClassDef) and _is_test_class(node):
            yield from _of_class(node, path, "", own, named)


def _of_class(
    node: ast.ClassDef, path: str, above: str, around: frozenset[str], named: Mapping[str, frozenset[str]]
) -> Iterator[Test]:
    name = f"{above}{node.name}::"
    markers = around | _all(node.decorator_list, named) | _assigned(node.body, named)
    for inner in node.body:
        if isinstance(inner, _Function) and inner.name.startswith("test"):
            yield from _tests(inner, path, f"{name}{inner.name}", markers, named)
        elif isinstance(inner, ast.ClassDef) and _is_test_class(inner):
            yield from _of_class(inner, path, name, markers, named)


def _tests(
    node: _Function, path: str, name: str, around: frozenset[str], named: Mapping[str, frozenset[str]]
) -> Iterator[Test]:
    markers = around | _all(node.decorator_list, named)
    sets = {markers}
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and _marker(decorator.func) == "parametrize" and len(decorator.args) > 1:
            values = decorator.args[1]
            entries = values.elts if isinstance(values, ast.List | ast.Tuple) else []
            if entries:
                sets = {each | _of_parameter(entry, named) for each in sets for entry in entries}
    for each in sets:
        yield Test(path, name, each - PYTESTS_OWN)


def _of_parameter(entry: ast.expr, named: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The markers of `pytest.param(..., marks=...)`."""
    for keyword in entry.keywords if isinstance(entry, ast.Call) else ():
        if keyword.arg == "marks":
            return _markers(keyword.value, named)
    return frozenset()


def _is_test_class(node: ast.ClassDef) -> bool:
    if any(ast.unparse(base).endswith("TestCase") for base in node.bases):
        return True
    makes = any(isinstance(inner, _Function) and inner.name == "__init__" for inner in node.body)
    return node.name.startswith("Test") and not makes


def _named(module: ast.Module) -> dict[str, frozenset[str]]:
    """Names that the file gives to markers: `slow = pytest.mark.slow`."""
    found: dict[str, frozenset[str]] = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            markers = _markers(node.value, found)
            if markers:
                found[node.targets[0].id] = markers
    return found


def _assigned(body: Iterable[ast.stmt], named: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """What `pytestmark` gives to everything beside it."""
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in targets):
            return _markers(node.value, named) if isinstance(node, ast.Assign) else frozenset()
    return frozenset()


def _all(nodes: Iterable[ast.expr], named: Mapping[str, frozenset[str]]) -> frozenset[str]:
    return frozenset(name for node in nodes for name in _markers(node, named))


def _markers(node: ast.expr, named: Mapping[str, frozenset[str]]) -> frozenset[str]:
    if isinstance(node, ast.List | ast.Tuple):
        return _all(node.elts, named)
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Name):
        return named.get(node.id, frozenset())
    marker = _marker(node)
    return frozenset((marker,)) if marker else frozenset()


def _marker(node: ast.expr) -> str:
    """The name in `pytest.mark.NAME` or `mark.NAME`; empty for anything else."""
    if not isinstance(node, ast.Attribute):
        return ""
    return node.attr if ast.unparse(node.value) in {"pytest.mark", "mark"} else ""


def _declared(root: Path, folder: str) -> set[str]:
    """The markers that the nearest pytest configuration above a folder declares."""
    for place in (root / folder, *(root / folder).parents):
        for lines in _configurations(place):
            return {line.partition(":")[0].partition("(")[0].strip() for line in lines if line.strip()} - PYTESTS_OWN
        if place == root:
            break
    return set()


def _configurations(place: Path) -> Iterator[list[str]]:
    """What each configuration of pytest in a folder says of markers, in the order in which pytest looks."""
    ini = place / "pytest.ini"
    if ini.is_file():
        parser = configparser.ConfigParser(interpolation=None)
        with _reading(ini):
            parser.read_string(ini.read_text(encoding="utf-8"))
        if parser.has_section("pytest"):
            yield parser["pytest"].get("markers", "").splitlines()
    project = place / "pyproject.toml"
    if project.is_file():
        with _reading(project):
            whole = tomllib.loads(project.read_text(encoding="utf-8"))
        options = whole.get("tool", {}).get("pytest", {}).get("ini_options")
        if options is not None:
            yield list(options.get("markers", []))
