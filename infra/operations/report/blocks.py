"""What other operations say to people, lines and tables for a terminal, as blocks of a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from infra.pages.kit import Block, Lines, Said, Table, Words
from infra.pages.kit import Tone as PageTone
from infra.preview.toned import Cell, Shown, TextTable, Tone, TonedLine

_TONES: Final[Mapping[Tone, PageTone]] = {
    Tone.GOOD: "good",
    Tone.WARNING: "warning",
    Tone.PROBLEM: "bad",
    Tone.QUIET: "muted",
}
_WORST: Final = (Tone.PROBLEM, Tone.WARNING, Tone.GOOD, Tone.QUIET)


def blocks(shown: Iterable[Shown], caption: str) -> Iterator[Block]:
    """Tables as tables; lines as lists below the headings that stand over them. caption: of a table without heading."""
    title, lines = caption, list[Words]()
    for each in shown:
        if isinstance(each, TextTable):
            yield from _lines(title, lines, caption)
            yield table(each, each.caption or title)
            lines = []
        elif _is_heading(each):
            yield from _lines(title, lines, caption)
            title, lines = str(each).strip(), []
        elif str(each).strip():
            lines.append(said(each))
    yield from _lines(title, lines, caption)


def _lines(title: str, lines: list[Words], caption: str) -> Iterator[Lines]:
    if lines:
        yield Lines(lines=tuple(lines), title="" if title == caption else title)


def _is_heading(each: str | TonedLine) -> bool:
    return isinstance(each, TonedLine) and bool(each.parts) and each.parts[0][1] is Tone.HEADING


def table(shown: TextTable, caption: str, dropped: Iterable[str] = ()) -> Table:
    """dropped: titles of columns that are left out."""
    kept = [at for at, title in enumerate(shown.titles) if title not in set(dropped)]
    return Table(
        caption=caption,
        head=tuple(_title(shown.titles[at]) for at in kept),
        rows=tuple(tuple(said(row[at]) for at in kept) for row in shown.rows),
        numbers=frozenset(new for new, at in enumerate(kept) if shown.titles[at] in shown.right),
        footer=tuple(shown.footer[at] for at in kept) if shown.footer else (),
    )


def said(cell: Cell) -> Words:
    """A line in the worst of its tones."""
    if isinstance(cell, str):
        return cell
    tones = {tone for _, tone in cell.parts}
    worst = next((tone for tone in _WORST if tone in tones), None)
    return Said(str(cell).strip(), _TONES[worst]) if worst else str(cell).strip()


def _title(title: str) -> str:
    return title if title[:1].isupper() else title[:1].upper() + title[1:]
