"""Cloud Monitoring and Logging: alert policies, the channels by which people are told, dashboards, metrics of logs.

Owns what each must say. Nothing is measured and no entry is counted, so nothing is shown or told.
Sources: cloud.google.com/monitoring/api/ref_v3/rest, its v3 projects.alertPolicies and projects.notificationChannels
and v1 projects.dashboards, and cloud.google.com/logging/docs/reference/v2/rest/v2/projects.metrics, read 2026-11.
"""

from __future__ import annotations

import re

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import JsonObject, failed_precondition, invalid
from bench.cloud.services import bodies
from bench.cloud.services.collection import Collection
from bench.cloud.store import Resource

_CONDITIONS = frozenset(
    {"conditionThreshold", "conditionAbsent", "conditionMatchedLog", "conditionMonitoringQueryLanguage",
     "conditionPrometheusQueryLanguage", "conditionSql"}
)  # fmt: skip
# The two comparisons that the service supports, as its reference says.
_SERVED = frozenset({"COMPARISON_GT", "COMPARISON_LT"})
_ADDRESS = {"email": "email_address", "pubsub": "topic", "slack": "channel_name", "sms": "number"}
_MOST_CONDITIONS = 6
_MINUTE, _HOUR = 60, 3600
# Hours that an alert may look back in one alignment.
_LONGEST_PERIOD = 25
_SHORTEST_CLOSE, _LONGEST_CLOSE = _HOUR / 2, 7 * 24 * _HOUR
_MOST_CHANNELS = 16
_MOST_LINKS = 3
_LONGEST_TEXT = 8192
_LAYOUTS = frozenset({"columnLayout", "gridLayout", "mosaicLayout", "rowLayout"})
_EXTRACTOR = re.compile(r"(REGEXP_)?EXTRACT\(.+\)")


class _Numbered(Collection):
    """Their ids are numbers of the service's."""

    def asked_id(self, call: ApiCall) -> str:
        return str(10**18 + call.cloud.store.next_number(self.kind))


class _Switched(_Numbered):
    """What is on where nothing is said, so that one which is switched off must stay so."""

    def kept(self, sent: JsonObject) -> JsonObject:
        return {**super().kept(sent), "enabled": sent.get("enabled", True)}

    def merged(self, call: ApiCall, held: Resource) -> JsonObject:
        mask = bodies.mask_paths(call.params.get("updateMask"))
        sent = self.kept(call.body) if not mask or "enabled" in mask else held.body
        return {**super().merged(call, held), "enabled": sent["enabled"]}

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        bodies.check_labels(body.get("userLabels", {}), field="user_labels")
        return body

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "creationRecord": {"mutateTime": timestamp(held.created)}}


class _AlertPolicies(_Switched):
    api = "monitoring.projects.alertPolicies"
    kind = "monitoring.alertPolicy"
    mutable = frozenset(
        {"alertStrategy", "combiner", "conditions", "displayName", "documentation", "enabled", "notificationChannels",
         "severity", "userLabels"}
    )  # fmt: skip

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        conditions, channels = body.get("conditions", []), body.get("notificationChannels", [])
        if not 1 <= len(conditions) <= _MOST_CONDITIONS:
            raise invalid(f"{len(conditions)} conditions were given; a policy has 1 to 6.", field="conditions")
        for at, condition in enumerate(conditions):
            where = f"conditions[{at}]"
            if len(_CONDITIONS & condition.keys()) != 1:
                raise invalid("A condition has exactly one form, such as condition_threshold.", field=where)
            if "conditionThreshold" in condition:
                _check_threshold(condition["conditionThreshold"], f"{where}.condition_threshold")
        _check_told(body)
        if len(channels) > _MOST_CHANNELS:
            raise invalid(
                f"{len(channels)} channels were given; a policy has at most 16.", field="notification_channels"
            )
        for channel in channels:
            _CHANNELS.named(cloud, channel)
        named = [
            {"name": f"{name}/conditions/{cloud.store.next_number('monitoring.condition')}", **condition}
            for condition in conditions
        ]
        return super().checked(cloud, name, {**body, "conditions": named})


_POLICIES = _AlertPolicies()


class _NotificationChannels(_Switched):
    api = "monitoring.projects.notificationChannels"
    kind = "monitoring.notificationChannel"
    mutable = frozenset({"description", "displayName", "enabled", "labels", "type", "userLabels"})

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        needed = _ADDRESS.get(body.get("type", ""))
        if needed is None:
            raise invalid(
                f"'{body.get('type', '')}' is not a type of channel here: {', '.join(_ADDRESS)}.", field="type"
            )
        if not body.get("labels", {}).get(needed):
            raise invalid(f"A channel of type {body['type']} has the label '{needed}'.", field="labels")
        return super().checked(cloud, name, body)

    def clear(self, call: ApiCall, held: Resource) -> None:
        """A channel that a policy names goes only by force, which takes it out of the policy."""
        users = [
            each
            for each in call.cloud.store.each(_POLICIES.kind, f"{self.parent(call)}/")
            if held.name in each.body.get("notificationChannels", ())
        ]
        if users and not call.params.get("force"):
            raise failed_precondition(f"Channel {held.name} is used by {users[0].name}; delete it with force.")
        for user in users:
            left = [name for name in user.body["notificationChannels"] if name != held.name]
            body = bodies.without_unset({**user.body, "notificationChannels": left})
            call.cloud.store.replace(user, {**body, "enabled": user.body["enabled"]}, now=call.cloud.now)


_CHANNELS = _NotificationChannels()


class _Dashboards(_Numbered):
    api = "monitoring.projects.dashboards"
    kind = "monitoring.dashboard"
    adds = ("etag",)
    fixed = None

    def merged(self, call: ApiCall, held: Resource) -> JsonObject:
        """A body replaces the whole dashboard."""
        return self.kept(call.body)

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        if not body.get("displayName"):
            raise invalid("A dashboard has a display name.", field="dashboard.display_name")
        if len(_LAYOUTS & body.keys()) > 1:
            raise invalid("A dashboard has one layout.", field="dashboard")
        return body


_Dashboards()


class _Metrics(Collection):
    api = "logging.projects.metrics"
    kind = "logging.metric"
    adds = ("createTime", "updateTime")
    methods = "create get list update delete"
    id_form = re.compile(r"(?!/)[A-Za-z0-9_.,+!*',()%/-]{1,100}")
    id_rule = "it has 1 to 100 of A-Z, a-z, 0-9 and _-.,+!*',()%/, no / first"

    def asked_id(self, call: ApiCall) -> str:
        return call.body.get("name", "")

    def kept(self, sent: JsonObject) -> JsonObject:
        outputs = ("createTime", "updateTime", "version", "resourceName")
        return bodies.without_unset({key: value for key, value in sent.items() if key not in outputs})

    def merged(self, call: ApiCall, held: Resource) -> JsonObject:
        return self.kept(call.body)

    def update(self, call: ApiCall) -> JsonObject:
        return self.patch(call)

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        """Every label is extracted, every extractor has its label, and a distribution is of something, in buckets."""
        if not body.get("filter"):
            raise invalid("The metric's filter must not be empty.", field="filter")
        defaults = {"metricKind": "DELTA", "valueType": "INT64", "unit": "1"}
        descriptor: JsonObject = {**defaults, **(body.get("metricDescriptor") or {})}
        for field, noun in (("valueExtractor", "a value extractor"), ("bucketOptions", "bucket options")):
            if (descriptor["valueType"] == "DISTRIBUTION") != bool(body.get(field)):
                raise invalid(f"A distribution, and nothing else, has {noun}.", field=field)
        labels, extractors = {label["key"] for label in descriptor.get("labels", ())}, body.get("labelExtractors", {})
        if labels != extractors.keys():
            raise invalid(
                f"Labels {sorted(labels)} and extractors {sorted(extractors)} must be the same.",
                field="labelExtractors",
            )
        for text in extractors.values():
            if not _EXTRACTOR.fullmatch(text):
                raise invalid(f"'{text}' is neither EXTRACT(field) nor REGEXP_EXTRACT(field, regexp).")
        return {**body, "metricDescriptor": descriptor}

    def check_change(self, cloud: Cloud, held: Resource, body: JsonObject) -> None:
        for kind in ("metricKind", "valueType"):
            if body["metricDescriptor"][kind] != held.body["metricDescriptor"][kind]:
                raise invalid(f"The {kind} of a metric never changes.", field=f"metric_descriptor.{kind}")

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "name": held.name.split("/", 3)[3], "resourceName": held.name}


_Metrics()


def _check_told(body: JsonObject) -> None:
    """What people read, and when an incident that nothing is heard of is closed."""
    documentation = body.get("documentation", {})
    if len(documentation.get("content", "")) > _LONGEST_TEXT:
        raise invalid("The documentation has at most 8192 characters.", field="documentation.content")
    if len(documentation.get("links", ())) > _MOST_LINKS:
        raise invalid("The documentation has at most 3 links.", field="documentation.links")
    if closing := body.get("alertStrategy", {}).get("autoClose"):
        after = bodies.seconds(closing, field="alert_strategy.auto_close")
        if not _SHORTEST_CLOSE <= after <= _LONGEST_CLOSE:
            raise invalid("An incident is closed after 30 minutes to 7 days.", field="alert_strategy.auto_close")


def _check_threshold(threshold: JsonObject, where: str) -> None:
    """What the reference says of a threshold. A metric that is not there yet is taken."""
    for named in ("metric.type", "resource.type"):
        if named not in threshold.get("filter", ""):
            raise invalid(f"The filter names a {named}.", field=f"{where}.filter")
    if threshold.get("comparison") not in _SERVED:
        raise invalid("Only COMPARISON_GT and COMPARISON_LT are supported.", field=f"{where}.comparison")
    lasting = _minutes(threshold.get("duration", "0s"), f"{where}.duration")
    if threshold.get("evaluationMissingData") and not lasting:
        raise invalid("evaluation_missing_data needs a duration.", field=f"{where}.evaluation_missing_data")
    for aggregation in threshold.get("aggregations", ()):
        period = f"{where}.aggregations.alignment_period"
        if not 1 <= _minutes(aggregation.get("alignmentPeriod", "0s"), period) <= _LONGEST_PERIOD * _MINUTE:
            raise invalid("The alignment period is 60 seconds to 25 hours.", field=period)


def _minutes(text: str, field: str) -> float:
    """A duration, in whole minutes."""
    found = bodies.seconds(text, field=field)
    if found % _MINUTE:
        raise invalid(f"{text} is not a multiple of 60 seconds.", field=field)
    return found / _MINUTE
