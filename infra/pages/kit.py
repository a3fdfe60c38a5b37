"""The kit of pages: what a page is made of, as plain values, and the one HTML file that loads nothing.

Owns structure, escaping and the labels that keyboards and screen readers go by. Does not own what a page says, nor its
colours (`theme`); looks and behaviour stand in `kit.css` and `kit.js`. Texts may be a stranger's: each is masked and
escaped here, and the page's policy lets no script run but that of the kit, which it names by its digest.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from infra.model.secret_values import without_secrets
from infra.model.visible import visible
from infra.pages import charts
from infra.pages.theme import dark_rules, variables

Tone = Literal["", "good", "warning", "bad", "muted"]
_STACKED: Final = 3
"""Columns that fit side by side on a telephone; the rows of a table with more stand below one another there."""
_SHORT: Final = 24
"""Characters of a text that is not broken where there is room for the table."""
MADE_HERE: Final = '<meta name="generator" content="Tidepool">'
"""By which a page of ours is known from one that somebody wrote."""
_HERE: Final = Path(__file__).parent
_STYLE: Final = (_HERE / "kit.css").read_text(encoding="utf-8")
_SCRIPT: Final = (_HERE / "kit.js").read_text(encoding="utf-8")
_MARKS: Final = {"good": "■ ", "warning": "▲ ", "bad": "✕ "}
"""Shapes that say what a tone says, for who does not see its colour."""


@dataclass(frozen=True, slots=True)
class Said:
    """A text and how it is meant. What stands in it between two backticks is shown as code."""

    text: str
    tone: Tone = ""


Words: TypeAlias = str | Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """caption: what it is, shown above it and read out. numbers: columns of figures. footer: a last row, which stays.

    strong: whether the caption is a heading of its own.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Words, ...], ...]
    numbers: frozenset[int] = frozenset()
    footer: tuple[str, ...] = ()
    strong: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A chart. told: all that it says, for who does not see it. key: unique in the page. numbers: what it is drawn of.

    note: what stands below it, where that is not what is told. draw: makes the chart for a width in pixels.
    """

    title: str
    told: str
    note: str = ""
    key: str
    draw: Callable[[int], Any]
    numbers: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One thing at a glance. link: the id of where the page says more, empty for none."""

    title: str
    said: Said
    more: tuple[str, ...] = ()
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cards:
    label: str
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A list of sentences, below a heading where it has one."""

    lines: tuple[Words, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Lack:
    """What is not known, and the command that would fill it."""

    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """Blocks that open on a click."""

    summary: str
    blocks: tuple[Block, ...]


Block: TypeAlias = Table | Drawing | Cards | Lines | Lack | Folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page with its own place in the navigation. says: in one sentence what it comes to."""

    id: str
    title: str
    says: Words = ""
    blocks: tuple[Block, ...] = ()

    @property
    def lacks(self) -> tuple[str, ...]:
        """What is not known of it."""
        return tuple(each.says for each in self.blocks if isinstance(each, Lack))


def page(title: str, says: str, sections: Sequence[Section]) -> str:
    """The whole file. Equal values, equal bytes."""
    digest = b64encode(sha256(_SCRIPT.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'"
    )
    links = "".join(f'<li><a href="#{each.id}">{_text(each.title)}</a></li>' for each in sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>{_text(title)}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">{MADE_HERE}<link rel="icon" href="data:,">'
        f"<style>{variables()}{_STYLE}{dark_rules()}</style></head><body>"
        '<a class="skip" href="#content">Skip to the content</a>'
        f'<header><div><h1>{_text(title)}</h1><p class="muted">{_rich(says)}</p></div>'
        '<button type="button" id="theme" hidden>Dark</button></header>'
        f'<div class="frame"><nav aria-label="Sections"><ul>{links}</ul></nav>'
        f'<main id="content" tabindex="-1">{"".join(map(_section, sections))}</main></div>'
        '<p class="apart" id="told" role="status" aria-live="polite"></p>'
        f"<script>{_SCRIPT}</script></body></html>\n"
    )


def anchor(*words: str) -> str:
    """An id of these words: letters, digits and hyphens."""
    return "-".join("".join(each if each.isalnum() and each.isascii() else "-" for each in word) for word in words)


def _section(section: Section) -> str:
    lead = f'<p class="lead">{_said(section.says)}</p>' if section.says else ""
    return (
        f'<section id="{section.id}" aria-labelledby="{section.id}-title"><h2 id="{section.id}-title">'
        f"{_text(section.title)}</h2>{lead}{''.join(map(_block, section.blocks))}</section>"
    )


def _block(block: Block) -> str:
    match block:
        case Table():
            return _table(block)
        case Drawing():
            return _drawing(block)
        case Cards():
            cards = "".join(map(_card, block.cards))
            return f'<ul class="cards" aria-label="{_quoted(block.label)}">{cards}</ul>'
        case Lines():
            title = f"<h3>{_rich(block.title)}</h3>" if block.title else ""
            return f'{title}<ul class="lines">{"".join(f"<li>{_said(each)}</li>" for each in block.lines)}</ul>'
        case Lack():
            return f'<p class="lack">{_rich(block.says)}</p>'
        case Folded():
            inner = "".join(map(_block, block.blocks))
            return f"<details><summary>{_rich(block.summary)}</summary>{inner}</details>"


def _drawing(drawing: Drawing) -> str:
    """A chart with what it says in words, and its numbers below it."""
    numbers = _block(Folded(summary="The numbers", blocks=(drawing.numbers,))) if drawing.numbers else ""
    return (
        f'<figure><h3>{_text(drawing.title)}</h3><div role="img" aria-label="{_quoted(drawing.title)}. '
        f'{_quoted(drawing.told)}">{charts.both(drawing.draw, drawing.key)}</div>'
        f"<figcaption>{_rich(drawing.note or drawing.told)}</figcaption></figure>{numbers}"
    )


def _card(card: Card) -> str:
    title = f'<a href="#{card.link}">{_text(card.title)}</a>' if card.link else _text(card.title)
    more = "".join(f'<p class="muted">{_rich(each)}</p>' for each in card.more)
    tone = f" {card.said.tone}" if card.said.tone else ""
    return f'<li class="card{tone}"><h3>{title}</h3><p class="big">{_said(card.said)}</p>{more}</li>'


def _table(table: Table) -> str:
    stacked = " stacked" if _is_wide(table) else ""
    caption = f"<caption{'' if table.strong else ' class=quiet'}>{_rich(table.caption)}</caption>"
    head = "".join(_cell("th", table, at, each) for at, each in enumerate(table.head))
    body = "".join(_row(table, each) for each in table.rows)
    foot = f"<tfoot>{_row(table, table.footer)}</tfoot>" if table.footer else ""
    # Stacked by CSS on a telephone, where a browser would forget that it is a table: the roles say it.
    return (
        f'<div class="scroll" role="region" aria-label="{_quoted(table.caption)}" tabindex="0">'
        f'<table role="table" class="sortable{stacked}">{caption}<thead><tr role="row">{head}</tr></thead>'
        f"<tbody>{body}</tbody>{foot}</table></div>"
    )


def _is_wide(table: Table) -> bool:
    """Whether it has no room on a telephone."""
    beside = len(table.head)
    return beside > _STACKED or (beside == _STACKED and any(not _is_short(each) for row in table.rows for each in row))


def _is_short(words: Words) -> bool:
    return len(words if isinstance(words, str) else words.text) <= _SHORT


def _row(table: Table, cells: Iterable[Words]) -> str:
    return f'<tr role="row">{"".join(_cell("td", table, at, each) for at, each in enumerate(cells))}</tr>'


def _cell(tag: str, table: Table, at: int, words: Words) -> str:
    name = "number" if at in table.numbers else "short" if _is_short(words) else ""
    kind = f' class="{name}"' if name else ""
    if tag == "th":
        return f'<th scope="col" role="columnheader"{kind}>{_rich(str(words))}</th>'
    said = _said(words)
    # On a narrow screen what stands in a cell is laid out side by side: a sentence with code in it is one thing.
    whole = f"<span>{said}</span>" if "<code>" in said and not said.startswith("<span") else said
    return f'<td role="cell" data-label="{_quoted(table.head[at])}"{kind}>{whole}</td>'


def _said(words: Words) -> str:
    if isinstance(words, str):
        return _rich(words)
    said = f"{_MARKS.get(words.tone, '')}{words.text}"
    return f'<span class="said {words.tone}">{_rich(said)}</span>' if words.tone else _rich(said)


def _rich(text: str) -> str:
    """The text escaped, with what stands between two backticks as code."""
    parts = _text(text).split("`")
    if len(parts) % 2 == 0:
        return _text(text)
    return "".join(f"<code>{each}</code>" if at % 2 else each for at, each in enumerate(parts))


def _text(text: str) -> str:
    return escape(visible(without_secrets(text)))


def _quoted(text: str) -> str:
    return escape(visible(without_secrets(text.replace("`", ""))), quote=True)
