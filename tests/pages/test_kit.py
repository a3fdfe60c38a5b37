"""The kit of pages: what it makes of its values, whoever wrote the texts in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.pages import charts
from infra.pages.kit import Card, Cards, Drawing, Folded, Lack, Lines, Said, Section, Table, anchor, page
from tests.pages.html_seen import Seen, assert_sound

GOLDEN = Path(__file__).parent / "kit.html"
EVIL = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\u202e'
TOKEN = "ghp_" + "a1B2" * 9
NUMBERS = Table(
    caption="Chips",
    head=("Zone", "Chips"),
    rows=(("b", "12"), ("a", "4")),
    numbers=frozenset((1,)),
    footer=("all", "16"),
)


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts are tested where they are drawn."""
    monkeypatch.setattr(charts, "both", lambda draw, key: key)


def every_block(text: str) -> Section:
    drawing = Drawing(title=text, told=text, key="k", draw=lambda _: None, numbers=NUMBERS, note=text)
    return Section(
        id="one",
        title=text,
        says=text,
        blocks=(
            Table(caption=text, head=(text, "2", "3", "4"), rows=((text, Said(text, "bad"), "", ""),)),
            drawing,
            Cards(
                label=text,
                cards=(
                    Card(title=text, said=Said(text, "good"), more=(text,), link="one"),
                    Card(title=text, said=Said(text)),
                ),
            ),
            Lines(lines=(text, Said(text, "warning"), Said(text, "muted")), title=text),
            Lack(text),
            Folded(summary=text, blocks=(Lines(lines=(text,)),)),
        ),
    )


def test_every_kind_of_block_is_sound_html() -> None:
    assert_sound(Seen(page("The estate", "Made now.", [every_block("plain")])))


def test_what_a_stranger_wrote_is_text_wherever_it_stands() -> None:
    seen = Seen(page(EVIL, EVIL, [every_block(EVIL)]))
    assert_sound(seen)
    assert "\u202e" not in seen.text
    assert seen.said.count("alert(1)") > 10, "it is shown, and does nothing"


def test_a_secret_is_masked_wherever_it_stands() -> None:
    text = page(TOKEN, TOKEN, [every_block(f"a token {TOKEN}.")])
    assert TOKEN not in text
    assert text.count("[secret]") > 10


def test_every_kind_of_block_is_the_html_that_was_read_last(update_goldens: bool) -> None:
    """Between its styles and its script, a line a tag."""
    assert anchor("suite", "a/b c") == "suite-a-b-c"
    many = Table(caption="c", head=("h",) * 4, rows=(("a `b` c",) * 4,))
    sections = [every_block("plain"), Section(id="a", title="A", says=Said("2 MISSING", "bad"), blocks=(NUMBERS, many))]
    body = page("The estate", "Made now.", sections).partition("</head>")[2].partition("<script")[0]
    shown = body.replace("><", ">\n<") + "\n"
    if update_goldens:
        GOLDEN.write_text(shown, encoding="utf-8")
    assert shown == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"
