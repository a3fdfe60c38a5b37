"""Metrics, alert policies, notification channels and dashboards through Google's own client."""

from __future__ import annotations

import pytest

PROJECT = "projects/tidepool-test"
DESCRIPTOR = {"metricKind": "DELTA", "valueType": "INT64", "labels": [{"key": "pool"}]}
METRIC = {
    "name": "sweeps",
    "filter": 'jsonPayload.event="sweep"',
    "labelExtractors": {"pool": "EXTRACT(jsonPayload.pool)"},
    "metricDescriptor": DESCRIPTOR,
}
THRESHOLD = {
    "filter": 'metric.type="logging.googleapis.com/user/sweeps" AND resource.type="cloud_run_job"',
    "comparison": "COMPARISON_LT",
    "thresholdValue": 1,
    "duration": "600s",
    "evaluationMissingData": "EVALUATION_MISSING_DATA_ACTIVE",
    "aggregations": [{"alignmentPeriod": "600s", "perSeriesAligner": "ALIGN_SUM"}],
}


def policy(**threshold):
    condition = {"displayName": "c", "conditionThreshold": {**THRESHOLD, **threshold}}
    return {"displayName": "p", "combiner": "OR", "conditions": [condition]}


@pytest.fixture(scope="module")
def metrics(client):
    return client("logging", "v2").projects().metrics()


@pytest.fixture(scope="module")
def policies(client):
    return client("monitoring", "v3").projects().alertPolicies()


@pytest.fixture(scope="module")
def channels(client):
    return client("monitoring", "v3").projects().notificationChannels()


def test_a_metric_is_made_changed_and_deleted(metrics, refused):
    name = f"{PROJECT}/metrics/sweeps"
    metrics.create(parent=PROJECT, body=METRIC).execute()
    refused(409, metrics.create(parent=PROJECT, body=METRIC))
    assert metrics.get(metricName=name).execute()["metricDescriptor"]["unit"] == "1"
    for said in ({}, {"name": "another"}, {"name": METRIC["name"]}):
        body = {**{key: value for key, value in METRIC.items() if key != "name"}, "filter": "severity>=ERROR", **said}
        assert metrics.update(metricName=name, body=body).execute()["name"] == METRIC["name"]
    distribution = {
        **METRIC,
        "valueExtractor": "EXTRACT(jsonPayload.online)",
        "bucketOptions": {"linearBuckets": {"numFiniteBuckets": 8, "width": 1, "offset": 0}},
        "metricDescriptor": DESCRIPTOR | {"valueType": "DISTRIBUTION"},
    }
    refused(400, metrics.update(metricName=name, body=distribution))
    assert [each["filter"] for each in metrics.list(parent=PROJECT).execute()["metrics"]] == ["severity>=ERROR"]
    metrics.delete(metricName=name).execute()
    refused(404, metrics.get(metricName=name))


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "a b"},
        {"filter": ""},
        {"labelExtractors": {}},
        {"labelExtractors": {"pool": "jsonPayload.pool"}},
        {"valueExtractor": "EXTRACT(jsonPayload.online)"},
        {"valueExtractor": "EXTRACT(jsonPayload.online)", "metricDescriptor": {"valueType": "DISTRIBUTION"}},
    ],
)
def test_a_metric_that_counts_nothing_is_refused(metrics, refused, wrong):
    refused(400, metrics.create(parent=PROJECT, body={**METRIC, **wrong}))


def test_a_policy_tells_channels_and_a_channel_in_use_goes_by_force_alone(policies, channels, refused):
    channel = {"type": "email", "labels": {"email_address": "a@b.org"}}
    told = channels.create(name=PROJECT, body=channel).execute()["name"]
    made = policies.create(name=PROJECT, body={**policy(), "notificationChannels": [told]}).execute()
    assert made["enabled"] is True
    assert made["conditions"][0]["name"].startswith(f"{made['name']}/conditions/")
    off = {**made, "enabled": False}
    assert policies.patch(name=made["name"], updateMask="enabled", body=off).execute()["enabled"] is False
    refused(400, channels.delete(name=told))
    channels.delete(name=told, force=True).execute()
    assert "notificationChannels" not in policies.get(name=made["name"]).execute()
    policies.delete(name=made["name"]).execute()
    refused(404, policies.get(name=made["name"]))


@pytest.mark.parametrize(
    "body",
    [
        {**policy(), "conditions": []},
        {**policy(), "conditions": [{"displayName": "c"}]},
        policy(comparison="COMPARISON_GE"),
        policy(duration="90s"),
        policy(duration="0s"),
        policy(filter='resource.type="cloud_run_job"'),
        policy(filter='metric.type="logging.googleapis.com/user/sweeps"'),
        policy(aggregations=[{"perSeriesAligner": "ALIGN_SUM"}]),
        policy(aggregations=[{"perSeriesAligner": "ALIGN_SUM", "alignmentPeriod": "90060s"}]),
        {**policy(), "alertStrategy": {"autoClose": "1740s"}},
        {**policy(), "alertStrategy": {"autoClose": "604860s"}},
        {**policy(), "documentation": {"content": "a" * 8193}},
        {**policy(), "documentation": {"links": [{"displayName": "a", "url": "https://a.org"}] * 4}},
    ],
)
def test_a_policy_that_the_service_cannot_evaluate_is_refused(policies, refused, body):
    refused(400, policies.create(name=PROJECT, body=body))


@pytest.mark.parametrize("body", [{"type": "pigeon", "labels": {}}, {"type": "email", "labels": {}}])
def test_a_channel_without_an_address_is_refused(channels, refused, body):
    refused(400, channels.create(name=PROJECT, body=body))


def test_a_dashboard_is_replaced_by_who_saw_the_one_before(client, refused):
    dashboards = client("monitoring", "v1").projects().dashboards()
    made = dashboards.create(parent=PROJECT, body={"displayName": "a", "gridLayout": {"columns": "2"}}).execute()
    changed = dashboards.patch(name=made["name"], body={"displayName": "b", "etag": made["etag"]}).execute()
    assert (changed["displayName"], "gridLayout" in changed) == ("b", False)
    refused(409, dashboards.patch(name=made["name"], body={"displayName": "c", "etag": made["etag"]}))
    refused(400, dashboards.create(parent=PROJECT, body={"displayName": "a", "gridLayout": {}, "rowLayout": {}}))
    dashboards.delete(name=made["name"]).execute()
    refused(404, dashboards.get(name=made["name"]))


def test_a_policy_with_an_unknown_channel_is_refused(policies, refused):
    refused(404, policies.create(name=PROJECT, body={**policy(), "notificationChannels": [f"{PROJECT}/x/1"]}))
