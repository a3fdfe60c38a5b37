"""pytest's marker expressions, as `-m` takes them: names joined by and, or, not and parentheses.

Owns the grammar: `not` binds tighter than `and`, `and` than `or`. pytest's own parser is private to it, and pytest is
no dependency of what runs, so the tests hold this one against it. Arguments of markers, `name(key=1)`, are refused: no
specification may say them (https://docs.pytest.org/en/stable/example/markers.html, read 2026-11-21).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

_WORD = re.compile(r"\s*(?:([()])|([\w:+.\[\]\\/-]+)|(\S))")
_KEYWORDS: Final = frozenset(("and", "or", "not"))

Holds = Callable[[Collection[str]], bool]


class MarkersError(ValueError):
    """An expression that is none; the message says what stands where."""


@dataclass(frozen=True, slots=True)
class Markers:
    """An expression. names: every marker in it."""

    text: str
    names: frozenset[str]
    _holds: Holds

    def take(self, markers: Collection[str]) -> bool:
        """Whether a test with these markers is selected."""
        return self._holds(markers)


def parse(text: str) -> Markers:
    """The expression of `-m`; an empty one takes every test. MarkersError where it is none."""
    words = _words(text)
    if not words:
        return Markers(text, frozenset(), lambda _: True)
    reader = _Reader(text, words)
    holds = reader.either()
    if reader.next is not None:
        raise reader.wrong("and, or, or the end")
    return Markers(text, frozenset(reader.names), holds)


def _words(text: str) -> list[str]:
    found: list[str] = []
    for match in _WORD.finditer(text.rstrip()):
        if match[3]:
            raise MarkersError(f"{text!r}: {match[3]!r} is not part of a marker expression")
        found.append(match[1] or match[2])
    return found


class _Reader:
    """Reads words from left to right."""

    def __init__(self, text: str, words: list[str]) -> None:
        self.names: set[str] = set()
        self._text = text
        self._words = words
        self._at = 0

    @property
    def next(self) -> str | None:
        return self._words[self._at] if self._at < len(self._words) else None

    def either(self) -> Holds:
        parts = [self._both()]
        while self._takes("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else lambda markers: any(part(markers) for part in parts)

    def wrong(self, wanted: str) -> MarkersError:
        return MarkersError(f"{self._text!r}: {wanted} is wanted where {self.next or 'the end'} stands")

    def _both(self) -> Holds:
        parts = [self._one()]
        while self._takes("and"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else lambda markers: all(part(markers) for part in parts)

    def _one(self) -> Holds:
        if self._takes("not"):
            inner = self._one()
            return lambda markers: not inner(markers)
        if self._takes("("):
            inner = self.either()
            if not self._takes(")"):
                raise self.wrong(")")
            return inner
        name = self.next
        if name is None or name in _KEYWORDS or name == ")":
            raise self.wrong("a marker, not, or (")
        self._at += 1
        self.names.add(name)
        return lambda markers: name in markers

    def _takes(self, word: str) -> bool:
        if self.next != word:
            return False
        self._at += 1
        return True
