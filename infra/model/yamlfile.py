"""YAML text to plain data, with the line of every value, and nothing that a reader of the file could misunderstand.

Owns syntax: refuses tabs, duplicate keys, aliases, explicit tags, empty and multi-document files. Does not own meaning.

Scalars resolve as in YAML 1.2, as the pulumi CLI reads them: `no` and `on` are text. Numbers that readers of YAML take
differently, such as `017` and `1_000`, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from infra.model.errors import ConfigError, Problem

YamlPath = tuple[str | int, ...]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?((0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+")
# Numbers to one reader of YAML and text or other numbers to the next: 0o17, 017, 0x1f, 1_000, .inf.
_AMBIGUOUS = re.compile(r"[-+]?(0[0-9_]+|0[xXoObB][0-9a-fA-F_]+|[0-9]+_[0-9_.]*|\.(inf|Inf|INF|nan|NaN|NAN))")
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_CORE_TAGS = "tag:yaml.org,2002:"
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))


@dataclass(frozen=True, slots=True)
class Document:
    """A mapping and where its parts stand: `lines[("config", "tidepool:pools", 0, "name")]` is a line from 1."""

    data: dict[str, Any]
    lines: Mapping[YamlPath, int]


def read(text: str, source: str) -> Document:
    """Parse one file; ConfigError with everything wrong in its syntax, `source` being how people call the file."""
    tabs = [number for number, line in enumerate(text.splitlines(), start=1) if "\t" in line]
    if tabs:
        raise ConfigError(
            Problem(f"{source}:{line}", "a tab", "YAML is laid out with spaces", "two spaces a level") for line in tabs
        )
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise ConfigError([_syntax_problem(error, source)]) from error
    except yaml.YAMLError as error:
        raise ConfigError([Problem(source, str(error), "the file is valid YAML", "plain UTF-8 text")]) from error
    if root is None:
        raise ConfigError([Problem(source, "empty", "a stack file has a config: mapping", "see docs/stack-file.md")])
    reader = _Reader(source)
    try:
        data = reader.value(root, ())
    except RecursionError as error:
        raise ConfigError([Problem(source, "nested too deeply", "a stack file is a few levels deep", "")]) from error
    if not isinstance(data, dict):
        reader.problems.append(
            Problem(f"{source}:1", type(data).__name__, "the file is one mapping of keys to values", "config: first")
        )
    if reader.problems:
        raise ConfigError(reader.problems)
    return Document(data=data, lines=reader.lines)


def _syntax_problem(error: yaml.MarkedYAMLError, source: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    subject = f"{source}:{mark.line + 1}" if mark else source
    return Problem(subject, error.problem or str(error), "the file is one valid YAML document", "mend this line")


class _Reader:
    """Turns composed nodes into plain data, noting lines and problems on the way."""

    def __init__(self, source: str) -> None:
        self.lines: dict[YamlPath, int] = {}
        self.problems: list[Problem] = []
        self._source = source
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, path: YamlPath) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if id(node) in self._seen:
            self._refuse(node, path, "an alias (*name)", "every value is written where it counts", "the value itself")
            return None
        self._seen.add(id(node))
        if not node.tag.startswith(_CORE_TAGS):
            self._refuse(node, path, node.tag, "values carry no tags of their own", "the plain value")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and not node.style and _AMBIGUOUS.fullmatch(node.value):
            rule = "YAML readers differ on this; a number is plain decimal, text like it is quoted"
            self._refuse(node, path, node.value, rule, f'a plain number, or "{node.value}"')
        return _scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: YamlPath) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(key_node, path, "a key that is no text", "keys are text", "a plain key")
                continue
            key = key_node.value
            here = (*path, key)
            if key in mapping:
                first = self.lines[here]
                rule = f"a key stands once; line {first} has it already"
                self._refuse(key_node, here, "duplicate key", rule, "one of the two lines")
                continue
            self.lines[here] = key_node.start_mark.line + 1
            mapping[key] = self.value(value_node, here)
        return mapping

    def _refuse(self, node: yaml.Node, path: YamlPath, value: str, rule: str, fix: str) -> None:
        subject = f"{self._source}:{node.start_mark.line + 1} {render(path)}"
        self.problems.append(Problem(subject, value, rule, fix))


def _scalar(node: yaml.Node) -> Any:
    text: str = node.value
    if isinstance(node, yaml.ScalarNode) and node.style:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def render(path: YamlPath) -> str:
    """A path as people write it: `tidepool:pools[0].zones.us-west4-a`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
