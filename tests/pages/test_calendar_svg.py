"""Days ahead as an SVG: what is in it, in light and in dark."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from infra.model.week import Week, week
from infra.pages import charts
from infra.pages.calendar import calendar_chart, calendar_svg, steady
from infra.pages.theme import DARK, LIGHT
from tests.model.given import parse, pool, stack_text
from tests.model.test_week import MONDAY, NIGHT, QUOTA


@pytest.fixture(scope="module")
def drawn() -> str:
    return calendar_svg(_week())


def _week() -> Week:
    return week([parse(stack_text(pools=pool(windows=f"[{NIGHT}]"), quotas=QUOTA))], MONDAY)


def words(svg: str) -> set[str]:
    texts = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return {"".join(each.itertext()) for each in texts}


def test_a_picture_names_its_days_chips_limits_and_dollars(drawn: str) -> None:
    said = words(drawn)
    assert {"ci: 23 Nov to 29 Nov 2026", "v5e chips in us-west4-a", "US dollars by day", "Mon 23", "Sun 29"} <= said
    assert "preemptible quota: 64" in said
    assert f"Chips that stand, by the hour (UTC), and {_week().usd} by list prices" in said
    days = [float(each[1:]) for each in said if re.fullmatch(r"\$\d+\.\d\d", each)]
    assert days, "each day has its dollars"


def test_a_picture_has_only_colours_that_have_a_dark_counterpart(drawn: str) -> None:
    used = {each.lower() for each in re.findall(r'(?:fill|stroke)="(#[0-9a-fA-F]{6})"', drawn)}
    known = {getattr(LIGHT, name) for name in LIGHT.__dataclass_fields__}
    assert used <= known
    assert all(colour in drawn for colour in (DARK.background, DARK.text, DARK.limit))


def test_a_picture_loads_nothing(drawn: str) -> None:
    assert not re.findall(r'(?:href|src)="', drawn)
    assert set(re.findall(r"https?://[^\"]+", drawn)) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_a_page_draws_what_changes_and_names_what_stays_as_it_is() -> None:
    pools = pool(windows=f"[{NIGHT}]") + pool(name="still", zones="{us-east1-d: 1}", accelerator="v6e-8")
    shown = week([parse(stack_text(pools=pools))], MONDAY)
    assert [(each.zone, each.chips) for each in steady(shown)] == [("us-east1-d", 8)]
    drawn = charts.both(calendar_chart(shown), "calendar")
    assert [each for each in ("v5e chips in us-west4-a", "v6e chips", "US dollars by day") if each in drawn] == [
        "v5e chips in us-west4-a",
        "US dollars by day",
    ]
