"""Where text for people goes: stdout, or stderr where stdout carries one JSON object.

Owns the last edge before a terminal: whoever wrote it, no text that leaves here steers one, and nothing else in the
commands prints. Colours are the console's own.

NO_COLOR, TERM=dumb and COLUMNS are respected (by rich). Nothing is cut: a terminal gets long lines folded at words, a
file or a pipe gets them whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from infra.model.visible import visible

HANG = 2
"""Columns by which what is broken off stands to the right of its line."""


class VisibleConsole(Console):
    """A console on which text has only the effect of its words."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text, "\n"))


def people(*, as_json: bool = False, quiet: bool = False) -> Console:
    """The console for text. quiet: it shows nothing."""
    return VisibleConsole(stderr=as_json, quiet=quiet, highlight=False, markup=False, emoji=False)


def say(console: Console, *lines: str | Text) -> None:
    """Print lines of text."""
    for line in lines:
        console.print(line, soft_wrap=not console.is_terminal)


def indented(console: Console, line: Text) -> None:
    """Print one line below another; what a terminal folds stays below it."""
    if console.is_terminal:
        console.print(Padding(line, (0, 0, 0, 2)))
    else:
        say(console, Text.assemble("  ", line))


def show(console: Console, drawn: RenderableType) -> None:
    """Print a table; the lines of a file or a pipe do not end in the spaces that fill a terminal's."""
    if console.is_terminal:
        console.print(drawn)
        return
    with console.capture() as captured:
        console.print(drawn)
    for line in captured.get().splitlines():
        say(console, line.rstrip())


def is_live(console: Console) -> bool:
    """Whether lines can be drawn over: a terminal that knows how."""
    return console.is_terminal and not console.is_dumb_terminal


def table(*columns: str, right: Collection[str] = (), folded: Collection[str] = ()) -> Table:
    """A table without lines. right: columns of figures. folded: columns whose texts may be longer than a line."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        justify, overflow = "right" if column in right else "left", "fold" if column in folded else "ellipsis"
        made.add_column(column, justify=justify, no_wrap=column not in folded, overflow=overflow)
    return made


def below(console: Console, line: str | Text, *, by: int = 2, style: str = "") -> None:
    """Print a line, `by` columns to the right of its heading; what is no terminal gets it in one piece."""
    text = line if isinstance(line, Text) else Text(line, style=style)
    if not console.is_terminal:
        say(console, Text.assemble(" " * by, text))
        return
    for number, part in enumerate(text.wrap(console, max(1, console.width - by - HANG))):
        part.rstrip()
        say(console, Text.assemble(" " * (by + HANG if number else by), part))
