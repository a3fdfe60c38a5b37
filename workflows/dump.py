"""Workflow data to YAML text: block style, scripts as literal blocks, keys in the order given, no aliases, `on:` kept.

Owns layout and quoting, comments, and the last line of a generated file, a digest of all above it by which an edit by
hand is told from a stale file. Leaves the order of keys and the words of comments to whoever makes the data. The
text means the same to readers of YAML 1.1 and 1.2, but for `on`, GitHub's key, which stands bare as people write it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from yaml import ScalarNode
from yaml.resolver import Resolver

WIDTH = 120
"""Columns after which a list is written one value a line."""

_RESOLVER = Resolver()
_TEXT_TAG = "tag:yaml.org,2002:str"
# What may stand first without quotes: no sign that means something to YAML there.
_FIRST = re.compile(r"[A-Za-z0-9_./$(^+~;\\<]")
# Numbers to some reader of YAML, though not to PyYAML: 1e3, 0o17, 1.e5, .5, 08.
_NUMBER = re.compile(r"[-+]?(\.?[0-9][0-9_.,:]*([eE][-+]?[0-9]+)?|0[xob][0-9a-fA-F_]+|\.(inf|nan))", re.IGNORECASE)
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
_FLOW_SIGNS = frozenset(",[]{}")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
Path = tuple[str | int, ...]
"""Where a value stands: `("jobs", "test", "steps", 0, "uses")`."""
_START: Final = "# Digest of the lines above: "
_DIGITS: Final = 16


def dump(document: CommentedData) -> str:
    """One file, ending in a line break."""
    lines = [*_comment(document.header, 0), *_Writer(document).mapping(document.data, (), 0)]
    return "\n".join(lines) + "\n"


class _Writer:
    """Lines of one document; a path says which comments belong to a value."""

    def __init__(self, document: CommentedData) -> None:
        self._above = document.above
        self._beside = document.beside

    def mapping(self, data: Mapping[str, Any], path: Path, indent: int) -> Iterator[str]:
        for position, (key, value) in enumerate(data.items()):
            here = (*path, key)
            if path == ("jobs",) and position:
                yield ""
            yield from _comment(self._above.get(here, ""), indent)
            yield from self._entry(f"{' ' * indent}{_key(key, path)}:", value, here, indent)

    def _entry(self, start: str, value: Any, path: Path, indent: int) -> Iterator[str]:
        """A key or a dash with its value: on the same line where it fits there, below it otherwise."""
        note = self._note(path)
        if isinstance(value, Mapping) and value:
            yield start + note
            yield from self.mapping(value, path, indent + 2)
        elif isinstance(value, list | tuple) and value:
            flow = self._flow(value, path)
            if flow and len(start) + 1 + len(flow) <= WIDTH:
                yield f"{start} {flow}{note}"
            else:
                yield start + note
                yield from self._sequence(value, path, indent + 2)
        elif isinstance(value, str) and _blocks(value):
            yield from _literal(start, value, note, indent + 2)
        elif value is None:
            yield start + note
        elif isinstance(value, str) and len(start) + len(value) >= WIDTH and _folds(value):
            yield f"{start} >-{note}"
            yield from _folded(value, indent + 2)
        else:
            yield f"{start} {_scalar(value)}{note}"

    def _sequence(self, values: Sequence[Any], path: Path, indent: int) -> Iterator[str]:
        dash = f"{' ' * indent}-"
        for index, value in enumerate(values):
            here = (*path, index)
            yield from _comment(self._above.get(here, ""), indent)
            if isinstance(value, Mapping) and value:
                lines = self.mapping(value, here, indent + 2)
                # A comment above the first key would stand where the dash belongs.
                first = next(lines)
                while first.lstrip().startswith("#"):
                    yield f"{' ' * indent}{first.lstrip()}"
                    first = next(lines)
                yield f"{dash} {first[indent + 2 :]}"
                yield from lines
            elif value is None:
                yield f"{dash} null{self._note(here)}"
            else:
                yield from self._entry(dash, value, here, indent)

    def _flow(self, values: Sequence[Any], path: Path) -> str:
        """The list in brackets where all its values are short and bare of comments, else nothing."""
        for index, value in enumerate(values):
            commented = (*path, index) in self._above or (*path, index) in self._beside
            plain = isinstance(value, bool | int | float) or (isinstance(value, str) and not _UNPRINTABLE.search(value))
            if commented or not plain or (isinstance(value, str) and "\n" in value):
                return ""
        return f"[{', '.join(_scalar(value, flow=True) for value in values)}]"

    def _note(self, path: Path) -> str:
        note = self._beside.get(path, "")
        return f" # {' '.join(note.split())}" if note else ""


def _comment(text: str, indent: int) -> Iterator[str]:
    for line in text.splitlines():
        yield f"{' ' * indent}# {line}".rstrip()


def _key(key: str, path: Path) -> str:
    return key if key == "on" and not path else _scalar(key)


def _scalar(value: Any, *, flow: bool = False) -> str:
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str):
        return value if _bare(value, flow=flow) else _quoted(value)
    if isinstance(value, Mapping | list | tuple) and not value:
        return "{}" if isinstance(value, Mapping) else "[]"
    raise TypeError(f"a workflow has no place for {type(value).__name__}")


def _float(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a number of JSON, and GitHub reads no other")
    text = repr(value)
    # YAML 1.1 wants a point in what has an exponent too; without it the number is text to some.
    mantissa, exponent, power = text.partition("e")
    if exponent:
        mantissa += "" if "." in mantissa else ".0"
    return mantissa + exponent + power


def _bare(text: str, *, flow: bool) -> bool:
    """Whether every reader of YAML takes the text for itself without quotes."""
    if not _FIRST.match(text) or not text.isprintable() or text != text.strip():
        return False
    if ": " in text or " #" in text or text.endswith(":") or text.lower() in _WORDS or _NUMBER.fullmatch(text):
        return False
    if flow and _FLOW_SIGNS & set(text):
        return False
    return _RESOLVER.resolve(ScalarNode, text, (True, False)) == _TEXT_TAG


def _quoted(text: str) -> str:
    """Single quotes where they can hold the text as it is, else JSON's escapes, which YAML shares."""
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    # JSON leaves DEL as it is, and writes a sign beyond the first plane as two halves, which YAML does not join.
    inner = "".join(
        json.dumps(sign)[1:-1] if " " <= sign < "\x7f" or sign in "\n\t" else _escaped(sign) for sign in text
    )
    return f'"{inner}"'


def _escaped(sign: str) -> str:
    code = ord(sign)
    return f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"


def _blocks(text: str) -> bool:
    """Whether a literal block can hold the text: it has lines, and no sign that YAML would change or refuse."""
    return "\n" in text and not _UNPRINTABLE.search(text) and bool(text.strip("\n"))


def _folds(text: str) -> bool:
    """Whether lines of a folded block give the text back: words with one space between them."""
    return text.isprintable() and " " in text and "  " not in text and text == text.strip()


def _folded(text: str, indent: int) -> Iterator[str]:
    """Lines of whole words, broken behind `&&` and `||` where the text has them."""
    line = ""
    for piece in re.split(r"(?<=&&) |(?<=\|\|) ", text):
        if line and indent + len(line) + 1 + len(piece) > WIDTH:
            yield f"{' ' * indent}{line}"
            line = piece
        else:
            line = f"{line} {piece}".lstrip()
    yield f"{' ' * indent}{line}"


def _literal(start: str, text: str, note: str, indent: int) -> Iterator[str]:
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    keep = "-" if ends == 0 else "" if ends == 1 else "+"
    # Said only where the reader cannot see it: the first line that has something starts with a space, or none does.
    first = next(line for line in body.split("\n") if line)
    width = "2" if first.startswith((" ", "\t")) else ""
    yield f"{start} |{width}{keep}{note}"
    for line in body.split("\n"):
        yield f"{' ' * indent}{line}" if line else ""
    yield from [""] * (ends - 1)


@dataclass(frozen=True, slots=True)
class CommentedData:
    """Plain data (mappings, lists, text, numbers, booleans, None) and the comments around it.

    header: lines above the file. above: lines before a key or a list entry. beside: what follows a value on its
    line, or the colon of a key whose value is a mapping or a list. Comments are without their `#`.
    """

    data: Mapping[str, Any]
    header: str = ""
    above: Mapping[Path, str] = field(default_factory=dict)
    beside: Mapping[Path, str] = field(default_factory=dict)


def sealed(text: str) -> str:
    """The text with its digest behind it."""
    return f"{text}{_line(text)}\n"


def is_sealed(text: str) -> bool:
    """Whether the text stands as it was sealed."""
    above, _, last = text.rstrip("\n").rpartition("\n")
    return last == _line(f"{above}\n")


def unsealed(text: str) -> str:
    """The text without its digest, whatever that says."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_START))


def _line(text: str) -> str:
    return f"{_START}{sha256(text.encode()).hexdigest()[:_DIGITS]}"
