"""Cloud Monitoring in small: whether a declared alert is open, told by its policy, its metric and printed lines.

Owns as much of Cloud Logging's filters, of alignment and of retest windows as the declared resources use; a form that
it does not know fails. What is declared is read from the local cloud, as an engine left it there.
Sources: docs.cloud.google.com/logging/docs/view/logging-query-language and
docs.cloud.google.com/monitoring/alerts/concepts-indepth, read 2026-11.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.request import urlopen

Entry = dict[str, Any]

_TOKEN = re.compile(r'\s*(\(|\)|AND\b|OR\b|[\w.]+|!=|>=|<=|=|"(?:[^"\\]|\\.)*")')
_SEVERITIES = ("DEFAULT", "DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
}
_MINUTE = timedelta(minutes=1)


def fits(text: str, entry: Entry) -> bool:
    """Whether a filter of Cloud Logging selects an entry. A field that is not there fits no comparison."""
    tokens = [match[1] for match in _TOKEN.finditer(text)]
    assert "".join(tokens) == re.sub(r'\s+(?=(?:[^"]*"[^"]*")*[^"]*$)', "", text), f"not understood: {text}"
    found, rest = _either(tokens, entry)
    assert not rest, f"not understood: {text}"
    return found


def _either(tokens: list[str], entry: Entry) -> tuple[bool, list[str]]:
    found, rest = _all(tokens, entry)
    while rest and rest[0] == "OR":
        other, rest = _all(rest[1:], entry)
        found = found or other
    return found, rest


def _all(tokens: list[str], entry: Entry) -> tuple[bool, list[str]]:
    found, rest = _one(tokens, entry)
    while rest and rest[0] == "AND":
        other, rest = _one(rest[1:], entry)
        found = found and other
    return found, rest


def _one(tokens: list[str], entry: Entry) -> tuple[bool, list[str]]:
    if tokens[0] == "(":
        found, rest = _either(tokens[1:], entry)
        assert rest[0] == ")"
        return found, rest[1:]
    path, compare, said, *rest = tokens
    held = extracted(entry, path)
    if path == "severity":
        return _COMPARE[compare](_SEVERITIES.index(held), _SEVERITIES.index(said)), rest
    return held is not None and _COMPARE[compare](held, json.loads(said)), rest


def extracted(entry: Entry, path: str) -> Any:
    found: Any = entry
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


@dataclass(kw_only=True)
class Watch:
    """What is declared in a project, and the lines that were printed. policies: by the end of their metric's name."""

    policies: dict[str, Entry]
    metrics: dict[str, Entry]
    entries: list[tuple[datetime, Entry]] = field(default_factory=list)

    def printed(self, lines: Iterable[Entry], resource: Entry) -> None:
        """Lines as Cloud Logging has them: severity and time apart, the rest as payload."""
        for line in lines:
            payload = {key: value for key, value in line.items() if key not in ("severity", "time")}
            entry = {"resource": resource, "severity": line["severity"], "jsonPayload": payload}
            self.entries.append((datetime.fromisoformat(line["time"]), entry))

    def open(self, metric: str, at: datetime) -> set[str]:
        """The values of the one label of which an incident is open a moment after `at`; "" where there is no label."""
        (condition,) = self.policies[metric]["conditions"]
        threshold = condition["conditionThreshold"]
        (aggregation,) = threshold["aggregations"]
        period, lasting = (_duration(each) for each in (aggregation["alignmentPeriod"], threshold["duration"]))
        series = self._series(metric, aggregation.get("groupByFields", []), at)
        moments = [at + _MINUTE - _MINUTE * back for back in range(int(lasting / _MINUTE) + 1)]
        return {
            label
            for label, points in series.items()
            if all(_violates(threshold, [value for time, value in points if m - period < time <= m]) for m in moments)
        }

    def _series(self, metric: str, by: list[str], at: datetime) -> dict[str, list[tuple[datetime, float]]]:
        """A series begins with its first line and is known from then on."""
        declared = self.metrics[metric]
        extractors = {f"metric.label.{key}": text for key, text in declared.get("labelExtractors", {}).items()}
        assert set(by) == extractors.keys()
        found: dict[str, list[tuple[datetime, float]]] = {}
        for time, entry in self.entries:
            if time <= at and fits(declared["filter"], entry):
                label = "".join(str(_extract(text, entry)) for text in extractors.values())
                value = declared.get("valueExtractor")
                found.setdefault(label, []).append((time, float(_extract(value, entry)) if value else 1.0))
        return found


def watch(url: str, project: str, stack: str) -> Watch:
    """What stands in a local cloud."""
    prefix = f"tidepool-{stack}-"
    metrics = {each["name"].removeprefix(prefix): each for each in _listed(f"{url}/v2/projects/{project}/metrics")}
    policies = {}
    for policy in _listed(f"{url}/v3/projects/{project}/alertPolicies", key="alertPolicies"):
        (condition,) = policy["conditions"]
        user = re.search(rf"/user/{prefix}([a-z-]+)", condition["conditionThreshold"]["filter"])
        assert user
        policies[user[1]] = policy
    return Watch(policies=policies, metrics=metrics)


def _listed(url: str, key: str = "metrics") -> list[Entry]:
    with urlopen(url, timeout=10) as answer:
        said = json.load(answer)
    assert "nextPageToken" not in said
    return said[key]


def _violates(threshold: Entry, values: list[float]) -> bool:
    """Whether one aligned and reduced value is beyond the threshold, or its absence counts as that."""
    (aggregation,) = threshold["aggregations"]
    how = (aggregation["perSeriesAligner"], aggregation["crossSeriesReducer"])
    if not values:
        return threshold.get("evaluationMissingData") == "EVALUATION_MISSING_DATA_ACTIVE"
    value = {("ALIGN_SUM", "REDUCE_SUM"): sum(values), ("ALIGN_DELTA", "REDUCE_MEAN"): sum(values) / len(values)}[how]
    limit = threshold.get("thresholdValue", 0)
    return {"COMPARISON_GT": value > limit, "COMPARISON_LT": value < limit}[threshold["comparison"]]


def _extract(text: str, entry: Entry) -> Any:
    path = re.fullmatch(r"EXTRACT\(([\w.]+)\)", text)
    assert path
    return extracted(entry, path[1])


def _duration(text: str) -> timedelta:
    return timedelta(seconds=float(text.removesuffix("s")))
