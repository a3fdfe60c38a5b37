"""A document as lines for a terminal, folded at words. Names longer than a line stay whole.

Owns how each part looks there, and that folds are named and stay closed unless somebody asks for them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from infra.model.visible import visible
from infra.preview.document import Alert, Box, Code, Document, Fold, Grid, Heading, Items, Lines, Piece
from infra.preview.toned import Cell, Tone, TonedLine, toned

WIDTH = 80
_TONES = {Box.WARNING: Tone.WARNING, Box.CAUTION: Tone.PROBLEM}


def text(document: Document, width: int = WIDTH, *, every: bool = False) -> str:
    """Without a line break at its end."""
    return "\n".join(map(str, lines(document, width, every=every)))


def lines(document: Document, width: int = WIDTH, *, every: bool = False) -> Iterator[TonedLine]:
    """An empty line between two parts. every: folds are open; else a last line names them."""
    folds = [piece.summary for piece in document if isinstance(piece, Fold)]
    for number, piece in enumerate(piece for piece in document if every or not isinstance(piece, Fold)):
        if number:
            yield toned("")
        yield from _drawn(piece, width)
    if folds and not every:
        yield toned("")
        yield from _wrapped(f"More with --all: {', '.join(folds)}.", width, tone=Tone.QUIET)


def _drawn(piece: Piece, width: int) -> Iterator[TonedLine]:
    match piece:
        case Heading():
            yield from _wrapped(piece.text, width, hang=2, tone=Tone.HEADING)
        case Lines():
            for number, line in enumerate(piece.lines):
                yield from _wrapped(line, width, hang=2, lead=piece.lead if not number else "")
        case Items():
            yield from _titled(piece.title)
            for line in piece.lines:
                yield from _wrapped(line, width, indent=2 * bool(piece.title), hang=2)
        case Alert():
            yield from _wrapped(piece.text, width, hang=2, tone=_TONES[piece.box])
            for line in piece.lines:
                yield from _wrapped(line, width, indent=2, hang=2, tone=_TONES[piece.box])
        case Grid():
            yield from _titled(piece.title)
            yield from _columns(piece, width, 2 * bool(piece.title))
        case Code():
            yield from (toned(f"  {visible(line)}") for line in piece.lines)
        case Fold():
            yield toned((piece.summary, Tone.HEADING))
            for part in piece.parts:
                yield from _drawn(part, width)


def _titled(title: str) -> Iterator[TonedLine]:
    if title:
        yield toned((title, Tone.HEADING))


def _columns(table: Grid, width: int, indent: int) -> Iterator[TonedLine]:
    """The last column is folded where it does not fit."""
    rows = [[visible(str(cell)) for cell in row] for row in (table.titles, *table.rows)]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        *cells, last = (
            cell.rjust(size) if 0 < column <= table.right else cell.ljust(size)
            for column, (cell, size) in enumerate(zip(row, wide, strict=True))
        )
        before = "  ".join((*cells, ""))
        tone = Tone.QUIET if number == 0 else Tone.PLAIN
        yield from _wrapped(before + last, width, indent=indent, hang=len(before), tone=tone)


def _wrapped(
    cell: Cell, width: int, *, indent: int = 0, hang: int = 0, tone: Tone = Tone.PLAIN, lead: str = ""
) -> Iterator[TonedLine]:
    """One text, and what is folded of it `hang` columns to the right."""
    indent += 0 if isinstance(cell, str) else cell.indent
    said = visible(f"{lead}: {cell}" if lead else str(cell))
    folded = textwrap.wrap(
        said,
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hang),
        break_long_words=False,
        break_on_hyphens=False,
    )
    for number, line in enumerate(folded or [""]):
        head = f"{lead}:" if lead and not number else ""
        yield toned((head, Tone.HEADING), (line.removeprefix(head).rstrip(), tone))
