"""One screen of a terminal, drawn again four times a second in the terminal's size, until it is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.console import Console, Group
from rich.live import Live

from infra.cli.render.console import drawn
from infra.preview.toned import TonedLine


def screen(console: Console, lines: Callable[[Mapping[str, int]], Sequence[TonedLine]]) -> Live:
    """The lines for a size in `columns` and `rows`; what stood on the terminal is back once it is left."""

    def frame() -> Group:
        return Group(*map(drawn, lines({"columns": console.width, "rows": console.height})))

    return Live(console=console, get_renderable=frame, screen=True, refresh_per_second=4)
