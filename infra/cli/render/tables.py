"""Tables as commands draw them."""

from __future__ import annotations

from collections.abc import Collection

from rich.table import Table


def table(*columns: str, right: Collection[str] = (), folded: Collection[str] = ()) -> Table:
    """A table without lines. right: columns of figures. folded: columns whose texts may be longer than a line."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        justify, overflow = "right" if column in right else "left", "fold" if column in folded else "ellipsis"
        made.add_column(column, justify=justify, no_wrap=column not in folded, overflow=overflow)
    return made
