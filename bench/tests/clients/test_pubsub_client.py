"""google-cloud-pubsub's publisher and subscriber walk the lives of topics and subscriptions."""

from __future__ import annotations

import pytest
from google import pubsub_v1 as pubsub
from google.api_core import exceptions

TOPIC, SUBSCRIPTION = "projects/client-lab/topics/builds", "projects/client-lab/subscriptions/builds-seen"


@pytest.fixture
def publisher(rest):
    return rest(pubsub.PublisherClient)


@pytest.fixture
def subscriber(rest):
    return rest(pubsub.SubscriberClient)


@pytest.fixture
def topic(publisher):
    publisher.create_topic(name=TOPIC)
    yield TOPIC
    publisher.delete_topic(topic=TOPIC)


@pytest.fixture
def subscription(subscriber, topic):
    subscriber.create_subscription(name=SUBSCRIPTION, topic=topic)
    yield SUBSCRIPTION
    subscriber.delete_subscription(subscription=SUBSCRIPTION)


def test_a_topic_lives_from_create_to_delete(publisher):
    made = publisher.create_topic({"name": TOPIC, "labels": {"team": "a"}})
    with pytest.raises(exceptions.Conflict):
        publisher.create_topic(name=TOPIC)
    change = pubsub.Topic(name=TOPIC, labels={"tier": "b"})
    changed = publisher.update_topic(topic=change, update_mask={"paths": ["labels.tier"]})
    assert dict(changed.labels) == {"team": "a", "tier": "b"}
    with pytest.raises(exceptions.BadRequest, match="names no field"):
        publisher.update_topic(topic=change, update_mask={"paths": ["label"]})
    assert [each.name for each in publisher.list_topics(project="projects/client-lab")] == [made.name]
    publisher.delete_topic(topic=TOPIC)
    with pytest.raises(exceptions.NotFound):
        publisher.get_topic(topic=TOPIC)


def test_a_subscription_lives_from_create_to_delete(publisher, subscriber, topic):
    made = subscriber.create_subscription(name=SUBSCRIPTION, topic=topic)
    with pytest.raises(exceptions.Conflict):
        subscriber.create_subscription(name=SUBSCRIPTION, topic=topic)
    assert made.ack_deadline_seconds == 10
    change = pubsub.Subscription(name=SUBSCRIPTION, ack_deadline_seconds=60, labels={"team": "ignored"})
    changed = subscriber.update_subscription(subscription=change, update_mask={"paths": ["ack_deadline_seconds"]})
    assert (changed.ack_deadline_seconds, changed.topic, dict(changed.labels)) == (60, topic, {})
    assert [each.name for each in subscriber.list_subscriptions(project="projects/client-lab")] == [SUBSCRIPTION]
    assert list(publisher.list_topic_subscriptions(topic=topic)) == [SUBSCRIPTION]
    policy = subscriber.get_iam_policy({"resource": SUBSCRIPTION})
    policy.bindings.add(role="roles/pubsub.subscriber", members=["allAuthenticatedUsers"])
    assert subscriber.set_iam_policy({"resource": SUBSCRIPTION, "policy": policy}).bindings == policy.bindings
    subscriber.delete_subscription(subscription=SUBSCRIPTION)
    with pytest.raises(exceptions.NotFound):
        subscriber.get_subscription(subscription=SUBSCRIPTION)


def pulled(subscriber, subscription: str) -> list[pubsub.ReceivedMessage]:
    return list(subscriber.pull(subscription=subscription, max_messages=10).received_messages)


def test_a_message_waits_until_it_is_acknowledged(publisher, subscriber, subscription, google):
    publisher.publish(topic=TOPIC, messages=[{"data": b"one", "attributes": {"n": "1"}}, {"data": b"two"}])
    held = pulled(subscriber, subscription)
    assert [each.message.data for each in held] == [b"one", b"two"]
    assert pulled(subscriber, subscription) == [], "both are held by whoever pulled them"
    subscriber.acknowledge(subscription=subscription, ack_ids=[held[0].ack_id])
    google.control.advance(11)
    again = pulled(subscriber, subscription)
    assert [each.message.data for each in again] == [b"two"], "it comes again after its deadline"
    subscriber.acknowledge(subscription=subscription, ack_ids=[held[1].ack_id])
    subscriber.modify_ack_deadline(subscription=subscription, ack_ids=[again[0].ack_id], ack_deadline_seconds=0)
    assert len(pulled(subscriber, subscription)) == 1, "an id of an earlier lease acknowledges nothing"


def test_a_message_is_gone_when_its_retention_is_over(publisher, subscriber, subscription, google):
    publisher.publish(topic=TOPIC, messages=[{"data": b"old"}])
    google.control.advance(7 * 86400)
    assert pulled(subscriber, subscription) == []


def test_what_is_not_served_of_a_subscription_is_refused(subscriber, topic):
    asked = {"name": SUBSCRIPTION, "topic": topic, "push_config": {"push_endpoint": "https://example.org/"}}
    with pytest.raises(exceptions.MethodNotImplemented, match="pushConfig"):
        subscriber.create_subscription(asked)
    with pytest.raises(exceptions.NotFound):
        subscriber.create_subscription(name=SUBSCRIPTION, topic="projects/client-lab/topics/nobody")
