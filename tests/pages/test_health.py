"""The page of results: one file that loads nothing, with words for all that it draws."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from infra.pages import charts
from infra.pages.badge import badge, told_at
from infra.pages.health import outlined, results_page
from infra.pages.kit import Section, page
from infra.results.board import Sample, board
from infra.results.suite_run import Outcome
from tests.pages.html_seen import Seen
from tests.pages.sample_results import BROKEN, NOW, QUARANTINE, sample_runs
from tests.results.result_runs import ended, made

BADGE = Path(__file__).parent / "badges.svg"
GOLDEN = Path(__file__).parent / "health.html"


@pytest.fixture(scope="module")
def shown() -> str:
    return results_page(board({"slow": sample_runs()["slow"][-30:]}, QUARANTINE, NOW))


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


@pytest.mark.parametrize("hours", [5, 24, 48, 24 * 40])
def test_the_days_below_a_chart_are_named_once(hours: int) -> None:
    samples = [Sample(at=NOW - timedelta(hours=hours * part / 4), run=str(part), value=1.0) for part in range(5)]
    drawings = charts.both(charts.over_time(samples, "seconds", "#000000"), "some").split("</svg>")[:2]
    for drawing in drawings:
        named = re.findall(r">(\d\d [A-Z][a-z]{2}[^<]*)<", drawing)
        assert 1 <= len(named) == len(set(named)), named


def test_what_a_stranger_called_a_test_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "both", lambda draw, key: key)
    evil = made(1, tests=(ended("<script>alert(1)</script>\u202e", Outcome.FAILED, '"><img src=x>'),))
    shown = results_page(board({"tpu": [evil]}, (), NOW))
    assert "&lt;script&gt;" in shown
    assert "\u202e" not in shown
    assert "img" not in {tag for tag, _ in Seen(shown).tags}


def test_a_badge_is_the_one_that_was_read_last_and_says_of_when_it_tells(update_goldens: bool) -> None:
    shown = badge("a<b", "failing", "bad") + badge("tpu", "passed", "good", at=NOW)
    if update_goldens:
        BADGE.write_text(shown, encoding="utf-8")
    assert shown == BADGE.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"
    assert told_at(shown.encode()) == NOW
    assert (told_at(b""), told_at(b'data-at="no day"')) == (None, None)


def test_a_page_of_results_is_the_html_that_was_read_last(
    monkeypatch: pytest.MonkeyPatch, update_goldens: bool
) -> None:
    """Between its styles and its script, a line a tag, charts by their keys; `legs` ran on two kinds of hardware."""
    monkeypatch.setattr(charts, "both", lambda draw, key: f"{key} {draw}" if isinstance(draw, str) else key)
    monkeypatch.setattr(charts, "over_time", lambda _, unit, colour, **how: f"{unit} {colour} {how}")
    runs = sample_runs()
    legs = [
        each.model_copy(update={"suite": "legs", "hardware": on, "run": f"{each.run}-{on}", "coverage": None})
        for each in runs["cpu"][-2:]
        for on in "ab"
    ]
    broken = [each.model_copy(update={"suite": "broken"}) for each in runs["cpu"][: BROKEN[1] + 1]]
    suites = {"broken": broken, "cpu": runs["cpu"][-2:], "slow": runs["slow"][-16:], "legs": legs}
    found = replace(board(suites, QUARANTINE, NOW), unread=(("results/1.json", "not JSON"),))
    glance = page("Glance", "", [Section(id="glance", title="Glance", blocks=outlined(found))])
    body = "".join(each.partition("</head>")[2].partition("<script")[0] for each in (results_page(found), glance))
    shown = body.replace("><", ">\n<") + "\n"
    if update_goldens:
        GOLDEN.write_text(shown, encoding="utf-8")
    assert shown == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"
