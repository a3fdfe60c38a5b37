"""Pub/Sub: topics, their policies, and publishing to them.

Whom a message reaches is asked of whoever listens: triggers of Cloud Build. Subscriptions are not served.
Source: cloud.google.com/pubsub/docs/reference/rest/v1/projects.topics, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject
from bench.cloud.services.collection import Collection
from bench.cloud.store import Resource

# Called with the cloud, the topic's name and the message; services that subscribe add themselves.
LISTENERS: list[Callable[[Cloud, str, JsonObject], None]] = []


class _Topics(Collection):
    api = "pubsub.projects.topics"
    kind = "pubsub.topic"
    inside = MappingProxyType({"patch": "topic"})
    has_policy = True


TOPICS = _Topics()


@handles("pubsub.projects.topics.publish")
def publish(call: ApiCall) -> JsonObject:
    held = TOPICS.found(call)
    return {"messageIds": [deliver(call.cloud, held, message) for message in call.body.get("messages", [])]}


def deliver(cloud: Cloud, topic: Resource, message: JsonObject) -> str:
    """Hand a message to whoever listens to a topic, at once; the answer is its id."""
    identity = f"{int(cloud.now * 1000)}{cloud.store.next_number('pubsub.message'):06d}"
    for listener in LISTENERS:
        listener(cloud, topic.name, {**message, "messageId": identity, "publishTime": timestamp(cloud.now)})
    return identity
