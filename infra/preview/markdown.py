"""A document as GitHub's markdown. All that anybody wrote goes through markup, so that it can do nothing there.

Owns how each part looks on GitHub. Does not own escaping (markup), nor what is cut when room is short (blocks).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.preview.blocks import Block, fit
from infra.preview.document import Alert, Code, Document, Fold, Grid, Heading, Items, Lines, Piece
from infra.preview.markup import fenced, html, prose, spoken, table
from infra.preview.toned import Cell, Tone, toned


def render(document: Document, limit: int | None = None, advice: str = "") -> str:
    """Markdown without a line break at its end. limit: of bytes, where there is one; advice: where the rest is then."""
    return fit([_block(piece) for piece in document], limit=limit, advice=advice)


def _block(piece: Piece) -> Block:
    opening, lines, closing = _parts(piece)
    return Block(rank=piece.rank, what=piece.what, opening=opening, lines=lines, closing=closing)


def _parts(piece: Piece) -> tuple[str, Sequence[str], str]:
    """What stands before its lines and goes with them, the lines, and what stands behind them."""
    match piece:
        case Heading():
            return "", [f"{'#' * piece.level} {prose(piece.text)}"], ""
        case Lines():
            return "", list(_paragraphs(piece)), ""
        case Items():
            return "\n".join(_title(piece.title)), [_item(line) for line in piece.lines], ""
        case Alert():
            # An empty line keeps the mark alone, which GitHub wants, also where the layout of pages folds paragraphs.
            box, text = f"> [!{piece.box.value}]\n>\n", f"> {spoken(piece.text)}"
            items = [f"> {_item(line)}" for line in piece.lines]
            return "", [box + text, *(f">\n{each}" if not number else each for number, each in enumerate(items))], ""
        case Grid():
            numbers = frozenset(range(1, piece.right + 1))
            head, rule, *rows = table(
                list(map(prose, piece.titles)), [list(map(spoken, row)) for row in piece.rows], numbers=numbers
            )
            return "\n".join([*_title(piece.title), head, rule]), rows, ""
        case Code():
            opening, *lines, closing = fenced("\n".join(piece.lines)).split("\n")
            return opening, lines, closing
        case Fold():
            inner = [line for part in piece.parts for line in ("", *_whole(part))]
            return f"<details><summary>{html(piece.summary)}</summary>", inner, "\n</details>"


def _whole(piece: Piece) -> Iterator[str]:
    opening, lines, closing = _parts(piece)
    yield from (line for text in (opening, *lines, closing) if text for line in text.split("\n"))


def _paragraphs(piece: Lines) -> Iterator[str]:
    for number, line in enumerate(piece.lines):
        lead = toned((piece.lead, Tone.HEADING), ": ") if piece.lead and not number else ""
        yield ("\n" if number else "") + spoken(toned(lead, line))


def _title(title: str) -> list[str]:
    """And an empty line, which parts it from a list or a table."""
    return [f"**{prose(title)}**", ""] if title else []


def _item(line: Cell) -> str:
    return f"{' ' * (0 if isinstance(line, str) else line.indent)}- {spoken(line)}"
