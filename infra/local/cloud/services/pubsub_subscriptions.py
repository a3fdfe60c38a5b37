"""Pub/Sub: pull subscriptions, the messages that wait in them, and their IAM policies.

Owns what a subscription keeps: each message of its topic until it is acknowledged or its retention is over, leased to
whoever pulled it until the deadline. Nothing is pushed or exported; a subscription that asks for it is refused.
Source: cloud.google.com/pubsub/docs/reference/rest/v1/projects.subscriptions, read 2026-11.
"""

from __future__ import annotations

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import ApiError, already_exists, invalid
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, listings, policies
from infra.local.cloud.services import pubsub_topics as topics
from infra.local.cloud.store import Resource

_KIND, _MESSAGE = "pubsub.subscription", "pubsub.waiting"
_MUTABLE = frozenset(
    {"labels", "ackDeadlineSeconds", "messageRetentionDuration", "retainAckedMessages", "expirationPolicy",
     "retryPolicy", "deadLetterPolicy", "enableExactlyOnceDelivery"}
)  # fmt: skip
_FIXED = frozenset({"topic", "enableMessageOrdering"})
_REFUSED = ("pushConfig", "bigqueryConfig", "bigtableConfig", "cloudStorageConfig", "filter", "messageTransforms")
_DEFAULTS = {"ackDeadlineSeconds": 10, "messageRetentionDuration": "604800s", "expirationPolicy": {"ttl": "2678400s"}}
_DEADLINES = range(10, 601)


@handles("pubsub.projects.subscriptions.create")
def create_subscription(call: Call) -> JsonObject:
    name = _name(call)
    topics.check_id(call.ids["subscriptionsId"], "subscriptions")
    topic = topics.find(call.cloud, call.body.get("topic", ""))
    if call.cloud.store.find(_KIND, name):
        raise already_exists(name)
    body = {**_DEFAULTS, **_checked(call.body), "topic": topic.name}
    return _shown(call.cloud.store.insert(_KIND, name, body, now=call.cloud.now))


@handles("pubsub.projects.subscriptions.get")
def get_subscription(call: Call) -> JsonObject:
    return _shown(_found(call))


@handles("pubsub.projects.subscriptions.list")
def list_subscriptions(call: Call) -> JsonObject:
    return listings.stored(call, "subscriptions", _KIND, f"{_project(call)}/subscriptions/", _shown)


@handles("pubsub.projects.topics.subscriptions.list")
def list_of_topic(call: Call) -> JsonObject:
    """Names alone."""
    topic = topics.find(call.cloud, f"{_project(call)}/topics/{call.ids['topicsId']}").name
    answer = listings.page(call, "subscriptions", [{"name": each.name} for each in _of_topic(call.cloud, topic)])
    return {**answer, "subscriptions": [each["name"] for each in answer.get("subscriptions", [])]}


@handles("pubsub.projects.subscriptions.patch")
def patch_subscription(call: Call) -> JsonObject:
    held, mask = _found(call), call.params.get("updateMask") or call.body.get("updateMask")
    if not mask:
        raise invalid("The update_mask in the request must be set and not empty.", field="update_mask")
    changed = bodies.masked(held.body, call.body.get("subscription", {}), mask, mutable=_MUTABLE)
    body = {**held.body, **_DEFAULTS, **_checked(changed)}
    return _shown(call.cloud.store.replace(held, body, now=call.cloud.now))


@handles("pubsub.projects.subscriptions.delete")
def delete_subscription(call: Call) -> JsonObject:
    held = _found(call)
    for message in list(_messages(call.cloud, held)):
        call.cloud.store.delete(_MESSAGE, message.name)
    call.cloud.store.delete(_KIND, held.name)
    policies.forget(call.cloud, held.name)
    return {}


@handles("pubsub.projects.subscriptions.pull")
def pull(call: Call) -> JsonObject:
    """The oldest messages that nobody holds, at once; each is held by whoever pulled it until the deadline."""
    held, cloud, most = _found(call), call.cloud, call.body.get("maxMessages", 0)
    if most < 1:
        raise invalid("max_messages must be at least 1.", field="max_messages")
    free = [each for each in _messages(cloud, held) if each.body["heldUntil"] <= cloud.now][:most]
    received = []
    for each in free:
        attempts = each.body["attempts"] + 1
        body = {**each.body, "heldUntil": cloud.now + held.body["ackDeadlineSeconds"], "attempts": attempts}
        cloud.store.replace(each, body, now=cloud.now)
        message = {"ackId": f"{each.name.rpartition('/')[2]}:{attempts}", "message": each.body["message"]}
        received.append({**message, "deliveryAttempt": attempts} if "deadLetterPolicy" in held.body else message)
    return {"receivedMessages": received} if received else {}


@handles("pubsub.projects.subscriptions.acknowledge")
def acknowledge(call: Call) -> JsonObject:
    for message in _leased(call):
        call.cloud.store.delete(_MESSAGE, message.name)
    return {}


@handles("pubsub.projects.subscriptions.modifyAckDeadline")
def modify_deadline(call: Call) -> JsonObject:
    """Hold messages longer; 0 seconds give them back at once."""
    more = call.body.get("ackDeadlineSeconds", 0)
    if not 0 <= more < _DEADLINES.stop:
        raise invalid(f"The deadline is 0 to 600 seconds, not {more}.", field="ack_deadline_seconds")
    for message in _leased(call):
        body = {**message.body, "heldUntil": call.cloud.now + more}
        call.cloud.store.replace(message, body, now=call.cloud.now)
    return {}


policies.serve("pubsub.projects.subscriptions", lambda call: ((held := _found(call)).name, held.name.split("/")[1]))


def _keep(cloud: Cloud, topic: str, message: JsonObject) -> None:
    """A message of a topic waits in each of its subscriptions."""
    for held in list(_of_topic(cloud, topic)):
        body = {"message": message, "heldUntil": 0.0, "attempts": 0}
        cloud.store.insert(_MESSAGE, f"{held.name}/{message['messageId']}", body, now=cloud.now)


topics.LISTENERS.append(_keep)


def _messages(cloud: Cloud, held: Resource) -> list[Resource]:
    """Oldest first; those whose retention is over are gone."""
    oldest = cloud.now - bodies.seconds(held.body["messageRetentionDuration"], field="message_retention_duration")
    return [each for each in cloud.store.each(_MESSAGE, f"{held.name}/") if each.created > oldest]


def _leased(call: Call) -> list[Resource]:
    """The messages of the request's `ackIds`; one that somebody else pulled since is no longer the caller's."""
    held = _found(call)
    found = []
    for ack in call.body.get("ackIds", []):
        identity, _, attempt = ack.partition(":")
        message = call.cloud.store.find(_MESSAGE, f"{held.name}/{identity}")
        if message is not None and str(message.body["attempts"]) == attempt:
            found.append(message)
    return found


def _of_topic(cloud: Cloud, topic: str) -> list[Resource]:
    return [each for each in cloud.store.each(_KIND) if each.body["topic"] == topic]


def _project(call: Call) -> str:
    return f"projects/{call.cloud.project(call.ids['projectsId']).id}"


def _name(call: Call) -> str:
    return f"{_project(call)}/subscriptions/{call.ids['subscriptionsId']}"


def _found(call: Call) -> Resource:
    held = call.cloud.store.find(_KIND, _name(call))
    if held is None:
        raise ApiError(404, f"Resource not found (resource={call.ids['subscriptionsId']}).")
    return held


def _checked(body: JsonObject) -> JsonObject:
    bodies.check_labels(body.get("labels", {}), field="subscription.labels")
    body = bodies.without_unset(body)
    for field in _REFUSED:
        if body.get(field):
            raise ApiError(501, f"The local cloud does not serve '{field}' of subscriptions; it has pulling alone.")
    if "ackDeadlineSeconds" in body and body["ackDeadlineSeconds"] not in _DEADLINES:
        raise invalid("The ack deadline is 10 to 600 seconds.", field="subscription.ack_deadline_seconds")
    return {key: value for key, value in body.items() if key in _MUTABLE | _FIXED}


def _shown(held: Resource) -> JsonObject:
    return {"name": held.name, **held.body, "state": "ACTIVE"}
