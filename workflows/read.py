"""Any workflow file as plain data with positions, as GitHub reads it: `on` is text, and an alias its anchor's value.

Owns syntax. Leaves what the data means to its callers. Scalars resolve by the core schema of YAML 1.2, as in
https://github.com/actions/runner/blob/main/src/Sdk/WorkflowParser/Conversion/YamlObjectReader.cs (read 2026-11-21).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import yaml
from yaml.reader import ReaderError

from infra.model.errors import ConfigError, Problem
from infra.model.yamlfile import render
from workflows.dump import Path

_NULLS = frozenset(("", "null", "Null", "NULL", "~"))
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o(?P<octal>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"(?P<sign>[-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
DEEPEST, MOST_NODES = 100, 50_000
"""Bounds for files that hold themselves, or repeat themselves into one another, by aliases."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Where a value stands in its file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class WorkflowFile:
    """A file's data, and where each key or list entry of it stands; a block's text begins on a line of its own."""

    source: str
    data: Mapping[str, Any]
    positions: Mapping[Path, Position]
    values: Mapping[Path, Position]
    """Where the value itself begins, for a position within its text."""

    def where(self, path: Path) -> str:
        """A subject for a Problem: `.github/workflows/tests.yaml:12 jobs.test.if`."""
        known = path
        while known and known not in self.positions:
            known = known[:-1]
        line = self.positions[known].line
        return f"{self.source}:{line} {render(path)}".rstrip()


def read(text: str, source: str) -> WorkflowFile:
    """Parse one file; ConfigError with what keeps it from being read."""
    try:
        root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError([_syntax(error, text, source)]) from error
    reader = _Reader(source)
    data = reader.value(root, ()) if root is not None else None
    if reader.problems:
        raise ConfigError(reader.problems)
    if not isinstance(data, dict):
        raise ConfigError([Problem(f"{source}:1", "", "not a mapping", "name, on and jobs")])
    return WorkflowFile(source, data, reader.positions, reader.values)


def read_file(path: FilePath, root: FilePath) -> WorkflowFile:
    """A file below `root`, named by its path from there; ConfigError where it is no text or no workflow."""
    source = str(path.relative_to(root))
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError([Problem(source, str(error), "not text in UTF-8", "save the file as UTF-8")]) from error
    return read(text, source)


def _syntax(error: Exception, text: str, source: str) -> Problem:
    rule = "not one valid YAML document"
    if isinstance(error, ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return Problem(f"{source}:{line}", f"{error.reason} (#x{error.character:04x})", rule, "remove the character")
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    said = getattr(error, "problem", None) or str(error)
    return Problem(f"{source}:{mark.line + 1}" if mark else source, said, rule, "mend this line")


class _Reader:
    """Turns composed nodes into plain data, noting positions and problems on the way."""

    def __init__(self, source: str) -> None:
        self.positions: dict[Path, Position] = {}
        self.values: dict[Path, Position] = {}
        self.problems: list[Problem] = []
        self._source = source
        self._open: list[int] = []
        self._nodes = 0

    def value(self, node: yaml.Node, path: Path) -> Any:
        here = Position(node.start_mark.line + 1, node.start_mark.column + 1)
        self.values[path] = here
        self.positions.setdefault(path, here)
        self._nodes += 1
        if id(node) in self._open or len(self._open) > DEEPEST or self._nodes > MOST_NODES:
            rule = f"deeper than {DEEPEST} levels or longer than {MOST_NODES:,} values, aliases followed"
            self._refuse(path, "", rule, "fewer values and levels")
            raise ConfigError(self.problems)
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        self._open.append(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        finally:
            self._open.pop()

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(path, "a key that is not text", "the key is not text", "a plain key")
                continue
            here = (*path, key_node.value)
            if key_node.value in mapping:
                rule = f"line {self.positions[here].line} has this key already"
                line = key_node.start_mark.line + 1
                self.problems.append(Problem(f"{self._source}:{line} {render(here)}", "", rule, "one of the two"))
                continue
            self.positions[here] = Position(key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            mapping[key_node.value] = self.value(value_node, here)
        return mapping

    def _refuse(self, path: Path, value: str, rule: str, fix: str) -> None:
        line = self.positions[path].line
        self.problems.append(Problem(f"{self._source}:{line} {render(path)}".rstrip(), value, rule, fix))


def _scalar(node: yaml.ScalarNode) -> Any:
    text = node.value
    if node.style:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text):
        return int(text)
    if other := _OTHER_BASE.fullmatch(text):
        return int(other["octal"], 8) if other["octal"] else int(other["hex"], 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    if found := _NOT_FINITE.fullmatch(text):
        return float("nan") if found["sign"] is None else float(f"{found['sign']}inf")
    return text
