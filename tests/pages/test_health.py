"""The page of results: one file that loads nothing, with words for all that it draws."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from infra.pages import charts
from infra.pages.badge import badge
from infra.pages.health import page
from infra.results.board import Board, board
from infra.results.suite_run import Outcome
from tests.pages.sample_results import NOW, QUARANTINE, sample_runs
from tests.results.result_runs import ended, made


class Seen(HTMLParser):
    """Tags with their attributes, and what is open when the file ends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def shown() -> str:
    return page(board({"slow": sample_runs()["slow"][-30:]}, QUARANTINE, NOW))


def test_it_is_well_formed_loads_nothing_and_runs_nothing(shown: str) -> None:
    seen = Seen(shown)
    assert seen.open == []
    assert not {"script", "img", "iframe", "object"} & {tag for tag, _ in seen.tags}
    addresses = {
        str(value) for _, attributes in seen.tags for name, value in attributes.items() if name in ("src", "href")
    }
    assert all(each.startswith(("#", "data:,")) for each in addresses)
    assert not re.search(r"url\((?!#)|@import", shown)


def test_every_name_within_it_is_its_own_and_every_link_leads_somewhere(shown: str) -> None:
    seen = Seen(shown)
    ids = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert "suite-slow" in ids
    links = {attributes["href"] for tag, attributes in seen.tags if tag == "a"}
    assert {str(link).removeprefix("#") for link in links} <= set(ids)


def test_every_chart_says_in_words_what_it_shows_and_has_its_numbers(shown: str) -> None:
    seen = Seen(shown)
    drawn = [attributes for tag, attributes in seen.tags if tag == "div" and attributes.get("role") == "img"]
    assert len(drawn) == 5
    assert all(str(each["aria-label"]).count(".") for each in drawn)
    assert shown.count("<details>") == 4
    assert any("told to be slower" in str(each["aria-label"]) for each in drawn)


def test_it_says_health_in_words_and_shapes_and_not_in_colour_alone(shown: str) -> None:
    assert "▲ look at it" in shown
    assert "prefers-color-scheme:dark" in shown


def test_what_a_stranger_called_a_test_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "both", lambda draw, key: key)
    evil = made(1, tests=(ended("<script>alert(1)</script>\u202e", Outcome.FAILED, '"><img src=x>'),))
    shown = page(board({"tpu": [evil]}, (), NOW))
    assert "&lt;script&gt;" in shown
    assert "\u202e" not in shown
    assert not {"script", "img"} & {tag for tag, _ in Seen(shown).tags}


def test_a_page_without_results_says_how_to_keep_the_first() -> None:
    assert "results publish" in page(Board(made=NOW, suites=()))


def test_a_badge_has_a_title_and_escapes_its_words() -> None:
    svg = badge("a<b", "failing", "bad")
    assert "<title>a&lt;b: failing</title>" in svg
    assert 'role="img"' in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
