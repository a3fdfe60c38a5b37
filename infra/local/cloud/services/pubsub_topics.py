"""Pub/Sub: topics, publishing to them, and their IAM policies.

Owns topics and message ids. Whom a message reaches is asked of whoever listens: triggers of Cloud Build, which start,
and subscriptions, which keep it.
Source: cloud.google.com/pubsub/docs/reference/rest/v1/projects.topics, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from infra.local.cloud.clock import timestamp
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import ApiError, already_exists, invalid
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, listings, policies
from infra.local.cloud.store import Resource

TOPIC = "pubsub.topic"
# Called with the cloud, the topic's name and the message; services that subscribe add themselves.
LISTENERS: list[Callable[[Cloud, str, JsonObject], None]] = []
_ID = re.compile(r"(?!goog)[A-Za-z][A-Za-z0-9._~%+-]{2,254}")
_MUTABLE = frozenset(
    {"labels", "messageStoragePolicy", "messageRetentionDuration", "schemaSettings", "kmsKeyName",
     "ingestionDataSourceSettings", "messageTransforms"}
)  # fmt: skip
_MOST_MESSAGES = 1000


@handles("pubsub.projects.topics.create")
def create_topic(call: Call) -> JsonObject:
    check_id(call.ids["topicsId"], "topics")
    name = _name(call)
    if call.cloud.store.find(TOPIC, name):
        raise already_exists(name)
    return _shown(call.cloud.store.insert(TOPIC, name, _checked(call.body), now=call.cloud.now))


def check_id(identity: str, collection: str) -> None:
    """Raises 400."""
    if not _ID.fullmatch(identity):
        raise invalid(
            f"Invalid [{collection}] name: '{identity}' must start with a letter, hold 3 to 255 letters, digits and "
            "-._~%+, and not begin with goog.",
            field="name",
        )


@handles("pubsub.projects.topics.get")
def get_topic(call: Call) -> JsonObject:
    return _shown(_found(call))


@handles("pubsub.projects.topics.list")
def list_topics(call: Call) -> JsonObject:
    prefix = f"projects/{call.cloud.project(call.ids['projectsId']).id}/topics/"
    return listings.stored(call, "topics", TOPIC, prefix, _shown)


@handles("pubsub.projects.topics.patch")
def patch_topic(call: Call) -> JsonObject:
    held = _found(call)
    mask = call.params.get("updateMask") or call.body.get("updateMask")
    if not mask:
        raise invalid("The update_mask in the request must be set and not empty.", field="update_mask")
    changed = bodies.masked(held.body, call.body.get("topic", {}), mask, mutable=_MUTABLE)
    return _shown(call.cloud.store.replace(held, _checked(changed), now=call.cloud.now))


@handles("pubsub.projects.topics.publish")
def publish(call: Call) -> JsonObject:
    held, messages = _found(call), call.body.get("messages", [])
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
    for listener in LISTENERS:
        listener(cloud, topic.name, whole)
    return identity


@handles("pubsub.projects.topics.delete")
def delete_topic(call: Call) -> JsonObject:
    held = _found(call)
    call.cloud.store.delete(TOPIC, held.name)
    policies.forget(call.cloud, held.name)
    return {}


policies.serve("pubsub.projects.topics", lambda call: ((held := _found(call)).name, held.name.split("/")[1]))


def _name(call: Call) -> str:
    return f"projects/{call.cloud.project(call.ids['projectsId']).id}/topics/{call.ids['topicsId']}"


def _found(call: Call) -> Resource:
    return find(call.cloud, _name(call))


def find(cloud: Cloud, name: str) -> Resource:
    """Raises 404 in the service's words."""
    held = cloud.store.find(TOPIC, name)
    if held is None:
        raise ApiError(404, f"Resource not found (resource={name.rpartition('/')[2]}).")
    return held


def _checked(body: JsonObject) -> JsonObject:
    bodies.check_labels(body.get("labels", {}), field="topic.labels")
    return bodies.without_unset({key: value for key, value in body.items() if key in _MUTABLE})


def _shown(held: Resource) -> JsonObject:
    return {"name": held.name, **held.body}
