"""Cloud Logging's metrics, Cloud Monitoring's alert policies, the channels by which people are told, and dashboards.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and the discovery documents logging v2 and
monitoring v1 and v3 (2026-01 to 2026-09).
"""

from __future__ import annotations

import json
from typing import Any

from infra.local.provider.checker import Naming
from infra.local.provider.fields import at_least_one, block, blocks, flag, real, reals, table, text, texts, whole
from infra.local.provider.monitoring import Channel, Dashboard, Metric, Named, normal_json
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.tables.common import COMMON

_METRICS = "projects/{project}/metrics"
_POLICIES = "projects/{project}/alertPolicies"
_CHANNELS = "projects/{project}/notificationChannels"
_DASHBOARDS = "projects/{project}/dashboards"


def _is_json(value: str) -> str | None:
    try:
        json.loads(value)
    except ValueError as error:
        return f"not JSON: {error}"
    return None


def _says_no_more(old: str, new: str) -> bool:
    """Whether everything that the program says is so: keys that the service or a person added mean nothing."""
    if _is_json(old) or _is_json(new):
        return old == new
    return _holds(json.loads(old), json.loads(new))


def _holds(found: Any, wanted: Any) -> bool:
    if isinstance(found, dict) and isinstance(wanted, dict):
        return all(key in found and _holds(found[key], value) for key, value in wanted.items())
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_holds, found, wanted))
    return found == wanted


def _reduces_nothing(old: Any, new: Any, *_: Any) -> bool:
    return {old or _NO_REDUCER, new or _NO_REDUCER} == {_NO_REDUCER}


_METRIC = {
    "name": text(),
    **COMMON,
    "filter": text(required=True),
    "description": text(),
    "disabled": flag(),
    "bucketName": text(),
    "labelExtractors": table(),
    "valueExtractor": text(),
    "bucketOptions": block(
        {
            "explicitBuckets": block({"bounds": reals(required=True)}),
            "exponentialBuckets": block(
                {
                    "numFiniteBuckets": whole(required=True),
                    "growthFactor": real(required=True),
                    "scale": real(required=True),
                }
            ),
            "linearBuckets": block(
                {"numFiniteBuckets": whole(required=True), "width": real(required=True), "offset": real(required=True)}
            ),
        },
        relations=(at_least_one("explicitBuckets", "exponentialBuckets", "linearBuckets"),),
    ),
    "metricDescriptor": block(
        {
            "metricKind": text(required=True, choices=("DELTA", "GAUGE", "CUMULATIVE")),
            "valueType": text(required=True, choices=("BOOL", "INT64", "DOUBLE", "STRING", "DISTRIBUTION", "MONEY")),
            "unit": text(default="1"),
            "displayName": text(),
            "labels": blocks(
                {
                    "key": text(required=True, replaces=True),
                    "description": text(),
                    "valueType": text(default="STRING", replaces=True, choices=("BOOL", "INT64", "STRING")),
                },
                unordered=True,
            ),
        },
        server=True,
    ),
}

METRIC = ResourceType(
    "gcp:logging/metric:Metric",
    noun="Metric",
    identity=Path("{name}"),
    fields=_METRIC,
    naming=Naming(longest=255),
    imports=1,
    calls=Metric(base="v2", collection=Path(_METRICS), item=Path(f"{_METRICS}/{{name}}"), fields=_METRIC),
)

_NO_REDUCER = "REDUCE_NONE"
_ALIGNERS = tuple(
    f"ALIGN_{each}"
    for each in (
        "NONE", "DELTA", "RATE", "INTERPOLATE", "NEXT_OLDER", "MIN", "MAX", "MEAN", "COUNT", "SUM", "STDDEV",
        "COUNT_TRUE", "COUNT_FALSE", "FRACTION_TRUE", "PERCENTILE_99", "PERCENTILE_95", "PERCENTILE_50",
        "PERCENTILE_05", "PERCENT_CHANGE",
    )
)  # fmt: skip
_REDUCERS = (
    _NO_REDUCER,
    *(
        f"REDUCE_{each}"
        for each in (
            "MEAN", "MIN", "MAX", "SUM", "STDDEV", "COUNT", "COUNT_TRUE", "COUNT_FALSE", "FRACTION_TRUE",
            "PERCENTILE_99", "PERCENTILE_95", "PERCENTILE_50", "PERCENTILE_05",
        )
    ),
)  # fmt: skip
_COMPARISONS = tuple(f"COMPARISON_{each}" for each in ("GT", "GE", "LT", "LE", "EQ", "NE"))
_MISSING = tuple(f"EVALUATION_MISSING_DATA_{each}" for each in ("INACTIVE", "ACTIVE", "NO_OP"))
_RECORD = {"mutatedBy": text(computed=True), "mutateTime": text(computed=True)}

_POLICY = {
    "name": text(computed=True),
    **COMMON,
    "displayName": text(required=True),
    "combiner": text(required=True, choices=("AND", "OR", "AND_WITH_MATCHING_RESOURCE")),
    "enabled": flag(default=True, always=True),
    "severity": text(choices=("CRITICAL", "ERROR", "WARNING")),
    "conditions": blocks(
        {
            "name": text(computed=True),
            "displayName": text(required=True),
            "conditionThreshold": block(
                {
                    "filter": text(),
                    "comparison": text(required=True, choices=_COMPARISONS),
                    "duration": text(required=True),
                    "thresholdValue": real(),
                    "aggregations": blocks(
                        {
                            "alignmentPeriod": text(),
                            "perSeriesAligner": text(choices=_ALIGNERS),
                            "crossSeriesReducer": text(choices=_REDUCERS, hidden=_reduces_nothing),
                            "groupByFields": texts(),
                        }
                    ),
                    "evaluationMissingData": text(choices=_MISSING),
                    "trigger": block({"count": whole(), "percent": real()}),
                }
            ),
        },
        required=True,
    ),
    "documentation": block(
        {
            "content": text(),
            "mimeType": text(default="text/markdown"),
            "subject": text(),
            "links": blocks({"displayName": text(), "url": text()}),
        },
        relations=(at_least_one("content", "links", "mimeType", "subject"),),
    ),
    "notificationChannels": texts(),
    "alertStrategy": block({"autoClose": text()}),
    "userLabels": table(),
    "creationRecords": blocks(_RECORD, wire="creationRecord", computed=True),
}

ALERT_POLICY = ResourceType(
    "gcp:monitoring/alertPolicy:AlertPolicy",
    noun="AlertPolicy",
    identity=Path(f"{_POLICIES}/{{number}}"),
    fields=_POLICY,
    assigned={"number": "number"},
    calls=Named(base="v3", collection=Path(_POLICIES), item=Path(f"{_POLICIES}/{{number}}"), fields=_POLICY),
)

_CHANNEL = {
    "name": text(computed=True),
    **COMMON,
    "type": text(required=True),
    "displayName": text(),
    "description": text(),
    "enabled": flag(default=True, always=True),
    "labels": table(always=True),
    "userLabels": table(),
    "forceDelete": flag(local=True),
    "verificationStatus": text(computed=True),
}

NOTIFICATION_CHANNEL = ResourceType(
    "gcp:monitoring/notificationChannel:NotificationChannel",
    noun="NotificationChannel",
    identity=Path(f"{_CHANNELS}/{{number}}"),
    fields=_CHANNEL,
    assigned={"number": "number"},
    calls=Channel(
        base="v3", collection=Path(_CHANNELS), item=Path(f"{_CHANNELS}/{{number}}"), fields=_CHANNEL, whole=True
    ),
)

_DASHBOARD = {"dashboardJson": text(required=True, rule=_is_json, same=_says_no_more, stored=normal_json), **COMMON}

DASHBOARD = ResourceType(
    "gcp:monitoring/dashboard:Dashboard",
    noun="Dashboard",
    identity=Path(f"{_DASHBOARDS}/{{number}}"),
    fields=_DASHBOARD,
    assigned={"number": "number"},
    calls=Dashboard(base="v1", collection=Path(_DASHBOARDS), item=Path(f"{_DASHBOARDS}/{{number}}"), fields=_DASHBOARD),
)

TYPES = (METRIC, ALERT_POLICY, NOTIFICATION_CHANNEL, DASHBOARD)
