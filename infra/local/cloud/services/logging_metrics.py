"""Cloud Logging: metrics that count log entries. No entry is kept here, so nothing is counted.

Owns what a metric must say. Source: cloud.google.com/logging/docs/reference/v2/rest/v2/projects.metrics, read 2026-11.
"""

from __future__ import annotations

import re

from infra.local.cloud.clock import timestamp
from infra.local.cloud.errors import already_exists, invalid, not_found
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, listings
from infra.local.cloud.store import Resource

_KIND = "logging.metric"
_NAME = re.compile(r"[A-Za-z0-9_.,+!*',()%/-]{1,100}")
_EXTRACTOR = re.compile(r"(REGEXP_)?EXTRACT\(.+\)")
_OUTPUTS = frozenset({"createTime", "updateTime", "version", "resourceName"})


@handles("logging.projects.metrics.create")
def create_metric(call: Call) -> JsonObject:
    identity = call.body.get("name", "")
    if not _NAME.fullmatch(identity) or identity.startswith("/"):
        raise invalid(f"Metric name '{identity}' has 1 to 100 of A-Z, a-z, 0-9 and _-.,+!*',()%/, no / first.")
    name = f"{_parent(call)}/{identity}"
    if call.cloud.store.find(_KIND, name):
        raise already_exists(name)
    return _shown(call.cloud.store.insert(_KIND, name, _checked(call.body), now=call.cloud.now))


@handles("logging.projects.metrics.get")
def get_metric(call: Call) -> JsonObject:
    return _shown(_found(call))


@handles("logging.projects.metrics.list")
def list_metrics(call: Call) -> JsonObject:
    return listings.stored(call, "metrics", _KIND, f"{_parent(call)}/", _shown)


@handles("logging.projects.metrics.update")
def update_metric(call: Call) -> JsonObject:
    held, wanted = _found(call), _checked(call.body)
    for kind in ("metricKind", "valueType"):
        if wanted["metricDescriptor"][kind] != held.body["metricDescriptor"][kind]:
            raise invalid(f"The {kind} of a metric never changes.", field=f"metric_descriptor.{kind}")
    return _shown(call.cloud.store.replace(held, wanted, now=call.cloud.now))


@handles("logging.projects.metrics.delete")
def delete_metric(call: Call) -> JsonObject:
    call.cloud.store.delete(_KIND, _found(call).name)
    return {}


def _parent(call: Call) -> str:
    return f"projects/{call.cloud.project(call.ids['projectsId']).id}/metrics"


def _found(call: Call) -> Resource:
    name = f"{_parent(call)}/{call.ids['metricsId']}"
    held = call.cloud.store.find(_KIND, name)
    if held is None:
        raise not_found(name)
    return held


def _checked(body: JsonObject) -> JsonObject:
    """Every label is extracted, every extractor has its label, and a distribution is of something, in buckets."""
    kept = bodies.without_unset({key: value for key, value in body.items() if key not in _OUTPUTS})
    if not kept.get("filter"):
        raise invalid("The metric's filter must not be empty.", field="filter")
    descriptor: JsonObject = {
        "metricKind": "DELTA",
        "valueType": "INT64",
        "unit": "1",
        **(kept.get("metricDescriptor") or {}),
    }
    if (descriptor["valueType"] == "DISTRIBUTION") != bool(kept.get("valueExtractor")):
        raise invalid("A distribution, and nothing else, has a value extractor.", field="valueExtractor")
    if (descriptor["valueType"] == "DISTRIBUTION") != bool(kept.get("bucketOptions")):
        raise invalid("A distribution, and nothing else, has bucket options.", field="bucketOptions")
    labels = {label["key"] for label in descriptor.get("labels", ())}
    extractors = kept.get("labelExtractors", {})
    if labels != extractors.keys():
        raise invalid(
            f"Labels {sorted(labels)} and extractors {sorted(extractors)} must be the same.", field="labelExtractors"
        )
    for text in extractors.values():
        if not _EXTRACTOR.fullmatch(text):
            raise invalid(f"'{text}' is neither EXTRACT(field) nor REGEXP_EXTRACT(field, regexp).")
    return {**kept, "metricDescriptor": descriptor}


def _shown(held: Resource) -> JsonObject:
    times = {"createTime": timestamp(held.created), "updateTime": timestamp(held.updated)}
    return {**held.body, **times, "resourceName": held.name}
