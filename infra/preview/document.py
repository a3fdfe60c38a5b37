"""What a command or a comment tells people, as values: headings, lines, tables, boxes, code and folds.

Owns the parts of a document, and which of them are kept where room is short. Does not own how a part looks: `markdown`
and `terminal` draw it.

A text that stands between two backticks is code. `toned` lines name other texts that are code (`Tone.NAME`) or stand
out (`Tone.HEADING`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TypeAlias

from infra.preview.toned import Cell


class Rank(IntEnum):
    """What is kept before what."""

    SUMMARY = 0
    LOSSES = 1
    MEANING = 2
    CHANGES = 3
    DETAILS = 4


class Box(Enum):
    """How bad it is; the word is GitHub's."""

    WARNING = "WARNING"
    CAUTION = "CAUTION"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """rank and what: when lines of the part are left out, and what they are called then (`4 of 12 findings`)."""

    rank: Rank = Rank.MEANING
    what: str = "lines"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading(Ranked):
    """level: 2 for a stack, 3 for a part of it."""

    rank: Rank = Rank.SUMMARY
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines(Ranked):
    """Sentences, each a paragraph. lead: bold before the first of them."""

    lines: Sequence[Cell]
    lead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Items(Ranked):
    """A list below its title. A line with an indent belongs to the one above it."""

    lines: Sequence[Cell]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert(Ranked):
    """A box: a sentence, and a list below it."""

    box: Box
    text: str
    lines: Sequence[Cell] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid(Ranked):
    """right: how many of the first columns after the first stand to the right, as numbers do."""

    titles: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    right: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code(Ranked):
    """Lines as somebody else wrote them."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold(Ranked):
    """Parts that a reader opens."""

    rank: Rank = Rank.DETAILS
    summary: str
    parts: Sequence[Lines | Items | Grid]


Piece: TypeAlias = Heading | Lines | Items | Alert | Grid | Code | Fold
Document: TypeAlias = Sequence[Piece]
