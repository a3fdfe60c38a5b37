"""google-cloud-pubsub's publisher walks the life of a topic."""

from __future__ import annotations

import pytest
from google import pubsub_v1 as pubsub
from google.api_core import exceptions

TOPIC = "projects/client-lab/topics/builds"


def test_a_topic_lives_from_create_to_delete(rest):
    publisher = rest(pubsub.PublisherClient)
    made = publisher.create_topic({"name": TOPIC, "labels": {"team": "a"}})
    with pytest.raises(exceptions.Conflict):
        publisher.create_topic(name=TOPIC)
    change = pubsub.Topic(name=TOPIC, labels={"tier": "b"})
    changed = publisher.update_topic(topic=change, update_mask={"paths": ["labels.tier"]})
    assert dict(changed.labels) == {"team": "a", "tier": "b"}
    assert [each.name for each in publisher.list_topics(project="projects/client-lab")] == [made.name]
    assert len(publisher.publish(topic=TOPIC, messages=[{"data": b"one"}, {"data": b"two"}]).message_ids) == 2
    publisher.delete_topic(topic=TOPIC)
    with pytest.raises(exceptions.NotFound):
        publisher.get_topic(topic=TOPIC)
