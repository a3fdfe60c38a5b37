"""Days ahead as an SVG: chips by the hour, generation and zone with their limits, and dollars by the day.

Chips are on a square-root scale, so that one chip of a night can be seen below a quota of many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, cast

import altair as alt
import vl_convert

from infra.model.dollars import NOTHING
from infra.model.week import ChipHour, Week
from infra.pages.theme import LIGHT, adaptive, chart_config

_WIDTH, _HEIGHT, _LOW, _MONEY = 860, 88, 46, 96
_SMALL = 400


def calendar_svg(week: Week) -> str:
    """The week as one SVG, light and dark."""
    title = alt.Title(week_title(week), subtitle=week_words(week), offset=14)
    chart = alt.vconcat(*_panels(week, _WIDTH, _HEIGHT), spacing=22, title=title, padding=16)
    return adaptive(vl_convert.vegalite_to_svg(cast("dict[str, Any]", chart.configure(**chart_config()).to_dict())))


def calendar_chart(week: Week) -> Callable[[int], alt.TopLevelMixin]:
    """The same for a page, which has the title in its text, and what stays as it is in a sentence (`steady`)."""
    always = {(each.generation, each.zone) for each in steady(week)}
    changing = tuple(each for each in week.chip_hours if (each.generation, each.zone) not in always)
    return lambda width: alt.vconcat(*_panels(replace(week, chip_hours=changing), width, _LOW), spacing=14)


def steady(week: Week) -> tuple[ChipHour, ...]:
    """The first hour of each generation and zone whose chips are the same in every hour."""
    places: dict[tuple[str, str], list[ChipHour]] = defaultdict(list)
    for each in week.chip_hours:
        places[each.generation, each.zone].append(each)
    return tuple(hours[0] for _, hours in sorted(places.items()) if len({each.chips for each in hours}) == 1)


def week_title(week: Week) -> str:
    last = week.end - timedelta(minutes=1)
    return f"{', '.join(week.stacks)}: {week.begin:%d %b} to {last:%d %b %Y}"


def week_words(week: Week) -> str:
    return f"Chips that stand, by the hour (UTC), and {week.usd} by list prices"


def _panels(week: Week, width: int, height: int) -> list[Any]:
    places = sorted({(each.generation, each.zone) for each in week.chip_hours})
    generations = sorted({generation for generation, _ in places})
    return [
        *(_chips(week, *place, LIGHT.series[generations.index(place[0]) % len(LIGHT.series)], width, height)
          for place in places),
        _money(week, width),
    ]  # fmt: skip


def _chips(week: Week, generation: str, zone: str, colour: str, width: int, height: int) -> Any:
    own = [each for each in week.chip_hours if (each.generation, each.zone) == (generation, zone)]
    rows = [{"at": _milliseconds(each.at), "chips": each.chips} for each in own]
    rows.append({"at": _milliseconds(week.end), "chips": own[-1].chips})
    limits = [each for each in week.limits if (each.generation, each.zone) == (generation, zone)]
    lines = [{"chips": each.chips, "says": f"{each.kind} {_limit(each.kind)}: {each.chips:,}"} for each in limits]
    most = max(1, *(each.chips for each in own), *(each.chips for each in limits))
    scale = alt.Scale(type="sqrt", domain=[0, most])
    ticks = sorted({0, max(each.chips for each in own), *(each.chips for each in limits)})
    y = alt.Y("chips:Q", title=None, scale=scale, axis=alt.Axis(values=ticks, format="d", labelOverlap=False))
    # The types of altair's methods promise less than what they give: a layer takes every chart without facets.
    area: Any = alt.Chart(
        alt.Data(values=rows), width=width, height=height, title=_heading(f"{generation} chips in {zone}")
    ).mark_area(interpolate="step-after", color=colour, line={"color": colour, "strokeWidth": 1}, opacity=0.85)
    above: Any = alt.Chart(alt.Data(values=lines)).encode(y=alt.Y("chips:Q", scale=scale))
    return alt.layer(
        area.encode(x=_days(week, width), y=y),
        above.mark_rule(color=LIGHT.limit, strokeDash=[6, 4], strokeWidth=1.5),
        above.mark_text(color=LIGHT.limit, align="right", baseline="top", dy=4, fontSize=12).encode(
            x=alt.value(width), text="says:N"
        ),
    )


def _money(week: Week, width: int) -> Any:
    days = [week.begin + timedelta(days=number) for number in range((week.end - week.begin).days)]
    sums = [
        sum((each.usd * _share(each.start, each.end, day, day + timedelta(days=1)) for each in week.standing), NOTHING)
        for day in days
    ]
    rows = [
        {"at": f"{day:%Y-%m-%dT%H:%M:%SZ}", "usd": round(float(usd.known), 2), "says": str(usd)}
        for day, usd in zip(days, sums, strict=True)
    ]
    heading = _heading("US dollars by day")
    bars: Any = alt.Chart(alt.Data(values=rows), width=width, height=_MONEY, title=heading).encode(
        x=alt.X("utcyearmonthdate(at):O", title=None, axis=alt.Axis(format=_day_form(width), labelAngle=0)),
        y=alt.Y("usd:Q", title=None, axis=alt.Axis(tickCount=3, format="$,.2f")),
    )
    return alt.layer(
        bars.mark_bar(color=LIGHT.accent, opacity=0.85, size=min(46, width // 12), cornerRadiusEnd=3),
        bars.mark_text(color=LIGHT.text, dy=-8, fontSize=12 if width > _SMALL else 9).encode(text="says:N"),
    )


def _days(week: Week, width: int) -> alt.X:
    midnights = [_milliseconds(week.begin + timedelta(days=each)) for each in range((week.end - week.begin).days)]
    domain = [_milliseconds(week.begin), _milliseconds(week.end)]
    return alt.X(
        "at:T",
        title=None,
        scale=alt.Scale(type="utc", domain=domain),
        axis=alt.Axis(format=_day_form(width), values=midnights, grid=True),
    )


def _day_form(width: int) -> str:
    """`Mon 23`; where seven of them have no room, the day of the month."""
    return "%a %d" if width > _SMALL else "%d"


def _milliseconds(at: datetime) -> int:
    """As Vega counts time."""
    return int(at.timestamp() * 1000)


def _heading(text: str) -> alt.TitleParams:
    return alt.TitleParams(text, fontSize=13, fontWeight=600, anchor="start", frame="group", offset=8)


def _limit(kind: str) -> str:
    return "chips" if kind == "reserved" else "quota"


def _share(start: datetime, end: datetime, begin: datetime, until: datetime) -> Decimal:
    """The part of a time that lies in another."""
    both = max(min(end, until) - max(start, begin), timedelta())
    return Decimal(int(both.total_seconds())) / int((end - start).total_seconds())
