"""Whether an alert is open by the lines that were printed, as its row of `infra.model.alerts` says it.

That the declared policies and metrics say the same is in the golden of resources (tests/program/golden).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from infra.model.alerts import Alert, alerts
from infra.model.stack import parse_stack
from tests.program.stacks import text_of

ALERTS: dict[str, Alert] = {each.key: each for each in alerts(parse_stack(text_of("ci"), stack="ci", source="ci"))}
MINUTE = timedelta(minutes=1)


@dataclass
class Watch:
    """lines: those of the broker and of the controller."""

    lines: list[Mapping[str, Any]] = field(default_factory=list)

    def printed(self, lines: Iterable[Mapping[str, Any]]) -> None:
        self.lines += lines

    def open(self, key: str, at: datetime) -> set[str]:
        """What tells incidents apart, of those open a moment after `at`; "" where nothing does.

        A series begins with its first line and is known from then on.
        """
        alert, series = ALERTS[key], defaultdict[str, list[tuple[datetime, int]]](list)
        for line in filter(alert.match.fits, self.lines):
            time = datetime.fromisoformat(line["time"])
            series[line[alert.by] if alert.by else ""].append((time, line[alert.zero] if alert.zero else 1))
        moments, window = [at + MINUTE * (1 - back) for back in range(alert.lasting + 1)], MINUTE * alert.window
        return {
            of
            for of, points in series.items()
            if points[0][0] <= at
            and all(_told(alert, [value for time, value in points if m - window < time <= min(m, at)]) for m in moments)
        }


def _told(alert: Alert, values: list[int]) -> bool:
    if alert.zero:
        return bool(values) and not any(values)
    return not values if alert.missing else sum(values) > alert.above
