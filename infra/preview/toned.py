"""Lines and tables for people as values: what they say and how each part is meant, not how that looks.

Operations and previews make them; a command draws them (`infra.cli.render.console`), and any other program may.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias


class Tone(Enum):
    """How a text is meant; how that looks is for whoever shows it."""

    PLAIN = auto()
    QUIET = auto()
    WORKING = auto()
    GOOD = auto()
    WARNING = auto()
    PROBLEM = auto()
    HEADING = auto()
    NAME = auto()


@dataclass(frozen=True, slots=True)
class TonedLine:
    """One line, in parts. indent: columns by which it stands to the right of its heading."""

    parts: tuple[tuple[str, Tone], ...]
    indent: int = 0

    def __str__(self) -> str:
        return "".join(text for text, _ in self.parts)


Cell: TypeAlias = str | TonedLine
Part: TypeAlias = Cell | tuple[str, Tone]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A table without lines. right: columns of figures. folded: columns whose texts may be longer than a line.

    headed: whether the titles are shown. footer: the cells of a last row, empty for none.
    """

    titles: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: frozenset[str] = frozenset()
    folded: frozenset[str] = frozenset()
    footer: tuple[str, ...] = ()
    caption: str = ""
    headed: bool = True


Shown: TypeAlias = str | TonedLine | TextTable


def toned(*parts: Part, indent: int = 0) -> TonedLine:
    """A line of parts: texts, texts with their tones, or lines that are made of such."""
    return TonedLine(tuple(piece for part in parts for piece in _pieces(part)), indent)


def _pieces(part: Part) -> tuple[tuple[str, Tone], ...]:
    if isinstance(part, TonedLine):
        return part.parts
    return ((part, Tone.PLAIN),) if isinstance(part, str) else (part,)


def lines_toned(tone: Tone, lines: Iterable[str], *, indent: int = 0) -> list[TonedLine]:
    """Lines that are all meant alike."""
    return [toned((line, tone), indent=indent) for line in lines]


def text_table(
    titles: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Iterable[str] = (), folded: Iterable[str] = ()
) -> TextTable:
    """A table with titles and no footer."""
    cells = tuple(tuple(row) for row in rows)
    return TextTable(titles=tuple(titles), rows=cells, right=frozenset(right), folded=frozenset(folded))


def columns(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as plain lines, with a header; nothing where it has no rows."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (titles, *rows)]
