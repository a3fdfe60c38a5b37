"""Pieces of a comment, and as many of them as fit.

Owns what is kept when not all of it fits: pieces of the lowest rank first, each whole or with as many lines as half of
what is left has room for, and a last line that says what was left out. Does not own what the pieces say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from infra.preview.document import Rank
from infra.preview.markup import size

LIMIT: Final = 65_536
"""Characters that GitHub takes in one comment (docs.github.com, REST API for issue comments; its own answer says
`body is too long (maximum is 65536 characters)`, 2026-11)."""

_NOTE_ROOM: Final = 1_000
_BREAK: Final = 2
"""Bytes of the empty line between two pieces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A piece: lines of markdown between an opening and a closing, which go if no line fits.

    what: names its lines where some are left out: `4 of 12 changed properties`.
    """

    rank: Rank
    lines: Sequence[str]
    opening: str = ""
    closing: str = ""
    what: str = "lines"

    def text(self, shown: int) -> str:
        """The piece with its first lines, and a line that says how many are missing."""
        missing = len(self.lines) - shown
        more = [f"{_more(self.lines[max(shown - 1, 0)])}… {missing:,} more {self.what} left out"] if missing else []
        opening, closing = ([each] if each else [] for each in (self.opening, self.closing))
        return "\n".join([*opening, *self.lines[:shown], *more, *closing])

    def fitting(self, room: int) -> int:
        """How many of its lines fit."""
        left = room - size(self.text(0))
        for shown, line in enumerate(self.lines):
            left -= size(line) + 1
            if left < 0:
                return shown
        return len(self.lines)


def fit(blocks: Sequence[Block], *, limit: int | None, advice: str) -> str:
    """The pieces in their order, within `limit`, if any. `advice` says where a reader finds the rest."""
    whole = "\n\n".join(block.text(len(block.lines)) for block in blocks)
    if limit is None or size(whole) <= limit:
        return whole
    shown = _shares(blocks, limit - _NOTE_ROOM)
    kept = [block.text(count) for block, count in zip(blocks, shown, strict=True) if count]
    return "\n\n".join([*kept, _note(blocks, shown, advice)])


def _shares(blocks: Sequence[Block], room: int) -> list[int]:
    """Lines of each piece that may be shown."""
    shares = [0] * len(blocks)
    for index in sorted(range(len(blocks)), key=lambda index: (blocks[index].rank, index)):
        block = blocks[index]
        if size(block.text(len(block.lines))) + _BREAK <= room:
            shares[index] = len(block.lines)
        else:
            shares[index] = block.fitting(room // 2 - _BREAK)
        if shares[index]:
            room -= size(block.text(shares[index])) + _BREAK
    return shares


def _note(blocks: Sequence[Block], shown: Sequence[int], advice: str) -> str:
    return f"**Cut to fit into a comment:** {', '.join(_missing(blocks, shown))}. {advice}"


def _missing(blocks: Sequence[Block], shown: Sequence[int]) -> Iterator[str]:
    totals: dict[str, list[int]] = {}
    for block, count in zip(blocks, shown, strict=True):
        if count < len(block.lines):
            total = totals.setdefault(block.what, [0, 0])
            total[0] += len(block.lines) - count
            total[1] += len(block.lines)
    kinds = [f"{missing:,} of {all_of_them:,} {what}" for what, (missing, all_of_them) in totals.items()]
    yield from kinds[:_KINDS_SHOWN]
    if len(kinds) > _KINDS_SHOWN:
        yield f"and {len(kinds) - _KINDS_SHOWN} more kinds of lines"


_KINDS_SHOWN: Final = 8


def _more(line: str) -> str:
    """A line that says what is missing stands in the same list, table or quotation as the others."""
    last = line.rpartition("\n")[2]
    return next((mark for mark in ("> - ", "- ", "> ", "| ") if last.startswith(mark)), "")
