"""Edits of a workflow file's own text that can be taken back: a suffix on names, and a start by hand alone.

Owns where the suffix stands in a file, and what is put before and in place of lines. Leaves which files are edited to
`workflows.legacy`. The rest of a file, its comments and its layout with it, stays as somebody wrote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from workflows.dump import Path
from workflows.read import WorkflowFile, read

SUFFIX: Final = "-legacy"

_NOTE = "# legacy: "
_PUT_BY = "#legacy# "
_BY_HAND = " # legacy"
_FOLLOWED = ("on", "workflow_run", "workflows")


@dataclass(frozen=True, slots=True)
class Renamed:
    """What has the suffix elsewhere, too: names of workflows, and names of files below .github/workflows."""

    names: Collection[str]
    files: Collection[str]


@dataclass(frozen=True, slots=True)
class _Word:
    """A value: where it stands, and the index behind its last character."""

    path: Path
    value: str
    end: int


def suffixed_file(file: str) -> str:
    """`tests-legacy.yaml` of `tests.yaml`."""
    stem, dot, ending = file.rpartition(".")
    return f"{stem}{SUFFIX}{dot}{ending}"


def suffixed(text: str, scope: Renamed) -> str:
    """The file as a copy beside the new one: its name, its concurrency groups and what it names of `scope` differ."""
    found = [word for word in _words(text) if _is_own(word.path) or _is_followed(word, scope.names)]
    edited = _edited(text, ((word.end, word.end, SUFFIX) for word in found))
    return _files(scope.files).sub(lambda file: suffixed_file(file[0]), edited)


def unsuffixed(text: str, scope: Renamed) -> str:
    """The file as it was before `suffixed` with the same scope."""
    names = {name + SUFFIX for name in scope.names}
    found = [word for word in _words(text) if _is_own(word.path) or _is_followed(word, names)]
    edits = ((word.end - len(SUFFIX), word.end, "") for word in found if word.value.endswith(SUFFIX))
    before = {suffixed_file(file): file for file in scope.files}
    return _files(before).sub(lambda file: before[file[0]], _edited(text, edits))


def noted(text: str, *lines: str) -> str:
    """The file with lines above it that `unnoted` takes away."""
    return "".join(f"{_NOTE}{line}\n" for line in lines) + text


def unnoted(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_NOTE))


def by_hand(text: str, source: str) -> str:
    """The file started by hand alone, with the inputs that it had; what started it before stands in comments."""
    file = read(text, source)
    lines = text.splitlines(keepends=True)
    first = file.positions["on",].line - 1
    end = _end(file, lines, first)
    put_by = [f"{_PUT_BY}{line}" for line in lines[first:end]]
    return "".join([*lines[:first], f"on: {_dispatch(file.data['on'])}{_BY_HAND}\n", *put_by, *lines[end:]])


def not_by_hand(text: str) -> str:
    """The file as it was before `by_hand`."""
    lines = text.splitlines(keepends=True)
    return "".join(
        line.removeprefix(_PUT_BY)
        for line in lines
        if not (line.startswith("on: ") and line.rstrip("\r\n").endswith(_BY_HAND))
    )


def _end(file: WorkflowFile, lines: list[str], first: int) -> int:
    """Behind the last line of `on`: before the next key, and before the comment and the blank lines above that."""
    later = [file.positions[key,].line - 1 for key in file.data if file.positions[key,].line - 1 > first]
    end = min(later, default=len(lines))
    while end > first + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return end


def _dispatch(on: Any) -> str:
    inputs = on.get("workflow_dispatch") if isinstance(on, Mapping) else None
    return json.dumps({"workflow_dispatch": inputs}) if inputs else "workflow_dispatch"


def _is_own(path: Path) -> bool:
    """Whether the value is the file's own name, or a group that a job of the new file could be in, too."""
    if path == ("name",):
        return True
    inside = path[2:] if path[:1] == ("jobs",) else path
    return inside in {("concurrency",), ("concurrency", "group")}


def _is_followed(word: _Word, names: Collection[str]) -> bool:
    return word.path[:3] == _FOLLOWED and word.value in names


def _words(text: str) -> list[_Word]:
    """Every value that may have the suffix, each place once, though an alias may lead there, too."""
    found: dict[int, _Word] = {}
    for path, node in _scalars(yaml.compose(text, Loader=yaml.SafeLoader), ()):
        mark = node.end_mark
        if mark is not None and (_is_own(path) or path[:3] == _FOLLOWED):
            behind = _behind(text, node, mark.index)
            if behind is not None:
                found.setdefault(behind, _Word(path, node.value.rstrip("\n"), behind))
    return list(found.values())


def _behind(text: str, node: yaml.ScalarNode, end: int) -> int | None:
    """The index behind the last character of a value; None where nothing is written."""
    if node.style in {"|", ">"}:
        return len(text[:end].rstrip())
    if node.style:
        return end - 1
    return end if node.value else None


def _scalars(node: yaml.Node | None, path: Path) -> Iterator[tuple[Path, yaml.ScalarNode]]:
    if isinstance(node, yaml.ScalarNode):
        yield path, node
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _scalars(value, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _scalars(value, (*path, index))


def _edited(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    for start, end, instead in sorted(edits, reverse=True):
        text = text[:start] + instead + text[end:]
    return text


def _files(names: Collection[str]) -> re.Pattern[str]:
    """Any of the files where its name stands by itself or in the folder of workflows: in a filter, a call, a script."""
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    any_of_them = "|".join(map(re.escape, longest_first)) or "(?!)"
    return re.compile(rf"(?:(?<=\.github/workflows/)|(?<![\w./-]))(?:{any_of_them})(?![\w-]|\.\w)")
