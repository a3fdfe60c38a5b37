"""The dashboard of a stack, as Cloud Monitoring's JSON: what it draws, and where.

Owns the layout and the queries. Leaves which figures and counts there are to `infra.model.alerts`, and the resource to
`infra.components.monitoring`. Source: cloud.google.com/monitoring/api/ref_v3/rest/v1/projects.dashboards, read 2026-11.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from infra.model import names
from infra.model.alerts import FIGURES, Alert, Figure, Writer

COLUMNS: Final = 12
WIDTH, HEIGHT = 6, 4
"""Of a chart, in columns."""


def dashboard(stack: str, alerts: Sequence[Alert]) -> str:
    """One chart a figure, a line a pool, and below them one a count. A 0 is left out, as the service leaves it out."""
    charts = [*(_figure(stack, each) for each in FIGURES), *(_count(stack, each) for each in alerts if each.chart)]
    tiles = [_tile(number, chart) for number, chart in enumerate(charts)]
    layout = {"columns": COLUMNS, "tiles": tiles}
    return json.dumps({"displayName": f"Tidepool {stack}", "mosaicLayout": layout}, sort_keys=True)


def _tile(number: int, chart: dict[str, Any]) -> dict[str, Any]:
    down, along = divmod(number, COLUMNS // WIDTH)
    place = {"xPos": along * WIDTH, "yPos": down * HEIGHT}
    return {**{key: value for key, value in place.items() if value}, "width": WIDTH, "height": HEIGHT, "widget": chart}


def _figure(stack: str, figure: Figure) -> dict[str, Any]:
    query = _query(stack, figure.key, Writer.CONTROLLER, ("300s", "ALIGN_DELTA", "REDUCE_MEAN"), "pool")
    return _chart(figure.title, "LINE", query)


def _count(stack: str, alert: Alert) -> dict[str, Any]:
    query = _query(stack, alert.key, alert.writer, ("600s", "ALIGN_SUM", "REDUCE_SUM"), alert.by)
    return _chart(f"{alert.chart} in ten minutes", "STACKED_BAR", query)


def _query(stack: str, key: str, writer: Writer, how: tuple[str, str, str], by: str) -> dict[str, Any]:
    metric = f'metric.type="logging.googleapis.com/user/{names.alert_metric(stack, key)}"'
    period, aligner, reducer = how
    aggregation: dict[str, Any] = {
        "alignmentPeriod": period,
        "perSeriesAligner": aligner,
        "crossSeriesReducer": reducer,
    }
    if by:
        aggregation |= {"groupByFields": [f"metric.label.{by}"]}
    return {"filter": f'{metric} AND resource.type="{writer.resource}"', "aggregation": aggregation}


def _chart(title: str, kind: str, query: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": title,
        "xyChart": {"dataSets": [{"plotType": kind, "timeSeriesQuery": {"timeSeriesFilter": query}}]},
    }
