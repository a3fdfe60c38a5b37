"""The site of the estate: what each section says, and that whatever does not answer is a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from infra.model.dollars import Dollars
from infra.model.errors import ConfigError, OutsideError, Problem
from infra.operations.errors import Failure, Refusal
from infra.operations.report.estate import Estate, asked
from infra.operations.report.site import drawn, sections, write_site
from infra.pages import charts
from infra.pages.kit import Block, Cards, Drawing, Folded, Lack, Said, Section, Table, Words
from tests.model.clustered import CLUSTER, clustered
from tests.operations.estates import estate, month, nothing
from tests.pages.html_seen import Seen, assert_sound

GOLDEN = Path(__file__).parent / "report.txt"
PARTS = (
    "overview", "risks", "capacity", "limits", "calendar", "status", "queues", "workflows", "images", "results",
    "money", "changes",
)  # fmt: skip


def section(found: Estate, name: str) -> Section:
    (one,) = [each for each in sections(found) if each.id == name]
    return one


def blocks(found: Section) -> Iterator[Block]:
    for each in found.blocks:
        yield each
        yield from each.blocks if isinstance(each, Folded) else ()


def rows(found: Section) -> list[tuple[str, ...]]:
    """Of every table of a section."""
    tables = (each for each in blocks(found) if isinstance(each, Table))
    return [tuple(map(text, row)) for each in tables for row in each.rows]


def text(words: Words) -> str:
    return words.text if isinstance(words, Said) else words


def drawing(found: Section) -> Drawing:
    (one,) = [each for each in found.blocks if isinstance(each, Drawing)]
    return one


@pytest.fixture(scope="module")
def shown() -> str:
    found = estate()
    return drawn(found, sections(found))


def test_the_page_is_sound_html_below_two_megabytes_with_every_section(shown: str) -> None:
    seen = Seen(shown)
    assert_sound(seen)
    assert [each["id"] for each in seen.of("section")] == list(PARTS)
    assert len(shown.encode()) < 2_000_000
    assert "Stacks ci, on the local cloud. Made 23 November 2026, 06:00 UTC." in seen.said


def test_equal_estates_make_equal_bytes(shown: str) -> None:
    again = estate()
    assert drawn(again, sections(again)) == shown


def test_money_that_is_not_known_is_a_question_mark_without_a_verdict() -> None:
    known = month("2026-11", forecast=Decimal(20))
    gap = Dollars.missing("how long slices of cluster train existed")
    total = replace(known.total, usd=known.total.usd + gap)
    found = section(estate(money={"ci": (replace(known, total=total, forecast=known.expected + gap),)}), "money")
    assert rows(found)[0] == ("ci", "2026-11", "$12.50 + ?", "$20.00 + ?", "-", "$30.00", "unknown")
    assert found.says == "$12.50 + ? spent this month by list prices of 2026-08, without disks, traffic and discounts."


def test_what_does_not_answer_is_a_sentence_with_a_command_and_never_an_empty_box(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(charts, "both", lambda draw, key: key)
    found = nothing()
    said = sections(found)
    assert_sound(Seen(drawn(found, said)))
    assert [each.id for each in said if not each.blocks] == ["risks"]
    assert text(section(found, "risks").says).endswith("Not every source answered: the sections below say which.")
    for each in (lack for one in said for lack in one.lacks):
        assert "`./tidepool " in each or "docs/" in each


def test_what_is_not_known_is_a_question_mark_at_a_glance_and_never_a_number() -> None:
    lack = Lack("The cloud is not known: `./tidepool doctor` says why.")
    found = estate(cloud=lack, pools={"ci": lack}, statuses=lack, money={"ci": lack})
    (cards,) = [each for each in section(found, "overview").blocks if isinstance(each, Cards)]
    assert [each.said for each in cards.cards] == [Said("?"), Said("?"), Said("?"), Said("1", "warning")]


def test_slices_of_which_nobody_answers_are_not_told_as_none_that_stand() -> None:
    declared = {"accelerator": "v4-32", "zone": "us-central2-b", "capacity": "spot", "buffer": 1, "maximum": 3}
    config = clustered(cluster=CLUSTER, slices=[declared])
    lack = Lack("The status is not known: `./tidepool status` says why.")
    silent = estate(stacks={"ci": config}, pools={"ci": ()}, statuses=lack)
    assert text(section(silent, "capacity").says).startswith("? of ")
    assert "? of " in drawing(section(silent, "capacity")).told
    (cards, *_) = (each for each in section(silent, "overview").blocks if isinstance(each, Cards))
    assert cards.cards[0].said.text.startswith("? of ")
    absent = estate(stacks={"ci": config}, pools={"ci": ()}, statuses=())
    assert text(section(absent, "capacity").says).startswith("0 of ")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Failure("it is gone"), "Images are not known: it is gone. `./tidepool images list` would make it so."),
        (Failure("gone; `./tidepool up ci` makes it"), "Images are not known: gone; `./tidepool up ci` makes it."),
        (OutsideError("404"), "Images are not known: 404. `./tidepool images list` would make it so."),
        (
            ConfigError([Problem("a.yaml:3", "x", "no such zone", "y")]),
            "Images are not known: a.yaml:3: no such zone. `./tidepool validate` says every mistake.",
        ),
    ],
)
def test_an_error_of_a_source_becomes_its_sentence(error: Exception, said: str) -> None:
    def ask() -> None:
        raise error

    assert asked("Images are", ask, "images list") == Lack(said)


def test_a_page_that_somebody_wrote_is_left_as_it_is(tmp_path: Path) -> None:
    theirs = tmp_path / "index.html"
    theirs.write_text("<!doctype html><title>ours</title>")
    with pytest.raises(Refusal, match="a page that Tidepool did not write; name another folder"):
        write_site(tmp_path)
    assert theirs.read_text() == "<!doctype html><title>ours</title>"


def test_what_every_section_says_of_an_estate_is_what_was_read_last(update_goldens: bool) -> None:
    """Its sentence, its tables, and what its drawings are in words."""
    lines = []
    for each in sections(estate()):
        lines += ["", f"# {each.id}: {text(each.says)}", *(" | ".join(row) for row in rows(each))]
        lines += [block.told for block in each.blocks if isinstance(block, Drawing)]
    shown = "\n".join(lines).strip() + "\n"
    if update_goldens:
        GOLDEN.write_text(shown, encoding="utf-8")
    assert shown == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"
