"""Pub/Sub: topics, publishing to them, pull subscriptions, the messages that wait in these, and policies of both.

Owns what a subscription keeps: each message of its topic until it is acknowledged or its retention is over, leased to
whoever pulled it until the deadline. Nothing is pushed or exported; a subscription that asks for it is refused. Whom
else a message reaches is asked of whoever listens: triggers of Cloud Build.
Sources: cloud.google.com/pubsub/docs/reference/rest/v1, its projects.topics and projects.subscriptions, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import ApiError, JsonObject, invalid
from bench.cloud.services import bodies
from bench.cloud.services.collection import Collection
from bench.cloud.services.listings import page
from bench.cloud.store import Resource

# Called with the cloud, the topic's name and the message; services that subscribe add themselves.
LISTENERS: list[Callable[[Cloud, str, JsonObject], None]] = []
_MESSAGE = "pubsub.waiting"
_REFUSED = ("pushConfig", "bigqueryConfig", "bigtableConfig", "cloudStorageConfig", "filter", "messageTransforms")
_DEFAULTS = {"ackDeadlineSeconds": 10, "messageRetentionDuration": "604800s", "expirationPolicy": {"ttl": "2678400s"}}
_DEADLINES = range(10, 601)
_MOST_MESSAGES = 1000


class _OfPubSub(Collection):
    id_form = re.compile(r"(?!goog)[A-Za-z][A-Za-z0-9._~%+-]{2,254}")
    id_rule = "it must start with a letter, hold 3 to 255 letters, digits and -._~%+, and not begin with goog"
    mask = "refused"
    has_policy = True
    absent = "Resource not found (resource={id})."


class _Topics(_OfPubSub):
    api = "pubsub.projects.topics"
    kind = "pubsub.topic"
    mutable = frozenset(
        {"labels", "messageStoragePolicy", "messageRetentionDuration", "schemaSettings", "kmsKeyName",
         "ingestionDataSourceSettings", "messageTransforms"}
    )  # fmt: skip
    inside = MappingProxyType({"patch": "topic"})

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        bodies.check_labels(body.get("labels", {}), field="topic.labels")
        return body


TOPICS = _Topics()


class _Subscriptions(_OfPubSub):
    api = "pubsub.projects.subscriptions"
    kind = "pubsub.subscription"
    mutable = frozenset(
        {"labels", "ackDeadlineSeconds", "messageRetentionDuration", "retainAckedMessages", "expirationPolicy",
         "retryPolicy", "deadLetterPolicy", "enableExactlyOnceDelivery"}
    )  # fmt: skip
    fixed = frozenset({"topic", "enableMessageOrdering"})
    inside = MappingProxyType({"patch": "subscription"})

    def kept(self, sent: JsonObject) -> JsonObject:
        for field, value in bodies.without_unset(sent).items():
            if value and field in _REFUSED:  # an empty pushConfig says that messages are pulled
                raise ApiError(501, f"The local cloud does not serve '{field}' of subscriptions; it has pulling alone.")
        return super().kept(sent)

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        bodies.check_labels(body.get("labels", {}), field="subscription.labels")
        body: JsonObject = {**_DEFAULTS, **body}
        if body["ackDeadlineSeconds"] not in _DEADLINES:
            raise invalid("The ack deadline is 10 to 600 seconds.", field="subscription.ack_deadline_seconds")
        if self.find(cloud, name) is None:
            TOPICS.named(cloud, body.get("topic", ""))
        return body

    def clear(self, call: ApiCall, held: Resource) -> None:
        for message in _messages(call.cloud, held):
            call.cloud.store.delete(_MESSAGE, message.name)

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "state": "ACTIVE"}


_SUBSCRIPTIONS = _Subscriptions()


@handles("pubsub.projects.topics.publish")
def publish(call: ApiCall) -> JsonObject:
    held, messages = TOPICS.found(call), call.body.get("messages", [])
    if not 1 <= len(messages) <= _MOST_MESSAGES:
        raise invalid(f"{len(messages)} messages were given; 1 to {_MOST_MESSAGES} can be published at once.")
    for at, message in enumerate(messages):
        if not message.get("data") and not message.get("attributes"):
            raise invalid("One or more messages is empty: it needs data or attributes.", field=f"messages[{at}]")
    return {"messageIds": [deliver(call.cloud, held, message) for message in messages]}


def deliver(cloud: Cloud, topic: Resource, message: JsonObject) -> str:
    """Hand a message to whoever listens to a topic, at once; the answer is its id."""
    identity = f"{int(cloud.now * 1000)}{cloud.store.next_number('pubsub.message'):06d}"
    whole = {**message, "messageId": identity, "publishTime": timestamp(cloud.now)}
    for held in _of_topic(cloud, topic.name):
        waiting = {"message": whole, "heldUntil": 0.0, "attempts": 0}
        cloud.store.insert(_MESSAGE, f"{held.name}/{identity}", waiting, now=cloud.now)
    for listener in LISTENERS:
        listener(cloud, topic.name, whole)
    return identity


@handles("pubsub.projects.topics.subscriptions.list")
def list_of_topic(call: ApiCall) -> JsonObject:
    """Names alone."""
    topic = TOPICS.found(call).name
    answer = page(call, "subscriptions", [{"name": each.name} for each in _of_topic(call.cloud, topic)])
    return {**answer, "subscriptions": [each["name"] for each in answer.get("subscriptions", [])]}


@handles("pubsub.projects.subscriptions.pull")
def pull(call: ApiCall) -> JsonObject:
    """The oldest messages that nobody holds, at once; each is held by whoever pulled it until the deadline."""
    held, cloud, most = _SUBSCRIPTIONS.found(call), call.cloud, call.body.get("maxMessages", 0)
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
def acknowledge(call: ApiCall) -> JsonObject:
    for message in _leased(call):
        call.cloud.store.delete(_MESSAGE, message.name)
    return {}


@handles("pubsub.projects.subscriptions.modifyAckDeadline")
def modify_deadline(call: ApiCall) -> JsonObject:
    """Hold messages longer; 0 seconds give them back at once."""
    more = call.body.get("ackDeadlineSeconds", 0)
    if not 0 <= more < _DEADLINES.stop:
        raise invalid(f"The deadline is 0 to 600 seconds, not {more}.", field="ack_deadline_seconds")
    for message in _leased(call):
        body = {**message.body, "heldUntil": call.cloud.now + more}
        call.cloud.store.replace(message, body, now=call.cloud.now)
    return {}


def _messages(cloud: Cloud, held: Resource) -> list[Resource]:
    """Oldest first; those whose retention is over are gone."""
    oldest = cloud.now - bodies.seconds(held.body["messageRetentionDuration"], field="message_retention_duration")
    return [each for each in cloud.store.each(_MESSAGE, f"{held.name}/") if each.created > oldest]


def _leased(call: ApiCall) -> list[Resource]:
    """The messages of the request's `ackIds`; one that somebody else pulled since is no longer the caller's."""
    held = _SUBSCRIPTIONS.found(call)
    found = []
    for ack in call.body.get("ackIds", []):
        identity, _, attempt = ack.partition(":")
        message = call.cloud.store.find(_MESSAGE, f"{held.name}/{identity}")
        if message is not None and str(message.body["attempts"]) == attempt:
            found.append(message)
    return found


def _of_topic(cloud: Cloud, topic: str) -> list[Resource]:
    return [each for each in cloud.store.each(_SUBSCRIPTIONS.kind) if each.body["topic"] == topic]
