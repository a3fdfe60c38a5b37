"""YAML text to plain data, with the line of every value, and nothing that a reader of the file could misunderstand.

Owns syntax: tabs, characters that nobody sees, duplicate keys, aliases, merges, tags, empty and multi-document files
are refused, and secrets in clear, in comments too. Does not own meaning.

Scalars resolve as in YAML 1.2, as the pulumi CLI reads them. What YAML 1.1 takes differently, such as `no`, `017`,
`1_000` and `1:30`, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.reader import ReaderError

from infra.model.errors import ConfigError, Problem, shown
from infra.model.secret_values import secrets_in
from infra.model.visible import hidden
from infra.model.yaml_scalars import AMBIGUOUS, RESOLVER, is_out_of_range, plain, resolved, scalar

YamlPath = tuple[str | int, ...]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST = 100
"""Levels of a file, far above what any has: the C composer calls itself for each, until the stack is used up."""
_LONGEST_KEY = 1024
"""Characters, by the specification of YAML: a longer one is no key to a parser."""
# Truth, or an order to merge, to readers of YAML 1.1, and text to those of 1.2.
_WORDS_OF_1_1 = re.compile(r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|<<|=")
# A key whose colon no space follows: text to YAML, and never what was meant. No URL and no time of day looks so.
_GLUED = re.compile(r"(?P<key>[A-Za-z_][\w.-]*):(?P<value>[\w.+-]+)")
_MISLED = frozenset(("could not find expected ':'", "mapping values are not allowed in this context"))


@dataclass(frozen=True, slots=True)
class Form:
    """What a kind of file is, for the messages about one that is none: what it has, and the page about it."""

    kind: str
    content: str
    first: str
    page: str


STACK_FILE = Form(
    kind="a stack file",
    content="a config: mapping",
    first="config: with gcp:project, tidepool:owner and tidepool:bucket below it",
    page="docs/stack-file.md",
)


@dataclass(frozen=True, slots=True)
class Document:
    """A mapping and where its parts stand: `lines[("config", "tidepool:pools", 0, "name")]` is a line from 1."""

    data: dict[str, Any]
    lines: Mapping[YamlPath, int]
    problems: tuple[Problem, ...]
    """Mistakes of syntax that do not keep the rest from being read: it can be judged in the same go."""


def read(text: str, source: str, form: Form = STACK_FILE) -> Document:
    """Parse one file; ConfigError where nothing of it can be read, `source` being how people call the file."""
    problems = [*_tabs(text, source), *_secrets(text, source)]
    unseen = list(hidden(text, source))
    if unseen or any(line.lstrip(" ").startswith("\t") for line in text.split("\n")):
        raise ConfigError([*problems, *unseen])  # the layout is unknown, and with it what belongs to what
    untabbed = text.replace("\t", " ")
    try:
        tags = _tags(untabbed, _DEEPEST)
        if tags is None:
            rule, fix = f"{form.kind} is never that deep", f"the keys of {form.page}"
            raise ConfigError([Problem(source, "nested too deeply", rule, fix)])
        root = yaml.compose(untabbed, Loader=_LOADER)
    except yaml.YAMLError as error:
        raise ConfigError([*problems, _syntax_problem(error, text, source)]) from error
    if root is None:
        rule, fix = f"{form.kind} has {form.content}", f"{form.first} (see {form.page})"
        raise ConfigError([Problem(source, "empty", rule, fix)])
    reader = _Reader(source, tags)
    data = reader.value(root, ())
    said = {(problem.subject, problem.value) for problem in problems}
    problems += (each for each in reader.problems if (each.subject.partition(" ")[0], each.value) not in said)
    if not isinstance(data, dict):
        rule = "not one mapping of keys to values"
        raise ConfigError([*problems, Problem(f"{source}:1", type(data).__name__, rule, form.first)])
    return Document(data=data, lines=reader.lines, problems=tuple(problems))


def decoded(content: bytes, source: str) -> str:
    """The text of a file; ConfigError where it is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        value, rule = f"byte 0x{content[error.start]:02x}", "not UTF-8 text"
        raise ConfigError([Problem(f"{source}:{line}", value, rule, "save it as UTF-8")]) from error


def _tags(text: str, levels: int) -> dict[tuple[int, bool], str] | None:
    """The written tags by where their nodes start, which nodes do not keep, and whether these are scalars.

    None where a text nests beyond `levels`. Reads no further than that. Raises YAMLError up to there.
    """
    depth, tags = 0, {}
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > levels:
            return None
        if (tag := getattr(event, "tag", None)) is not None:
            tags[event.start_mark.index, isinstance(event, yaml.ScalarEvent)] = tag.replace("tag:yaml.org,2002:", "!!")
    return tags


def _tabs(text: str, source: str) -> Iterator[Problem]:
    for number, line in enumerate(text.split("\n"), start=1):
        if "\t" in line:
            yield Problem(f"{source}:{number}", "a tab", "a tab, where YAML takes spaces alone", "two spaces a level")


def _secrets(text: str, source: str) -> Iterator[Problem]:
    """Of each line, whatever part of it is a comment."""
    for number, line in enumerate(text.split("\n"), start=1):
        for what in secrets_in(line):
            yield secret_problem(f"{source}:{number}", what)


def secret_problem(subject: str, what: str) -> Problem:
    """A secret in clear; what: its kind. Its value is never repeated."""
    rule = "a secret in a file of the repository: whoever can read the file has it"
    return Problem(
        subject, f"this is like {what}", rule, "remove it, revoke it, and put the new one into Secret Manager"
    )


def _syntax_problem(error: yaml.YAMLError, text: str, source: str) -> Problem:
    rule = "not one valid YAML document"
    if isinstance(error, ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return Problem(f"{source}:{line}", f"{error.reason} (#x{error.character:04x})", rule, "remove the character")
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    subject = f"{source}:{mark.line + 1}" if mark else source
    said = getattr(error, "problem", None) or str(error)
    if mark and said in _MISLED and (glued := _glued_before(mark.line, text)):
        return _glued_problem(f"{source}:{glued[0]}", glued[1])
    if mark and said in _MISLED and len(text.split("\n")[mark.line]) > _LONGEST_KEY:
        return Problem(subject, said, f"a key has more than {_LONGEST_KEY:,} characters", "a shorter key")
    return Problem(subject, said, rule, "mend this line")


def _glued_before(index: int, text: str) -> tuple[int, re.Match[str]] | None:
    """The last line with content before the one of that index, if it is a key without a space: YAML misses it there."""
    for number, line in reversed(list(enumerate(text.splitlines()[:index], start=1))):
        content = line.partition(" #")[0].strip()
        if content and not content.startswith("#"):
            found = _GLUED.fullmatch(content.removeprefix("- ").lstrip())
            return (number, found) if found else None
    return None


def _glued_problem(subject: str, found: re.Match[str]) -> Problem:
    rule = "no space after the colon, so that the line is text"
    return Problem(subject, found[0], rule, f"{found['key']}: {found['value']}")


class _Reader:
    """Turns composed nodes into plain data, noting lines and problems on the way."""

    def __init__(self, source: str, tags: Mapping[tuple[int, bool], str]) -> None:
        self.lines: dict[YamlPath, int] = {}
        self.problems: list[Problem] = []
        self._source = source
        self._tags = tags
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, path: YamlPath) -> Any:
        if id(node) in self._seen:
            # The node is the anchor's, and so is its mark: the nearest line that is this value's own is its parent's.
            line = self.lines.get(path) or self.lines[path[:-1]]
            self._refuse(line, path, "an alias (*name)", "a value is written where it counts", "the value itself")
            return None
        self._seen.add(id(node))
        line = self.lines.setdefault(path, node.start_mark.line + 1)
        if tag := self._tags.get((node.start_mark.index, isinstance(node, yaml.ScalarNode))):
            self._refuse(line, path, tag, "a tag, and values carry none", "the plain value")
        elif isinstance(node, yaml.ScalarNode):
            self._refuse_ambiguous(node, line, path)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return scalar(node)

    def _refuse_ambiguous(self, node: yaml.ScalarNode, line: int, path: YamlPath) -> None:
        """Plain text that YAML readers take differently, and secrets that only their escapes hid."""
        if not node.style and is_out_of_range(node.value):
            rule = "YAML readers differ on a number of this size"
            self._refuse(line, path, shown(node.value), rule, "a smaller number, or quotes where text is meant")
        elif not node.style and AMBIGUOUS.fullmatch(node.value):
            rule = "YAML readers differ on this number"
            self._refuse(line, path, node.value, rule, f'{plain(node.value)}, or "{node.value}" where text is meant')
        if not node.style and _WORDS_OF_1_1.fullmatch(node.value):
            rule = "YAML readers differ on this word"
            self._refuse(line, path, node.value, rule, f'"{node.value}", or true or false where that is meant')
        for what in secrets_in(node.value):
            self.problems.append(secret_problem(self._subject(line, path), what))

    def _glued(self, node: yaml.ScalarNode, first: int, path: YamlPath) -> dict[str, Any] | None:
        """What lines of `key:value` below a key were meant to be, each refused; None where it is other text."""
        found = [_GLUED.fullmatch(line) for line in node.value.split()]
        mapping: dict[str, Any] = {}
        for line, match in enumerate(found, start=first):
            if match is None:
                return None
            here = (*path, match["key"])
            self.lines[here] = line
            self.problems.append(_glued_problem(f"{self._source}:{line} {render(below_config(here))}", match))
            mapping[match["key"]] = scalar(yaml.ScalarNode(node.tag, match["value"]))
        return mapping

    def _mapping(self, node: yaml.MappingNode, path: YamlPath) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(line, path, "a key that is not text", "the key is not text", "a plain key")
                continue
            if id(key_node) in self._seen:
                # The mark is the anchor's; the value's own line is the nearest.
                line = value_node.start_mark.line + 1
                self._refuse(
                    line,
                    path,
                    "an alias (*name) as a key",
                    "a key is written where it counts",
                    "the key",
                )
                continue
            self._seen.add(id(key_node))
            if not key_node.style and resolved(key_node) != RESOLVER.DEFAULT_SCALAR_TAG:
                rule = "YAML readers differ on keys that are not text"
                self._refuse(line, (*path, key_node.value), "a key that is not text", rule, f'"{key_node.value}"')
            elif tag := self._tags.get((key_node.start_mark.index, True)):
                self._refuse(line, (*path, key_node.value), tag, "a tag on a key, and keys carry none", "the plain key")
            key = key_node.value
            here = (*path, key)
            if key in mapping:
                first = self.lines[here]
                rule = f"line {first} has this key already"
                self._refuse(line, here, "duplicate key", rule, "one of the two lines")
                continue
            self.lines[here] = line
            below = (
                isinstance(value_node, yaml.ScalarNode) and not value_node.style and value_node.start_mark.line >= line
            )
            glued = self._glued(value_node, value_node.start_mark.line + 1, here) if below else None
            mapping[key] = self.value(value_node, here) if glued is None else glued
        return mapping

    def _refuse(self, line: int, path: YamlPath, value: str, rule: str, fix: str) -> None:
        self.problems.append(Problem(self._subject(line, path), value, rule, fix))

    def _subject(self, line: int, path: YamlPath) -> str:
        return f"{self._source}:{line} {render(below_config(path))}".rstrip()


def below_config(path: YamlPath) -> YamlPath:
    """The path as Pulumi and people call it: from its namespaced key on, without the `config` that all keys share."""
    return path[1:] if len(path) > 1 and path[0] == "config" else path


def render(path: YamlPath) -> str:
    """A path as people write it: `tidepool:pools[0].zones.us-west4-a`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def subject(source: str, lines: Mapping[YamlPath, int], path: YamlPath) -> str:
    """Where a path stands, for people: file, line of the nearest part that is written, and the path."""
    known = path
    while known and known not in lines:
        known = known[:-1]
    line = f":{lines[known]}" if known in lines else ""
    return f"{source}{line} {render(path)}".rstrip()
