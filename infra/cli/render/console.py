"""Where text for people goes: stdout, or stderr where stdout carries one JSON object.

Owns the last edge before a terminal: whoever wrote it, no text that leaves here steers one, and nothing else in the
commands prints. Colours are the console's own.

NO_COLOR, TERM=dumb and COLUMNS are respected (by rich). Nothing is cut: a terminal gets long lines folded at words, a
file or a pipe gets them whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from infra.model.visible import visible
from infra.preview import terminal
from infra.preview.document import Document
from infra.preview.toned import Cell, Shown, TextTable, Tone, TonedLine

HANG = 2
"""Columns by which what is broken off stands to the right of its line."""
_STYLES: Final = {
    Tone.PLAIN: "",
    Tone.QUIET: "dim",
    Tone.WORKING: "cyan",
    Tone.GOOD: "green",
    Tone.WARNING: "yellow",
    Tone.PROBLEM: "bold red",
    Tone.HEADING: "bold",
    Tone.NAME: "",
}


class VisibleConsole(Console):
    """A console on which text has only the effect of its words."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text, "\n"))


def people(*, as_json: bool = False, quiet: bool = False) -> Console:
    """The console for text. quiet: it shows nothing."""
    return VisibleConsole(stderr=as_json, quiet=quiet, highlight=False, markup=False, emoji=False)


def is_live(console: Console) -> bool:
    """Whether lines can be drawn over: a terminal that knows how."""
    return console.is_terminal and not console.is_dumb_terminal


def say(console: Console, *shown: Shown | RenderableType) -> None:
    """Print lines and tables."""
    for each in shown:
        if isinstance(each, TextTable):
            _show(console, each)
        elif isinstance(each, TonedLine):
            _below(console, drawn(each), each.indent)
        elif isinstance(each, str | Text) and str(each).startswith(" ") and "\n" not in str(each):
            _below(console, Text(each) if isinstance(each, str) else each, 0)
        else:
            console.print(each, soft_wrap=not console.is_terminal)


def show(console: Console, document: Document, *, every: bool = False) -> None:
    """Print a document; what is no terminal gets it for 80 columns. every: with what is folded."""
    width = console.width - HANG if console.is_terminal else terminal.WIDTH
    say(console, *terminal.lines(document, width, every=every))


def drawn(cell: Cell) -> Text:
    """A text with the colours of its tones."""
    if isinstance(cell, str):
        return Text(cell)
    return Text.assemble(*((text, _STYLES[tone]) for text, tone in cell.parts))


def _show(console: Console, table: TextTable) -> None:
    """Print a table; the lines of a file or a pipe do not end in the spaces that fill a terminal's."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", title=table.caption or None)
    made.show_header, made.show_footer, made.footer_style = table.headed, bool(table.footer), "bold"
    for title, footer in zip(table.titles, table.footer or [""] * len(table.titles), strict=True):
        justify, folds = "right" if title in table.right else "left", title in table.folded
        made.add_column(title, footer, justify=justify, no_wrap=not folds, overflow="fold" if folds else "ellipsis")
    for row in table.rows:
        made.add_row(*map(drawn, row))
    if console.is_terminal:
        console.print(made)
        return
    with console.capture() as captured:
        console.print(made)
    say(console, *map(str.rstrip, captured.get().splitlines()))


def _below(console: Console, text: Text, by: int) -> None:
    """Print a line, `by` columns to the right of its heading; what is no terminal gets it in one piece.

    Blanks at its beginning move all of it, also what is folded.
    """
    if not console.is_terminal:
        console.print(Text.assemble(" " * by, text), soft_wrap=True)
        return
    begins = len(text.plain) - len(text.plain.lstrip(" "))
    text, by = text[begins:], by + begins
    for number, part in enumerate(text.wrap(console, max(1, console.width - by - HANG))):
        part.rstrip()
        console.print(Text.assemble(" " * (by + HANG if number else by), part))
