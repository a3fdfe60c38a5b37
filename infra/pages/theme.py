"""The colours and type of charts and pages, light and dark.

A chart is drawn once, in the light colours. Each colour of the light palette has one counterpart in the dark one, so
that rules of CSS which match the colours of fills and strokes make the same drawing dark (`adaptive`, `dark_rules`):
a viewer that knows no CSS shows the light one. Contrasts are those that `tests/pages/test_theme.py` holds them to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """Colours by what they are for, as `#rrggbb`; no two of one palette are the same.

    background: of the page. surface: of cards and tables on it. text, muted: what is read, and what stands beside it.
    line: rules, axes and grids. accent: links and what is chosen. good, warning, bad: judgements, never told by colour
    alone. limit: a line that nothing may cross. The series are told apart by people who see no red or no green, too.
    """

    background: str
    surface: str
    text: str
    muted: str
    line: str
    accent: str
    good: str
    warning: str
    bad: str
    limit: str
    series_1: str
    series_2: str
    series_3: str
    series_4: str
    series_5: str
    series_6: str

    @property
    def series(self) -> tuple[str, ...]:
        """Colours of things of one kind, in the order in which they are used."""
        return (self.series_1, self.series_2, self.series_3, self.series_4, self.series_5, self.series_6)


LIGHT = Palette(
    background="#ffffff",
    surface="#f5f6f8",
    text="#1c2128",
    muted="#59636e",
    line="#d5dae1",
    accent="#0b62c4",
    good="#177a3c",
    warning="#8f5a00",
    bad="#c0262d",
    limit="#a3123a",
    series_1="#3b6fb6",
    series_2="#c8690f",
    series_3="#2f8a7d",
    series_4="#8a5bb5",
    series_5="#a07d12",
    series_6="#b5527a",
)
DARK = Palette(
    background="#12161c",
    surface="#1b2129",
    text="#e8ecf1",
    muted="#a3aeba",
    line="#39424d",
    accent="#74b1ff",
    good="#5fc982",
    warning="#e3ab52",
    bad="#ff8080",
    limit="#ff7d9c",
    series_1="#7ba9e6",
    series_2="#f0a35e",
    series_3="#63c2b3",
    series_4="#bd98e3",
    series_5="#d6b84d",
    series_6="#e592b4",
)


def variables() -> str:
    """CSS: the palette as `--background`, `--series-1` and so on: light, dark where the reader's machine is, and the
    other where a page's root says so by `data-theme`. Printed, a page is light."""
    light, dark = (_declared(palette) for palette in (LIGHT, DARK))
    return f":root{{color-scheme:light;{light}}}" + _where_dark(lambda root: f"{root}{{color-scheme:dark;{dark}}}")


def dark_rules() -> str:
    """CSS: what makes a chart that stands in a page, or alone, dark where `variables` does so of the page."""
    pairs = [(getattr(LIGHT, each.name), getattr(DARK, each.name)) for each in fields(Palette)]
    return _where_dark(
        lambda root: "".join(
            f'{root} [{what}="{light}"]{{{what}:{dark}}}' for light, dark in pairs for what in ("fill", "stroke")
        )
    )


def _where_dark(rules: Callable[[str], str]) -> str:
    """Rules below the root, where the reader's machine is dark and where the page was made so."""
    machine, chosen = rules(":root:not([data-theme=light])"), rules(":root[data-theme=dark]")
    return f"@media screen and (prefers-color-scheme:dark){{{machine}}}@media screen{{{chosen}}}"


def adaptive(svg: str) -> str:
    """A chart drawn in the light colours, dark where the reader's machine is, wherever it is shown as a file."""
    opening, rest = svg.split(">", 1)
    return f"{opening}><style>{dark_rules()}</style>{rest}"


def chart_config() -> dict[str, Any]:
    """What every chart of altair has in common, as its `configure` takes it."""
    words = {"labelColor": LIGHT.muted, "titleColor": LIGHT.text, "labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": LIGHT.background,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {**words, "gridColor": LIGHT.line, "domainColor": LIGHT.line, "tickColor": LIGHT.line},
        "legend": {**words, "symbolType": "square"},
        "header": {**words, "titleFontSize": 13, "labelFontSize": 13, "labelColor": LIGHT.text},
        "title": {"color": LIGHT.text, "subtitleColor": LIGHT.muted, "fontSize": 16, "anchor": "start"},
        "range": {"category": list(LIGHT.series)},
    }


def _declared(palette: Palette) -> str:
    return "".join(f"--{name.replace('_', '-')}:{colour};" for name, colour in asdict(palette).items())
