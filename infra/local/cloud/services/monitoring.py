"""Cloud Monitoring: alert policies, and the channels by which people are told. Nothing is measured, so nobody is told.

Owns what a policy and a channel must say. Sources: cloud.google.com/monitoring/api/ref_v3/rest/v3, its
projects.alertPolicies and projects.notificationChannels, read 2026-11.
"""

from __future__ import annotations

from infra.local.cloud.clock import timestamp
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import failed_precondition, invalid, not_found
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, listings
from infra.local.cloud.store import Resource

POLICY, CHANNEL = "monitoring.alertPolicy", "monitoring.notificationChannel"
_COLLECTION = {POLICY: "alertPolicies", CHANNEL: "notificationChannels"}
_MUTABLE = {
    POLICY: frozenset(
        {"alertStrategy", "combiner", "conditions", "displayName", "documentation", "enabled", "notificationChannels",
         "severity", "userLabels"}
    ),
    CHANNEL: frozenset({"description", "displayName", "enabled", "labels", "type", "userLabels"}),
}  # fmt: skip
_ONE_OF = frozenset(
    {"conditionThreshold", "conditionAbsent", "conditionMatchedLog", "conditionMonitoringQueryLanguage",
     "conditionPrometheusQueryLanguage", "conditionSql"}
)  # fmt: skip
_SERVED = frozenset({"COMPARISON_GT", "COMPARISON_LT"})
"""The two comparisons that the service supports, as its reference says."""
_ADDRESS = {"email": "email_address", "pubsub": "topic", "slack": "channel_name", "sms": "number"}
_MOST_CONDITIONS = 6
_MINUTE, _HOUR = 60, 3600
_LONGEST_PERIOD = 25
"""Hours that an alert may look back in one alignment."""
_SHORTEST_CLOSE, _LONGEST_CLOSE = _HOUR / 2, 7 * 24 * _HOUR
_MOST_CHANNELS = 16
_MOST_LINKS = 3
_LONGEST_TEXT = 8192


@handles("monitoring.projects.alertPolicies.create")
def create_policy(call: Call) -> JsonObject:
    return _create(call, POLICY)


@handles("monitoring.projects.notificationChannels.create")
def create_channel(call: Call) -> JsonObject:
    return _create(call, CHANNEL)


@handles("monitoring.projects.alertPolicies.get")
def get_policy(call: Call) -> JsonObject:
    return _shown(_found(call, POLICY))


@handles("monitoring.projects.notificationChannels.get")
def get_channel(call: Call) -> JsonObject:
    return _shown(_found(call, CHANNEL))


@handles("monitoring.projects.alertPolicies.list")
def list_policies(call: Call) -> JsonObject:
    return _list(call, POLICY)


@handles("monitoring.projects.notificationChannels.list")
def list_channels(call: Call) -> JsonObject:
    return _list(call, CHANNEL)


@handles("monitoring.projects.alertPolicies.patch")
def patch_policy(call: Call) -> JsonObject:
    return _patch(call, POLICY)


@handles("monitoring.projects.notificationChannels.patch")
def patch_channel(call: Call) -> JsonObject:
    return _patch(call, CHANNEL)


@handles("monitoring.projects.alertPolicies.delete")
def delete_policy(call: Call) -> JsonObject:
    call.cloud.store.delete(POLICY, _found(call, POLICY).name)
    return {}


@handles("monitoring.projects.notificationChannels.delete")
def delete_channel(call: Call) -> JsonObject:
    """A channel that a policy names goes only by force, which takes it out of the policy."""
    held = _found(call, CHANNEL)
    prefix = f"{_parent(call)}/{_COLLECTION[POLICY]}/"
    users = [
        each for each in call.cloud.store.each(POLICY, prefix) if held.name in each.body.get("notificationChannels", ())
    ]
    if users and not call.params.get("force"):
        raise failed_precondition(f"Channel {held.name} is used by {users[0].name}; delete it with force.")
    for user in users:
        left = [name for name in user.body["notificationChannels"] if name != held.name]
        body = bodies.without_unset({**user.body, "notificationChannels": left})
        call.cloud.store.replace(user, {**body, "enabled": user.body["enabled"]}, now=call.cloud.now)
    call.cloud.store.delete(CHANNEL, held.name)
    return {}


def _create(call: Call, kind: str) -> JsonObject:
    number = 10**18 + call.cloud.store.next_number(kind)
    name = f"{_parent(call)}/{_COLLECTION[kind]}/{number}"
    body = _checked(call.cloud, kind, name, _kept(kind, call.body))
    return _shown(call.cloud.store.insert(kind, name, body, now=call.cloud.now))


def _list(call: Call, kind: str) -> JsonObject:
    return listings.stored(call, _COLLECTION[kind], kind, f"{_parent(call)}/{_COLLECTION[kind]}/", _shown)


def _patch(call: Call, kind: str) -> JsonObject:
    held = _found(call, kind)
    mask, mutable = call.params.get("updateMask"), _MUTABLE[kind]
    sent = _kept(kind, call.body)
    wanted = {**bodies.masked(held.body, sent, mask, mutable=mutable), "enabled": sent["enabled"]}
    if mask and "enabled" not in bodies.mask_paths(mask):
        wanted["enabled"] = held.body["enabled"]
    body = _checked(call.cloud, kind, held.name, wanted)
    return _shown(call.cloud.store.replace(held, body, now=call.cloud.now))


def _kept(kind: str, body: JsonObject) -> JsonObject:
    """What is unset is dropped, but a policy that is switched off stays so: it is on where nothing is said."""
    kept = bodies.without_unset({key: value for key, value in body.items() if key in _MUTABLE[kind]})
    return {**kept, "enabled": body.get("enabled", True)}


def _checked(cloud: Cloud, kind: str, name: str, body: JsonObject) -> JsonObject:
    bodies.check_labels(body.get("userLabels", {}), field="user_labels")
    return _policy(cloud, name, body) if kind == POLICY else _channel(body)


def _channel(body: JsonObject) -> JsonObject:
    needed = _ADDRESS.get(body.get("type", ""))
    if needed is None:
        raise invalid(f"'{body.get('type', '')}' is no type of channel here: {', '.join(_ADDRESS)}.", field="type")
    if not body.get("labels", {}).get(needed):
        raise invalid(f"A channel of type {body['type']} has the label '{needed}'.", field="labels")
    return body


def _policy(cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
    conditions = body.get("conditions", [])
    if not 1 <= len(conditions) <= _MOST_CONDITIONS:
        raise invalid(f"{len(conditions)} conditions were given; a policy has 1 to 6.", field="conditions")
    for at, condition in enumerate(conditions):
        where = f"conditions[{at}]"
        if len(_ONE_OF & condition.keys()) != 1:
            raise invalid("A condition has exactly one form, such as condition_threshold.", field=where)
        if "conditionThreshold" in condition:
            _check_threshold(condition["conditionThreshold"], f"{where}.condition_threshold")
    _check_told(body)
    channels = body.get("notificationChannels", [])
    if len(channels) > _MOST_CHANNELS:
        raise invalid(f"{len(channels)} channels were given; a policy has at most 16.", field="notification_channels")
    for channel in channels:
        if cloud.store.find(CHANNEL, channel) is None:
            raise not_found(channel)
    named = [
        {"name": f"{name}/conditions/{cloud.store.next_number('monitoring.condition')}", **condition}
        for condition in conditions
    ]
    return {**body, "conditions": named}


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


def _parent(call: Call) -> str:
    return f"projects/{call.cloud.project(call.ids['projectsId']).id}"


def _found(call: Call, kind: str) -> Resource:
    name = f"{_parent(call)}/{_COLLECTION[kind]}/{call.ids[f'{_COLLECTION[kind]}Id']}"
    held = call.cloud.store.find(kind, name)
    if held is None:
        raise not_found(name)
    return held


def _shown(held: Resource) -> JsonObject:
    made = {"mutateTime": timestamp(held.created)}
    return {**held.body, "name": held.name, "creationRecord": made}
