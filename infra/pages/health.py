"""The page of results: one HTML file that loads nothing, light and dark, with an anchor for every suite.

Owns the page. Does not own its charts (`infra.pages.charts`) nor what it shows (`infra.results.board`). Texts of test
runs are a stranger's: each is escaped here, and the page has no script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from infra.model.visible import visible
from infra.pages import charts
from infra.pages.theme import LIGHT, dark_rules, variables
from infra.results.board import Board, Sample, SuiteBoard
from infra.results.lines import duration, headline

_STYLE: Final = """
*{box-sizing:border-box}
body{margin:0 auto;max-width:980px;padding:16px;background:var(--background);color:var(--text);
font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif}
h1{font-size:22px;margin:8px 0}h2{font-size:19px;margin:0 0 4px}h3{font-size:15px;margin:20px 0 6px}
p{margin:4px 0}.muted{color:var(--muted)}a{color:var(--accent)}
a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.skip{position:absolute;left:-999px}.skip:focus{left:16px;top:8px;background:var(--surface);padding:8px}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(210px,1fr));gap:12px;padding:0;list-style:none}
.card{background:var(--surface);border:1px solid var(--line);border-left:5px solid var(--tone);border-radius:8px;
padding:10px 14px}
.card b{font-size:16px}
section{border-top:1px solid var(--line);margin-top:28px;padding-top:20px}
figure{margin:0}figcaption{color:var(--muted);font-size:13px}
svg{max-width:100%;height:auto}.narrow{display:none}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{border-bottom:1px solid var(--line);padding:6px 10px 6px 0;text-align:left;vertical-align:top;
min-width:84px;overflow-wrap:anywhere}
th{color:var(--muted);font-weight:600;overflow-wrap:normal}td.number,th.number{text-align:right}
.scroll{overflow-x:auto}
.state{color:var(--tone);font-weight:600;white-space:nowrap}
.good{--tone:var(--good)}.warning{--tone:var(--warning)}.bad{--tone:var(--bad)}
.pair{display:grid;grid-template-columns:1fr;gap:4px}
details{margin:6px 0}summary{color:var(--muted);cursor:pointer;font-size:13px}
@media(max-width:700px){.wide{display:none}.narrow{display:block}body{padding:12px}
.stacked thead{position:absolute;left:-9999px}.stacked tr,.stacked td{display:block;border:0;padding:1px 0}
.stacked tr{border-bottom:1px solid var(--line);padding:8px 0}
.stacked td::before{content:attr(data-label) ": ";color:var(--muted)}.stacked td.number{text-align:left}}
"""
_NARROW_COLUMNS: Final = 3
"""As many fit side by side on a telephone."""


def page(board: Board) -> str:
    """Everything that is known of the suites of a board."""
    made = f"{board.made:%d %B %Y, %H:%M} UTC"
    suites = "".join(_suite(each) for each in board.suites)
    cards = "".join(_card(each) for each in board.suites)
    health = _figure(
        "Health by suite and day",
        f"The worst end of each day on the main branch. {_told_health(board)}",
        charts.both(charts.health(board), "health"),
    )
    body = (
        f'<ul class="cards" aria-label="Suites">{cards}</ul>{health}{suites}'
        if board.suites
        else "<p>No results are kept yet. <code>./tidepool results publish</code> keeps the first.</p>"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Results of test runs</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<style>{variables()}{_STYLE}{dark_rules()}</style></head><body>"
        '<a class="skip" href="#suites">Skip to the suites</a>'
        f'<header><h1>Results of test runs</h1><p class="muted">Made {made}.</p></header>'
        f'<main id="suites">{body}</main></body></html>\n'
    )


def _card(suite: SuiteBoard) -> str:
    tone, said = _state(suite)
    run = suite.report.run
    coverage = "" if run.coverage is None else f" · coverage {run.coverage:.0f} %"
    loose = f" · {len(suite.flaky)} flaky" if suite.flaky else ""
    return (
        f'<li class="card {tone}"><a href="#{_anchor(suite)}"><b>{_text(suite.suite)}</b></a> '
        f'<span class="state">{said}</span><p class="muted">{run.seconds:.0f} s{coverage}{loose}</p>'
        f'<p class="muted">{run.at:%d %b %H:%M} · {_text(run.hardware)}</p></li>'
    )


def _suite(suite: SuiteBoard) -> str:
    name, report = _text(suite.suite), suite.report
    tone, said = _state(suite)
    parts = [
        f'<section id="{_anchor(suite)}" aria-labelledby="{_anchor(suite)}-title">',
        f'<h2 id="{_anchor(suite)}-title"><a href="#{_anchor(suite)}">{name}</a> ',
        f'<span class="state {tone}">{said}</span></h2>',
        f'<p class="muted">{_text(headline(report))}. Commit <code>{report.run.commit[:12]}</code>.</p>',
    ]
    if suite.findings:
        rows = ([each.kind.value, each.subject, each.says, each.next] for each in suite.findings)
        parts.append(_table("What to look at", ("What", "Where", "Found", "Next"), rows))
    if suite.points:
        slow = sum(each.told for each in suite.points)
        told = f"{len(suite.points)} green runs; {slow} are told to be slower. {duration(report)}"
        parts.append(
            _figure(
                "Duration, with what is usual",
                told,
                charts.both(charts.durations(suite.points), f"{_anchor(suite)}-time"),
                _samples("seconds", [Sample(at=each.at, run=each.run, value=each.seconds) for each in suite.points]),
            )
        )
    parts += _series(suite)
    if suite.flaky:
        rows = (
            [each.test, f"{100 * each.score:.1f} %", str(each.trees), f"{each.last:%Y-%m-%d}"] for each in suite.flaky
        )
        parts.append(_table("Flaky tests", ("Test", "Score", "Trees", "Last"), rows, numbers=(1, 2)))
    if suite.quarantine:
        rows = ([each.test, each.owner, each.reason, str(each.expires)] for each in suite.quarantine)
        parts.append(_table("Quarantine", ("Test", "Owner", "Reason", "Until"), rows))
    if suite.months:
        rows = ([month, f"${cost:.2f}"] for month, cost in suite.months)
        parts.append(_table("Cost by month, by list prices", ("Month", "Cost"), rows, numbers=(1,)))
    return "".join([*parts, "</section>"])


def _series(suite: SuiteBoard) -> Iterator[str]:
    for title, what, unit, samples, colour, bars in (
        ("Coverage", "Percent of lines", "percent", suite.coverage, LIGHT.series_3, False),
        ("Waits", "Seconds from the request to the first test", "seconds", suite.waits, LIGHT.series_4, True),
        ("Cost of each run", "US dollars by list prices", "USD", suite.usd, LIGHT.series_2, True),
    ):
        if samples:
            values = [each.value for each in samples]
            told = f"{what}: from {min(values):.3g} to {max(values):.3g}, last {values[-1]:.3g}."
            drawn = charts.both(
                charts.over_time(samples, unit, colour, bars=bars), f"{_anchor(suite)}-{title.split()[0].lower()}"
            )
            yield _figure(title, told, drawn, _samples(unit, samples))


def _figure(title: str, told: str, drawn: str, data: str = "") -> str:
    """A chart with what it says in words, for people who do not see it, and its numbers."""
    label = escape(f"{title}. {told}", quote=True)
    return (
        f'<h3>{_text(title)}</h3><figure><div role="img" aria-label="{label}">{drawn}</div>'
        f"<figcaption>{_text(told)}</figcaption></figure>{data}"
    )


def _samples(unit: str, samples: Sequence[Sample]) -> str:
    rows = ([f"{each.at:%Y-%m-%d %H:%M}", each.run, f"{each.value:.4g}"] for each in reversed(samples))
    table = _rows(("When", "Run", unit), rows, numbers=(2,))
    return f"<details><summary>The {len(samples)} numbers</summary>{table}</details>"


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: tuple[int, ...] = ()) -> str:
    return f"<h3>{_text(title)}</h3>{_rows(head, rows, numbers=numbers, label=title)}"


def _rows(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: tuple[int, ...] = (), label: str = "Numbers"
) -> str:
    def cell(tag: str, at: int, text: str) -> str:
        scope = ' scope="col"' if tag == "th" else ""
        kind = ' class="number"' if at in numbers else ""
        label = escape(head[at], quote=True)
        named = f' role="cell" data-label="{label}"' if tag == "td" else ' role="columnheader"'
        return f"<{tag}{scope}{kind}{named}>{_text(text)}</{tag}>"

    def row(tag: str, cells: Sequence[str]) -> str:
        return f'<tr role="row">{"".join(cell(tag, at, text) for at, text in enumerate(cells))}</tr>'

    body = "".join(row("td", each) for each in rows)
    region = f'class="scroll" role="region" aria-label="{escape(label, quote=True)}" tabindex="0"'
    # Stacked by CSS on a telephone, where a browser would forget that it is a table: the roles say it.
    stacked = ' class="stacked"' if len(head) > _NARROW_COLUMNS else ""
    table = f'<table role="table"{stacked}><thead>{row("th", head)}</thead><tbody>{body}</tbody></table>'
    return f"<div {region}>{table}</div>"


def _state(suite: SuiteBoard) -> tuple[str, str]:
    """A tone, and the same in a word."""
    if suite.report.ended == "failed":
        return "bad", "✕ failed"
    if suite.report.failed or suite.report.ended == "excused":
        return "warning", "▲ look at it"
    return "good", "■ passed"


def _told_health(board: Board) -> str:
    counts = [
        f"{each.suite}: {sum(day.state == 'failed' for day in each.days)} of {len(each.days)} days failed"
        for each in board.suites
    ]
    return f"{'; '.join(counts)}."


def _anchor(suite: SuiteBoard) -> str:
    return f"suite-{suite.suite}"


def _text(text: str) -> str:
    return escape(visible(text))
