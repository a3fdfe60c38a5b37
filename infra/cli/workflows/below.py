"""Lines below a heading, which stay below it where a terminal breaks them."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from infra.cli.render.console import say


def below(console: Console, line: str, *, by: int = 2, style: str = "") -> None:
    """Print a line, `by` columns to the right of its heading; what is no terminal gets it in one piece."""
    if console.is_terminal:
        console.print(Padding(Text(line, style=style), (0, 0, 0, by), expand=False))
    else:
        say(console, Text(f"{' ' * by}{line}", style=style))
