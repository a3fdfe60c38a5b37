"""Colours of charts and pages: read by everybody, light and dark."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from infra.pages.theme import DARK, LIGHT, Palette, adaptive, chart_config, dark_rules, variables

CHART = Path(__file__).parent / "chart.json"
BOTH = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


def luminance(colour: str) -> float:
    """Of WCAG 2.2, relative luminance."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@BOTH
def test_text_has_the_contrast_that_wcag_asks_of_text(palette: Palette) -> None:
    read = ("text", "muted", "accent", "good", "warning", "bad", "limit")
    faint = {
        (name, ground): contrast(getattr(palette, name), getattr(palette, ground))
        for name in read
        for ground in ("background", "surface")
        if contrast(getattr(palette, name), getattr(palette, ground)) < 4.5
    }
    assert faint == {}


@BOTH
def test_series_have_the_contrast_that_wcag_asks_of_graphics(palette: Palette) -> None:
    assert [colour for colour in palette.series if contrast(colour, palette.background) < 3] == []


def test_a_chart_stays_what_it_is_and_gets_a_dark_counterpart_for_each_colour() -> None:
    drawn = f'<svg viewBox="0 0 9 9"><rect fill="{LIGHT.series_1}"/></svg>'
    shown = adaptive(drawn)
    assert shown.startswith('<svg viewBox="0 0 9 9"><style>@media screen and (prefers-color-scheme:dark)')
    assert f':root:not([data-theme=light]) [fill="{LIGHT.series_1}"]{{fill:{DARK.series_1}}}' in shown
    assert shown.endswith(f'<rect fill="{LIGHT.series_1}"/></svg>')


def test_every_chart_has_the_configuration_that_was_read_last(update_goldens: bool) -> None:
    shown = json.dumps(chart_config(), indent=1) + "\n"
    if update_goldens:
        CHART.write_text(shown, encoding="utf-8")
    assert shown == CHART.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def test_a_reader_can_choose_the_other_colours_and_paper_is_always_light() -> None:
    said = variables() + dark_rules()
    assert f":root[data-theme=dark]{{color-scheme:dark;--background:{DARK.background}" in said
    on_screen = re.sub(r"@media screen[^{]*\{(?:[^{}]*\{[^{}]*\})*\}", "", said)
    assert DARK.background not in on_screen
    assert LIGHT.background in on_screen
