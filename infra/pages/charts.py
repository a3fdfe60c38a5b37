"""Charts of pages, as SVG that stands in a page: drawn by altair, rendered by vl-convert, no network.

Each chart is drawn at two widths; the page shows the one that fits, so that letters stay readable on a telephone.
"""

from __future__ import annotations

import json
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
_BAR, _TALL, _THICK = 26, 42, 16
"""Pixels of a row with its name beside the bar, of one with the name above, and of the bar."""
_AXIS, _LETTER = 40, 7
"""Pixels that other charts have beside the plot, and of a letter in the widest font that a reader may have."""
_BESIDE: Final = 1.18
"""How much longer than the longest bar the plot is, for the words behind it."""
_NARROW_DAYS: Final = 30
_LABEL, _LONG_LABEL = 90, 190
"""Pixels of the names of suites beside their days: as many as they need, and at most."""
_STATES: Final = {"passed": LIGHT.good, "flaky": LIGHT.warning, "failed": LIGHT.bad, "no result": LIGHT.muted}
_MARKS: Final = {"passed": "square", "flaky": "triangle-up", "failed": "cross", "no result": "circle"}
_OFTEN: Final = frozenset(_STATES) - {"no result"}
"""States that the legend has wherever there are days."""
_INNER_NAMES: Final = re.compile(r'(\bid="|url\(#|href="#)([A-Za-z][\w-]*)')


def both(draw: Callable[[int], alt.TopLevelMixin], key: str) -> str:
    """The chart at both widths. key: tells its inner names from those of other charts of the page."""
    return "".join(
        f'<div class="{size}" aria-hidden="true">{_svg(draw(width), f"{key}-{size}")}</div>'
        for size, width in (("wide", WIDE), ("narrow", NARROW))
    )


def _svg(chart: alt.TopLevelMixin, key: str) -> str:
    """The drawing, whose inner names are numbered anew: Vega numbers them through all drawings of a process."""
    spec: dict[str, Any] = {**chart.to_dict(), "config": chart_config()}
    names: dict[str, str] = {}
    return _INNER_NAMES.sub(
        lambda found: found[1] + names.setdefault(found[2], f"{key}-{len(names)}"), vl_convert.vegalite_to_svg(spec)
    )


def health(board: Board) -> Callable[[int], alt.TopLevelMixin]:
    """A row a suite, a mark a day: its shape says how the day ended as its colour does. Narrow, the latest
    days that there is room for beside the names."""
    rows = [
        {"suite": each.suite, "day": day.day.isoformat(), "state": day.state}
        for each in board.suites
        for day in each.days
    ]
    names = sorted({each["suite"] for each in rows})
    label = min(max(_LETTER * max(map(len, names), default=0), _LABEL), _LONG_LABEL)
    lost = label - _LABEL
    lately = sorted({each["day"] for each in rows})[-_NARROW_DAYS * (NARROW - lost) // NARROW :]
    states = [each for each in _STATES if each in _OFTEN.union(row["state"] for row in rows)]

    def draw(width: int) -> alt.TopLevelMixin:
        shown = rows if width == WIDE else [each for each in rows if each["day"] in lately]
        base: Any = alt.Chart(alt.Data(values=shown), width=width - lost, height=_ROW * max(len(names), 1))
        return base.mark_point(filled=True, size=90 if width == WIDE else 60, opacity=1).encode(
            x=alt.X("day:T", title=None, axis=_time(width, [datetime.fromisoformat(each["day"]) for each in shown])),
            y=alt.Y("suite:N", title=None, sort=names, axis=alt.Axis(labelLimit=label, grid=True)),
            color=alt.Color(
                "state:N",
                scale=alt.Scale(domain=states, range=[_STATES[each] for each in states]),
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
        x = alt.X("at:T", title=None, axis=_time(width, [each.at for each in points]))
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


def over_time(
    samples: Sequence[Sample],
    title: str,
    colour: str,
    *,
    bars: bool = False,
    zero: bool = False,
    apart: bool = False,
) -> Any:
    """One value a run, as a line, or as bars that start at nothing; as dots where several began at once (apart)."""
    rows = [{"at": _stamp(each.at), "value": each.value} for each in samples]

    def draw(width: int) -> alt.TopLevelMixin:
        base: Any = alt.Chart(alt.Data(values=rows), width=width, height=_HEIGHT - 60)
        thick = max(2, min(14, width // (2 * max(len(rows), 1))))
        if apart:
            mark = base.mark_point(color=colour, filled=True, opacity=0.7)
        elif bars:
            mark = base.mark_bar(color=colour, size=thick)
        else:
            mark = base.mark_line(color=colour, point={"color": colour})
        return mark.encode(
            x=alt.X("at:T", title=None, axis=_time(width, [each.at for each in samples])),
            y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=zero or bars), axis=alt.Axis(tickCount=4)),
        )

    return draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One thing of several: full as far as `part`, pale as far as `whole`. says: that in words. kind: by its colour."""

    name: str
    part: float
    whole: float
    says: str
    kind: str = ""


def bars(rows: Sequence[Bar], form: str) -> Callable[[int], alt.TopLevelMixin]:
    """A bar a row; where there is little room its name stands above it. form: of the axis, as d3 writes numbers."""
    values = [
        {"row": at, "name": each.name, "part": each.part, "whole": each.whole, "says": each.says, "kind": each.kind}
        for at, each in enumerate(rows)
    ]
    kinds = sorted({each.kind for each in rows})
    most = max((max(each.part, each.whole) for each in rows), default=0) or 1
    extent = _LETTER * max((len(each.name) for each in rows), default=0)

    def draw(width: int) -> alt.TopLevelMixin:
        wide = width == WIDE
        names = alt.Axis(
            labelExpr=f"{json.dumps([each.name for each in rows])}[datum.value]",
            minExtent=extent,
            labelLimit=extent + 40,
            ticks=False,
            domain=False,
        )
        y = alt.Y("row:O", title=None, axis=names if wide else None)
        plot, row = (width + _AXIS - extent, _BAR) if wide else (width + _AXIS, _TALL)
        base: Any = alt.Chart(alt.Data(values=values), width=plot, height=row * max(len(rows), 1)).encode(y=y)
        scale = alt.Scale(domain=[0, most * (_BESIDE if wide else 1)])
        axis = alt.Axis(tickCount=5 if wide else 3, format=form, grid=wide)
        colour = alt.Color(
            "kind:N",
            scale=alt.Scale(domain=kinds, range=list(LIGHT.series[: len(kinds)])),
            legend=alt.Legend(title=None, orient="top"),
        )
        below = 0 if wide else 8
        pale = base.mark_bar(size=_THICK, color=LIGHT.line, yOffset=below)
        full = base.mark_bar(size=_THICK, color=LIGHT.accent, yOffset=below)
        layers = [
            pale.encode(x=alt.X("whole:Q", title=None, scale=scale, axis=axis)),
            full.encode(x=alt.X("part:Q", scale=scale), **({"color": colour} if any(kinds) else {})),
        ]
        text = {"color": LIGHT.text, "fontSize": 12}
        if wide:
            said = base.mark_text(align="left", dx=6, **text).encode(x=alt.X("whole:Q", scale=scale), text="says:N")
            return alt.layer(*layers, said)
        above = base.mark_text(align="left", dy=-9, **text).encode(x=alt.value(0), text="name:N")
        said = base.mark_text(align="right", dy=-9, **text).encode(x=alt.value(plot), text="says:N")
        return alt.layer(*layers, above, said)

    return draw


def _time(width: int, moments: Sequence[datetime]) -> alt.Axis:
    """Days, each named once: of a few days no more ticks than days, of less than one with the hour."""
    days = (max(moments) - min(moments)).days if moments else 0
    ticks = min(10 if width == WIDE else 4, max(days, 1))
    return alt.Axis(format="%d %b" if days else "%d %b %H:%M", tickCount=ticks, grid=False, labelOverlap=True)


def _stamp(at: datetime) -> str:
    return at.isoformat()
