"""Cloud Monitoring and Logging: alert policies, the channels by which people are told, dashboards, metrics of logs.

Nothing is measured and no entry is counted, so nothing is shown or told; what alert policies and metrics must say is
not checked. Sources: cloud.google.com/monitoring/api/ref_v3/rest, its v3 projects.alertPolicies and
projects.notificationChannels and v1 projects.dashboards, and cloud.google.com/logging/docs/reference/v2/rest/v2/
projects.metrics, read 2026-11.
"""

from __future__ import annotations

from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import JsonObject, failed_precondition
from bench.cloud.services import bodies
from bench.cloud.services.collection import Collection
from bench.cloud.store import Resource


class _Numbered(Collection):
    """Their ids are numbers of the service's."""

    def asked_id(self, call: ApiCall) -> str:
        return str(10**18 + call.cloud.store.next_number(self.kind))


class _Switched(_Numbered):
    """What is on where nothing is said, so that one which is switched off must stay so."""

    labelled = "userLabels"

    def kept(self, sent: JsonObject) -> JsonObject:
        return {**super().kept(sent), "enabled": sent.get("enabled", True)}

    def merged(self, call: ApiCall, held: Resource) -> JsonObject:
        mask = bodies.mask_paths(call.params.get("updateMask"))
        sent = call.body if not mask or "enabled" in mask else held.body
        return {**super().merged(call, held), "enabled": sent.get("enabled", True)}


class _AlertPolicies(_Switched):
    api = "monitoring.projects.alertPolicies"
    kind = "monitoring.alertPolicy"

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        for channel in body.get("notificationChannels", ()):
            _CHANNELS.named(cloud, channel)
        conditions = enumerate(body.get("conditions", ()), 1)
        return {**body, "conditions": [{"name": f"{name}/conditions/{at}", **each} for at, each in conditions]}


_POLICIES = _AlertPolicies()


class _NotificationChannels(_Switched):
    api = "monitoring.projects.notificationChannels"
    kind = "monitoring.notificationChannel"

    def clear(self, call: ApiCall, held: Resource) -> None:
        """Raises 400 for a channel that a policy names."""
        for user in call.cloud.store.each(_POLICIES.kind, f"{self.parent(call)}/"):
            if held.name in user.body.get("notificationChannels", []):
                raise failed_precondition(f"Channel {held.name} is used by {user.name}.")


_CHANNELS = _NotificationChannels()


class _Dashboards(_Numbered):
    api = "monitoring.projects.dashboards"
    kind = "monitoring.dashboard"
    adds = ("etag",)

    # A body replaces the whole dashboard.
    mask = "whole"


_Dashboards()


class _Metrics(Collection):
    api = "logging.projects.metrics"
    kind = "logging.metric"
    adds = ("createTime", "updateTime")
    methods = "create get list update delete"
    mask = "whole"

    def asked_id(self, call: ApiCall) -> str:
        return call.body.get("name", "")

    def update(self, call: ApiCall) -> JsonObject:
        return self.patch(call)

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        defaults = {"metricKind": "DELTA", "valueType": "INT64", "unit": "1"}
        return {**body, "metricDescriptor": {**defaults, **(body.get("metricDescriptor") or {})}}

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "name": held.name.split("/", 3)[3], "resourceName": held.name}


_Metrics()
