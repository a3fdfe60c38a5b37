"""Lines below a heading, which stay below it where a terminal breaks them."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from infra.cli.render.console import say

HANG = 2
"""Columns by which what is broken off stands to the right of its line."""


def below(console: Console, line: str | Text, *, by: int = 2, style: str = "") -> None:
    """Print a line, `by` columns to the right of its heading; what is no terminal gets it in one piece."""
    text = line if isinstance(line, Text) else Text(line, style=style)
    if not console.is_terminal:
        say(console, Text.assemble(" " * by, text))
        return
    for number, part in enumerate(text.wrap(console, max(1, console.width - by - HANG))):
        part.rstrip()
        say(console, Text.assemble(" " * (by + HANG if number else by), part))
