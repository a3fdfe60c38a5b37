"""What people are alerted of: which lines of the broker and the controller, how many, how long; and the dashboard.

Owns the table of alerts, the figures of a dashboard, and the filter of each, as data that both Cloud Logging's language
and a test can be made of.
Does not own the resources (`infra.components.monitoring`), the lines (`infra.fleet.sweep_log`, the broker's audit)
nor what is to be done (`docs/runbooks/`, one page by the key of each).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Final

from infra.model import names
from infra.model.schema import StackConfig

SWEEP, UNSWEPT, POOL, ACTION, FINDING, KEY, IMAGE = "sweep", "unswept", "pool", "action", "finding", "key", "image"
"""Events of the controller's lines."""

QUEUE_MINUTES: Final = 30
CAPACITY_MINUTES: Final = 60
"""Longer than the controller needs to heal, or to take a fallback, where it can."""
KEY_DAYS: Final = 330
"""A GitHub App's key has no end of its own; it is to be replaced once a year, and this leaves a month."""

_WINDOW: Final = 10
"""Minutes in which lines are counted, at least."""
_SWEEP_MISSING: Final = 30
"""Minutes: longer than a command that was killed keeps the lease."""
_REFUSALS: Final = 5
"""Within a window: a VM that is refused asks again about once a minute."""
_MEANT: Final = ("draining", "not-ready", "serving")
"""Refusals that belong to a VM's life: somebody drains it, the API is behind its guest, its runner lives still."""

_NO_FAULT: Final = ("slot-preempted", "slot-terminated", "slot-serving-away")
"""Replacements of which nobody can prevent the next: Google took the VM back, or it goes home from its fallback."""


class Writer(StrEnum):
    """Whose lines they are."""

    BROKER = "broker"
    CONTROLLER = "controller"

    @property
    def resource(self) -> str:
        """The monitored resource that Cloud Run writes them for."""
        return "cloud_run_job" if self is Writer.CONTROLLER else "cloud_run_revision"


class Severity(StrEnum):
    """Google's words, by what waits: everybody's jobs, some, or nobody's yet."""

    CRITICAL = "CRITICAL"
    ERROR = "ERROR"
    WARNING = "WARNING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Lines of one event. equal, unequal: what fields are, and are not; least: numbers, in lines that have them."""

    event: str
    equal: Mapping[str, str | int] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)
    unequal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def text(self) -> str:
        """The filter in Cloud Logging's language. https://docs.cloud.google.com/logging/docs/view/logging-query-language,
        read 2026-11."""
        parts = [f"jsonPayload.event={json.dumps(self.event)}"]
        for operator, wanted in (("=", self.equal), (">=", self.least)):
            parts += [f"jsonPayload.{key}{operator}{json.dumps(value)}" for key, value in wanted.items()]
        for key, values in self.unequal.items():
            parts += [f"jsonPayload.{key}!={json.dumps(value)}" for value in values]
        return " AND ".join(parts)

    def fits(self, line: Mapping[str, Any]) -> bool:
        """Whether a line is counted; a field that is not there fits no comparison."""
        return (
            line.get("event") == self.event
            and all(line.get(key) == value for key, value in self.equal.items())
            and all(key in line and line[key] >= value for key, value in self.least.items())
            and all(key in line and line[key] not in values for key, values in self.unequal.items())
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert. key: names its page of docs/runbooks and its resources. by: the field that tells incidents apart.

    window: minutes in which lines are counted. above: how many are too many. lasting: minutes that this must go on.
    missing: whether no line at all is what is told instead. zero: a number of the lines, none of it being told instead:
    one line that has some is enough to be well. chart: what is counted, as the dashboard calls it; empty: not drawn.
    look: the first command of its page, with `{stack}`, and `{of}` for what tells incidents apart.
    """

    key: str
    title: str
    severity: Severity
    writer: Writer
    match: Match
    window: int
    look: str
    by: str = ""
    above: int = 0
    lasting: int = 1
    missing: bool = False
    zero: str = ""
    chart: str = ""

    def command(self, stack: str, of: str) -> str:
        """What to run first, of one incident."""
        return f"./tidepool {self.look.format(stack=stack, of=of)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number of every pool's line, drawn on the dashboard by pool. key: names its metric. field: of the line."""

    key: str
    title: str
    field: str

    @property
    def match(self) -> Match:
        """Lines that have it."""
        return Match(event=POOL, least={self.field: 0})


FIGURES: Final = (
    Figure(key="pool-desired", title="VMs declared", field="desired"),
    Figure(key="pool-ready", title="VMs READY", field="ready"),
    Figure(key="pool-online", title="Runners online", field="online"),
    Figure(key="pool-busy", title="Runners with a job", field="busy"),
    Figure(key="pool-queue", title="Jobs that wait", field="queue"),
    Figure(key="pool-oldest", title="Minutes that the oldest job waits", field="oldest_minutes"),
)


def alerts(config: StackConfig) -> tuple[Alert, ...]:
    """Every alert of a stack, at the pace of its controller."""
    settings = config.controller
    window = max(_WINDOW, 2 * settings.every_minutes)
    swept = partial(Alert, writer=Writer.CONTROLLER, window=window)
    return (
        swept(
            key="no-runner-online",
            look="why {of}",
            title="No runner of a pool is online",
            severity=Severity.CRITICAL,
            match=Match(event=POOL, least={"desired": 1, "online": 0}),
            by="pool",
            lasting=config.runners.boot_minutes + 10,
            zero="online",
        ),
        swept(
            key="queue-old",
            look="why {of}",
            title=f"A job waits longer than {QUEUE_MINUTES} minutes",
            severity=Severity.WARNING,
            match=Match(event=POOL, least={"oldest_minutes": QUEUE_MINUTES}),
            by="pool",
        ),
        swept(
            key="sweep-missing",
            look="status {stack}",
            title="The controller does not sweep",
            severity=Severity.CRITICAL,
            match=Match(event=SWEEP),
            lasting=max(_SWEEP_MISSING - window, 1),
            missing=True,
            chart="Sweeps",
        ),
        swept(
            key="capacity-lost",
            look="status {stack}",
            title=f"Declared VMs are missing, or not to be seen, for {CAPACITY_MINUTES} minutes",
            severity=Severity.ERROR,
            match=Match(event=FINDING, least={"capacity_minutes": CAPACITY_MINUTES}),
            by="rule",
        ),
        Alert(
            key="heal-rate-high",
            look="why {of}",
            title="VMs of a pool fail and are made again, as many as may be",
            severity=Severity.WARNING,
            writer=Writer.CONTROLLER,
            match=Match(event=ACTION, equal={"do": "recreate"}, unequal={"rule": _NO_FAULT}),
            window=60,
            by="pool",
            above=settings.replacements_per_hour - 1,
            chart="Faulty VMs made again",
        ),
        Alert(
            key="broker-refusals",
            look="status {stack}",
            title="The broker refuses VMs",
            severity=Severity.ERROR,
            writer=Writer.BROKER,
            match=Match(event="registration", equal={"outcome": "refused"}, unequal={"reason": _MEANT}),
            window=_WINDOW,
            by="reason",
            above=_REFUSALS,
            chart="Registrations refused",
        ),
        swept(
            key="canary-failed",
            look="rollout status {of}",
            title="A rollout was rolled back",
            severity=Severity.ERROR,
            match=Match(event=FINDING, equal={"rule": "rollout-failed"}),
            by="subject",
        ),
        swept(
            key="app-key-old",
            look="status {stack}",
            title=f"The GitHub App's key is older than {KEY_DAYS} days",
            severity=Severity.WARNING,
            match=Match(event=KEY, least={"age_days": KEY_DAYS}),
        ),
        swept(
            key="image-build-failed",
            look="images list",
            title="A build of an image failed",
            severity=Severity.WARNING,
            match=Match(event=IMAGE, least={"failed": 1}),
            by="image",
        ),
        swept(
            key="image-old",
            look="images list",
            title="An image was not built at its last two times",
            severity=Severity.WARNING,
            match=Match(event=IMAGE, least={"overdue_hours": 1}),
            by="image",
        ),
    )


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
