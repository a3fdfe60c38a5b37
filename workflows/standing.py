"""Generated files that are not as they should be: against what stands in a checkout, and after an edit. Pure.

Owns the comparison and its words. Leaves what is generated to `workflows.outputs`, and the texts of a checkout or of a
version of the repository to the commands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import Any, Final

from infra.model import yamlfile
from infra.model.errors import Problem
from workflows.dump import is_sealed, unsealed
from workflows.outputs import Outputs

GENERATED: Final = ("# Generated ", '{\n "$comment": "Generated ')
"""How every generated file begins: YAML and JSON."""
_MOST: Final = 3
"""Differences of one file that are told one by one."""
_LONGEST: Final = 60
"""Characters of a value that are shown."""
_BEFORE: Final = 12
"""Characters before the first difference of two long values that are shown with it."""
_JSON: Final = re.compile(r"'([{\[](?:[^']|'')*)'")
"""A list or an object in a text of an expression."""
_NAMES: Final = ("name", "id", "job", "uses", "run")
"""Keys that say what an item is, such as a step or a demand."""
Stands = Callable[[str, str], bool]
"""Whether a file of that path has that text in the version that is judged."""


class FileState(StrEnum):
    MISSING = "missing"
    STALE = "stale"
    EDITED = "edited by hand"
    ORPHAN = "without a source"
    STRAY = "stray"


@dataclass(frozen=True, slots=True, order=True)
class Off:
    """A file that is not as it should be. why: what differs, or what is the matter. mend: the one command."""

    path: str
    state: FileState
    why: tuple[str, ...]
    mend: str


def compare(
    wanted: Mapping[str, str], stands: Mapping[str, str], *, write: str, known: Collection[str] = ()
) -> tuple[Off, ...]:
    """Every file that is off, by path.

    stands: every file of the folders that generated ones are in. known: files by hand that belong there. write: the
    command that writes what is wanted, and removes what has no source.
    """
    return tuple(sorted(_off(wanted, stands, write, known)))


def _off(wanted: Mapping[str, str], stands: Mapping[str, str], write: str, known: Collection[str]) -> Iterator[Off]:
    for path, text in wanted.items():
        if path not in stands:
            yield Off(path, FileState.MISSING, ("it is generated, and not there",), write)
        elif stands[path] != text:
            yield Off(path, *_differing(stands[path], text), write)
    for path, text in stands.items():
        if path in wanted or path in known:
            continue
        if text.startswith(GENERATED):
            edited = " (and it was edited by hand)" if _is_edited(text) else ""
            yield Off(path, FileState.ORPHAN, (f"nothing makes it any more{edited}",), write)
        else:
            said = "it is neither generated nor kept: no specification names it"
            yield Off(path, FileState.STRAY, (said,), f"git rm {path}, or name it under kept")


def _differing(stands: str, text: str) -> tuple[FileState, tuple[str, ...]]:
    if not stands.startswith(GENERATED):
        return FileState.EDITED, ("a file by hand stands in its place",)
    why = tuple(differences(unsealed(stands), unsealed(text)))
    return (FileState.EDITED if _is_edited(stands) else FileState.STALE), why


def _is_edited(text: str) -> bool:
    """Whether somebody changed it after it was generated; what has no digest is not known to be."""
    return unsealed(text) != text and not is_sealed(text)


@dataclass(frozen=True, slots=True, order=True)
class Stale:
    """A generated file that is not what the stacks now give. why: what differs, each as `path was -> becomes`."""

    path: str
    why: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.path}: {'; '.join(self.why)}"


def stale(before: Outputs, after: Outputs, stands: Stands) -> tuple[Stale, ...]:
    """The files that the edit leaves behind, by path.

    before, after: what the generator gives with the stacks of both versions. stands: of the version that is judged.
    """
    found: list[Stale] = []
    for path in sorted(before.texts.keys() | after.texts.keys()):
        was, becomes = before.texts.get(path), after.texts.get(path)
        if was == becomes or after.hides(path):
            continue
        if becomes is None:
            if was is not None and stands(path, was):
                found.append(Stale(path, ("nothing makes it any more",)))
        elif not stands(path, becomes):
            found.append(Stale(path, tuple(differences(was, becomes)) if was is not None else ("it is new",)))
    new = {source: why for source, why in after.problems.items() if before.problems.get(source) != why}
    found += [Stale(source, (f"cannot be generated: {_said(why)}",)) for source, why in new.items()]
    return tuple(sorted(found))


def _said(problems: Iterable[Problem]) -> str:
    return "; ".join(": ".join(filter(None, (each.subject, each.value, each.rule))) for each in problems)


def differences(was: str, becomes: str) -> Iterator[str]:
    """What differs between two texts of a file, the first few one by one."""
    found = list(_differences(_data(was), _data(becomes), ()))
    if not found:
        told, tells = list(_comments(was)), list(_comments(becomes))
        found = [f"a comment: {line}" for line in tells if line not in told]
        found = found or [f"without a comment: {line}" for line in told if line not in tells] or ["its layout"]
    yield from found[:_MOST]
    if len(found) > _MOST:
        yield f"and {len(found) - _MOST} more"


def _data(text: str) -> Any:
    return yamlfile.read(text, "").data


def _comments(text: str) -> Iterator[str]:
    """Without the digest at the end, which differs in any case."""
    return (line.strip().lstrip("# ") for line in unsealed(text).splitlines() if line.strip().startswith("#"))


def _listing(value: Any) -> bool:
    """Whether it is a list of plain values."""
    return isinstance(value, list) and not any(isinstance(each, Mapping | list) for each in value)


def _differences(was: Any, becomes: Any, path: yamlfile.YamlPath) -> Iterator[str]:
    if isinstance(was, Mapping) and isinstance(becomes, Mapping):
        for key in dict.fromkeys((*was, *becomes)):
            yield from _differences(was.get(key), becomes.get(key), (*path, key))
    elif isinstance(was, list) and isinstance(becomes, list) and len(was) == len(becomes) and not _listing(was):
        for index, (one, other) in enumerate(zip(was, becomes, strict=True)):
            yield from _differences(one, other, (*path, index))
    elif was != becomes and _listing(was) and _listing(becomes) and set(was) != set(becomes):
        gone, new = (sorted(map(str, some)) for some in (set(was) - set(becomes), set(becomes) - set(was)))
        said = [f"{verb} {', '.join(some)}" for verb, some in (("without", gone), ("with", new)) if some]
        yield f"{yamlfile.render(path)} {' and '.join(said)}"
    elif isinstance(was, list) and isinstance(becomes, list) and not (_listing(was) and _listing(becomes)):
        one, other = [_called(each) for each in was], [_called(each) for each in becomes]
        yield from _differences(one, other, path)
        for index, name in enumerate(other):
            if one.count(name) == other.count(name) == 1:
                yield from _differences(was[one.index(name)], becomes[index], (*path, index))
    elif was != becomes and (pairs := _written_out(was, becomes)):
        yield from dict.fromkeys(line for one, other in pairs for line in _differences(one, other, path))
    elif was != becomes:
        one, other = _plain(was), _plain(becomes)
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
        common = max(0, alike - _BEFORE) if len(one) > _LONGEST else 0
        yield f"{yamlfile.render(path)} {_cut(one, common)} -> {_cut(other, common)}"


def _called(value: Any) -> str:
    """An item of a list by what it is called, or by all that it says: a leg of a matrix."""
    if not isinstance(value, Mapping):
        return _plain(value)
    name = next((value[key] for key in _NAMES if key in value), None)
    said = _plain(name) if name is not None else f"{{{', '.join(f'{key}: {_plain(value[key])}' for key in value)}}}"
    return _cut(said, 0)


def _written_out(was: Any, becomes: Any) -> list[tuple[Any, Any]]:
    """The JSON texts of two expressions in pairs, as values, where nothing else differs: matrices of `fromJSON`."""
    if not (isinstance(was, str) and isinstance(becomes, str)):
        return []
    around = (" ".join(_JSON.sub("''", text).split()) for text in (was, becomes))
    if len(set(around)) != 1:
        return []
    try:
        one, other = ([json.loads(each.replace("''", "'")) for each in _JSON.findall(text)] for text in (was, becomes))
    except ValueError:
        return []
    return list(zip(one, other, strict=True))


def _plain(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return "..." if isinstance(value, Mapping) else " ".join(str(value).split())


def _cut(text: str, start: int) -> str:
    """What is shown of a long value: from a little before the first difference."""
    rest = f"…{text[start:]}" if start else text
    return rest if len(rest) <= _LONGEST else f"{rest[: _LONGEST - 1]}…"
