"""Charts of pages, as SVG that stands in a page: drawn by altair, rendered by vl-convert, no network.

Each chart is drawn at two widths; the page shows the one that fits, so that letters stay readable on a telephone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import altair as alt
import vl_convert

from infra.pages.theme import LIGHT, chart_config
from infra.results.board import Board, Point, Sample

WIDE, NARROW = 820, 300
"""Pixels of the plot, without axes."""
_HEIGHT: Final = 180
_ROW: Final = 30
_BAR: Final = 26
_LABELS: Final = 110
"""Pixels that the names of bars take beside the plot, more than those of other charts."""
_NARROW_DAYS: Final = 30
_STATES: Final = {"passed": LIGHT.good, "flaky": LIGHT.warning, "failed": LIGHT.bad}
_MARKS: Final = {"passed": "square", "flaky": "triangle-up", "failed": "cross"}
_COORDINATES: Final = re.compile(r'(\bid="|url\(#|href="#)([A-Za-z][\w-]*)')


def both(draw: Callable[[int], alt.TopLevelMixin], key: str) -> str:
    """The chart at both widths. key: tells its inner names from those of other charts of the page."""
    return "".join(
        f'<div class="{size}" aria-hidden="true">{_svg(draw(width), f"{key}-{size}")}</div>'
        for size, width in (("wide", WIDE), ("narrow", NARROW))
    )


def _svg(chart: alt.TopLevelMixin, key: str) -> str:
    spec: dict[str, Any] = {**chart.to_dict(), "config": chart_config()}
    svg = vl_convert.vegalite_to_svg(spec)
    return _COORDINATES.sub(rf"\g<1>{key}-\g<2>", svg)


def health(board: Board) -> Callable[[int], alt.TopLevelMixin]:
    """A row a suite, a mark a day: its shape says how the day ended as its colour does. Narrow, the latest 30 days."""
    rows = [
        {"suite": each.suite, "day": day.day.isoformat(), "state": day.state}
        for each in board.suites
        for day in each.days
    ]
    names = sorted({each["suite"] for each in rows})
    lately = sorted({each["day"] for each in rows})[-_NARROW_DAYS:]
    states = list(_STATES)

    def draw(width: int) -> alt.TopLevelMixin:
        shown = rows if width == WIDE else [each for each in rows if each["day"] in lately]
        base: Any = alt.Chart(alt.Data(values=shown), width=width, height=_ROW * max(len(names), 1))
        return base.mark_point(filled=True, size=90 if width == WIDE else 60, opacity=1).encode(
            x=alt.X("day:T", title=None, axis=_time(width)),
            y=alt.Y("suite:N", title=None, sort=names, axis=alt.Axis(labelLimit=90, grid=True)),
            color=alt.Color(
                "state:N",
                scale=alt.Scale(domain=states, range=list(_STATES.values())),
                legend=alt.Legend(title=None, orient="top"),
            ),
            shape=alt.Shape("state:N", scale=alt.Scale(domain=states, range=[_MARKS[each] for each in states])),
        )

    return draw


def durations(points: Sequence[Point]) -> Callable[[int], alt.TopLevelMixin]:
    """Seconds of the green runs, with the band of what is usual; runs that are told to be slow are diamonds."""
    rows = [
        {
            "at": _stamp(each.at), "seconds": each.seconds, "low": each.low, "usual": each.usual, "high": each.high,
            "told": "told slower" if each.told else "as usual",
        }
        for each in points
    ]  # fmt: skip
    tones = ["as usual", "told slower"]

    def draw(width: int) -> alt.TopLevelMixin:
        base: Any = alt.Chart(alt.Data(values=rows), width=width, height=_HEIGHT)
        x = alt.X("at:T", title=None, axis=_time(width))
        low = alt.Y("low:Q", title="seconds", scale=alt.Scale(zero=False))
        band = base.transform_filter("datum.high != null").mark_area(color=LIGHT.line, opacity=1)
        middle = base.transform_filter("datum.usual != null").mark_line(color=LIGHT.muted, strokeDash=[4, 3])
        return (
            band.encode(x=x, y=low, y2="high:Q")
            + middle.encode(x=x, y="usual:Q")
            + base.mark_point(filled=True, size=40 if width == WIDE else 22, opacity=1).encode(
                x=x,
                y="seconds:Q",
                color=alt.Color(
                    "told:N",
                    scale=alt.Scale(domain=tones, range=[LIGHT.series_1, LIGHT.bad]),
                    legend=alt.Legend(title=None, orient="top"),
                ),
                shape=alt.Shape("told:N", scale=alt.Scale(domain=tones, range=["circle", "diamond"])),
            )
        )

    return draw


def over_time(samples: Sequence[Sample], title: str, colour: str, *, bars: bool = False, zero: bool = False) -> Any:
    """One value a run, as a line, or as bars that start at nothing."""
    rows = [{"at": _stamp(each.at), "value": each.value} for each in samples]

    def draw(width: int) -> alt.TopLevelMixin:
        base: Any = alt.Chart(alt.Data(values=rows), width=width, height=_HEIGHT - 60)
        thick = max(2, min(14, width // (2 * max(len(rows), 1))))
        mark = (
            base.mark_bar(color=colour, size=thick) if bars else base.mark_line(color=colour, point={"color": colour})
        )
        return mark.encode(
            x=alt.X("at:T", title=None, axis=_time(width)),
            y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=zero or bars), axis=alt.Axis(tickCount=4)),
        )

    return draw


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneChips:
    """Chips of one generation in a zone: those that are declared at most, and those that stand."""

    zone: str
    generation: str
    declared: int
    standing: int

    @property
    def said(self) -> str:
        return f"{self.standing:,} of {self.declared:,} chips stand"


def chips(rows: Sequence[ZoneChips]) -> Callable[[int], alt.TopLevelMixin]:
    """A bar a zone and generation: pale as far as it is declared, full as far as it stands."""
    values = [
        {
            "place": f"{each.zone}  {each.generation}", "generation": each.generation, "declared": each.declared,
            "standing": each.standing, "says": f"{each.standing:,} of {each.declared:,}",
        }
        for each in rows
    ]  # fmt: skip
    generations = sorted({each.generation for each in rows})
    most = max((each.declared for each in rows), default=1)

    def draw(width: int) -> alt.TopLevelMixin:
        plot = width - _LABELS
        base: Any = alt.Chart(alt.Data(values=values), width=plot, height=_BAR * max(len(values), 1)).encode(
            y=alt.Y("place:N", title=None, sort=None, axis=alt.Axis(labelLimit=200, ticks=False, domain=False))
        )
        scale = alt.Scale(domain=[0, most * (1.16 if width == WIDE else 1.5)])
        colour = alt.Color(
            "generation:N",
            scale=alt.Scale(domain=generations, range=list(LIGHT.series[: len(generations)])),
            legend=alt.Legend(title=None, orient="top"),
        )
        axis = alt.Axis(tickCount=5 if width == WIDE else 3, format="d")
        return (
            base.mark_bar(size=16, color=LIGHT.line).encode(x=alt.X("declared:Q", title=None, scale=scale, axis=axis))
            + base.mark_bar(size=16).encode(x=alt.X("standing:Q", scale=scale), color=colour)
            + base.mark_text(align="left", dx=6, color=LIGHT.text, fontSize=12).encode(
                x=alt.X("declared:Q", scale=scale), text="says:N"
            )
        )

    return draw


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """A limit, in chips, and the most that draws on it at once."""

    name: str
    used: int
    size: int

    @property
    def share(self) -> float:
        return self.used / self.size if self.size else 0.0


def limits(rows: Sequence[LimitUse]) -> Callable[[int], alt.TopLevelMixin]:
    """A bar a limit, in parts of it: what is drawn, and what is free."""
    values = [
        {
            "limit": each.name, "share": min(each.share, 1.0), "whole": 1.0,
            "says": f"{each.size - each.used:,} of {each.size:,} free",
        }
        for each in rows
    ]  # fmt: skip

    def draw(width: int) -> alt.TopLevelMixin:
        plot = width - _LABELS
        base: Any = alt.Chart(alt.Data(values=values), width=plot, height=_BAR * max(len(values), 1)).encode(
            y=alt.Y("limit:N", title=None, sort=None, axis=alt.Axis(labelLimit=220, ticks=False, domain=False))
        )
        scale = alt.Scale(domain=[0, 1.22 if width == WIDE else 1.75])
        axis = alt.Axis(values=[0, 0.5, 1], format="%", grid=False)
        return (
            base.mark_bar(size=16, color=LIGHT.line).encode(x=alt.X("whole:Q", title=None, scale=scale, axis=axis))
            + base.mark_bar(size=16, color=LIGHT.accent).encode(x=alt.X("share:Q", scale=scale))
            + base.mark_text(align="left", dx=6, color=LIGHT.text, fontSize=12).encode(
                x=alt.X("whole:Q", scale=scale), text="says:N"
            )
        )

    return draw


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthMoney:
    """US dollars of a stack in a month (`2026-11`): spent, and what is forecast beyond that to its end."""

    stack: str
    month: str
    spent: float
    ahead: float


def money(rows: Sequence[MonthMoney]) -> Callable[[int], alt.TopLevelMixin]:
    """A bar a stack and month: what was spent, and behind it what is forecast."""
    kinds = ("spent", "forecast to the month's end")
    values = [
        {"bar": f"{each.stack} {each.month}", "usd": round(usd, 2), "kind": kind, "order": order}
        for each in rows
        for order, (kind, usd) in enumerate(zip(kinds, (each.spent, each.ahead), strict=True))
    ]
    sums = [
        {"bar": f"{each.stack} {each.month}", "usd": round(each.spent + each.ahead, 2), "says": f"${total:,.2f}"}
        for each in rows
        for total in (each.spent + each.ahead,)
    ]
    most = max((each["usd"] for each in sums), default=1) or 1

    def draw(width: int) -> alt.TopLevelMixin:
        plot, height = width - _LABELS, _BAR * max(len(rows), 1)
        scale = alt.Scale(domain=[0, most * (1.16 if width == WIDE else 1.6)])
        y = alt.Y("bar:N", title=None, sort=None, axis=alt.Axis(labelLimit=200, ticks=False, domain=False))
        axis = alt.Axis(tickCount=5 if width == WIDE else 3, format="$,d")
        bars: Any = alt.Chart(alt.Data(values=values), width=plot, height=height).mark_bar(size=16)
        said: Any = alt.Chart(alt.Data(values=sums)).mark_text(align="left", dx=6, color=LIGHT.text, fontSize=12)
        colours = alt.Scale(domain=list(kinds), range=[LIGHT.accent, LIGHT.line])
        return bars.encode(
            x=alt.X("usd:Q", title=None, scale=scale, axis=axis),
            y=y,
            color=alt.Color("kind:N", scale=colours, legend=alt.Legend(title=None, orient="top", labelLimit=220)),
            order="order:Q",
        ) + said.encode(x=alt.X("usd:Q", scale=scale), y=y, text="says:N")

    return draw


def _time(width: int) -> alt.Axis:
    return alt.Axis(format="%d %b", tickCount=10 if width == WIDE else 4, grid=False, labelOverlap=True)


def _stamp(at: datetime) -> str:
    return at.isoformat()
