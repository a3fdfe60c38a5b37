"""The page of results: one file that loads nothing, with words for all that it draws."""

from __future__ import annotations

import pytest

from infra.pages import charts
from infra.pages.badge import badge
from infra.pages.health import results_page
from infra.results.board import Board, board
from infra.results.suite_run import Outcome
from tests.pages.html_seen import Seen, assert_sound
from tests.pages.sample_results import NOW, QUARANTINE, sample_runs
from tests.results.result_runs import ended, made


@pytest.fixture(scope="module")
def shown() -> str:
    return results_page(board({"slow": sample_runs()["slow"][-30:]}, QUARANTINE, NOW))


def test_every_suite_has_a_place_that_a_link_leads_to(shown: str) -> None:
    seen = Seen(shown)
    assert_sound(seen)
    assert {"suite-slow", "suites"} <= seen.ids


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
    shown = results_page(board({"tpu": [evil]}, (), NOW))
    assert "&lt;script&gt;" in shown
    assert "\u202e" not in shown
    assert "img" not in {tag for tag, _ in Seen(shown).tags}


def test_a_page_without_results_says_how_to_keep_the_first() -> None:
    assert "results publish" in results_page(Board(made=NOW, suites=()))


def test_a_badge_has_a_title_and_escapes_its_words() -> None:
    svg = badge("a<b", "failing", "bad")
    assert "<title>a&lt;b: failing</title>" in svg
    assert 'role="img"' in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
