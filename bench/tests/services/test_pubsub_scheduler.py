"""Pub/Sub topics and Cloud Scheduler jobs through Google's own client."""

from __future__ import annotations

import base64

import pytest

PROJECT = "projects/tidepool-test"
PARENT = f"{PROJECT}/locations/us-central1"
DATA = base64.b64encode(b"{}").decode()


@pytest.fixture(scope="module")
def topics(client):
    return client("pubsub").projects().topics()


@pytest.fixture(scope="module")
def jobs(client, topics):
    topics.create(name=f"{PROJECT}/topics/weekly", body={}).execute()
    return client("cloudscheduler").projects().locations().jobs()


def job(name: str, schedule: str = "0 3 * * *", **more):
    target = {"topicName": f"{PROJECT}/topics/weekly", "data": DATA}
    return {
        "name": f"{PARENT}/jobs/{name}",
        "schedule": schedule,
        "timeZone": "Etc/UTC",
        "pubsubTarget": target,
        **more,
    }


def test_a_topic_is_made_read_changed_and_deleted(topics, refused):
    name = f"{PROJECT}/topics/life"
    assert topics.create(name=name, body={"labels": {"a": "b"}}).execute() == {"name": name, "labels": {"a": "b"}}
    refused(409, topics.create(name=name, body={}))
    body = {"topic": {"name": name, "labels": {"a": "c"}}, "updateMask": "labels"}
    assert topics.patch(name=name, body=body).execute()["labels"] == {"a": "c"}
    assert name in {each["name"] for each in topics.list(project=PROJECT).execute()["topics"]}
    topics.delete(topic=name).execute()
    refused(404, topics.get(topic=name))


def test_a_published_message_gets_an_id_of_its_own(topics, refused):
    name = f"{PROJECT}/topics/said"
    topics.create(name=name, body={}).execute()
    messages = [{"data": DATA}, {"attributes": {"image": "tpu-ci"}}]
    ids = topics.publish(topic=name, body={"messages": messages}).execute()["messageIds"]
    assert len(set(ids)) == 2
    assert "empty" in refused(400, topics.publish(topic=name, body={"messages": [{}]}))["message"]
    refused(404, topics.publish(topic=f"{PROJECT}/topics/none", body={"messages": messages}))


def test_a_subscription_that_asks_for_nothing_but_pulling_is_taken(client, topics, refused):
    subscriptions, topic = client("pubsub").projects().subscriptions(), f"{PROJECT}/topics/pulled"
    topics.create(name=topic, body={}).execute()
    name = f"{PROJECT}/subscriptions/pulling"
    subscriptions.create(name=name, body={"topic": topic, "pushConfig": {}, "filter": ""}).execute()
    pushed = {"topic": topic, "pushConfig": {"pushEndpoint": "https://example.org"}}
    refused(501, subscriptions.create(name=f"{PROJECT}/subscriptions/pushed", body=pushed))


def test_a_policy_of_a_topic_is_kept(topics):
    name = f"{PROJECT}/topics/owned"
    topics.create(name=name, body={}).execute()
    binding = {"role": "roles/pubsub.publisher", "members": ["user:a@example.org"]}
    topics.setIamPolicy(resource=name, body={"policy": {"bindings": [binding]}}).execute()
    assert topics.getIamPolicy(resource=name).execute()["bindings"] == [binding]


def test_a_job_comes_back_as_it_was_sent(jobs):
    body = job("echo", description="weekly")
    made = jobs.create(parent=PARENT, body=body).execute()
    assert {key: made[key] for key in body} == body
    assert made["state"] == "ENABLED"
    assert "retryConfig" not in made
    assert made["scheduleTime"] == "2026-11-22T03:00:00.000000Z"
    assert jobs.get(name=body["name"]).execute() == made


def test_a_paused_job_has_no_next_time(jobs):
    name = jobs.create(parent=PARENT, body=job("still")).execute()["name"]
    paused = jobs.pause(name=name, body={}).execute()
    assert paused["state"] == "PAUSED"
    assert "scheduleTime" not in paused
    assert jobs.resume(name=name, body={}).execute()["state"] == "ENABLED"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"schedule": "0 3 * *"}, 400),
        ({"schedule": "0 0 3 * * *"}, 400),
        ({"schedule": "0 3 31 2 *"}, 400),
        ({"schedule": "every 24 hours"}, 501),
        ({"timeZone": "Mars/Olympus"}, 400),
        ({"pubsubTarget": {"topicName": f"{PROJECT}/topics/weekly"}}, 400),
        ({"pubsubTarget": {"topicName": f"{PROJECT}/topics/none", "data": DATA}}, 404),
        ({"httpTarget": {"uri": "https://example.org"}}, 400),
        ({"name": f"{PROJECT}/locations/us-east1/jobs/elsewhere"}, 400),
        ({"name": f"{PARENT}/jobs/"}, 400),
        ({"name": "bare"}, 400),
    ],
)
def test_a_job_that_cannot_work_is_refused(jobs, refused, change, code):
    refused(code, jobs.create(parent=PARENT, body={**job("refused"), **change}))


def test_an_update_of_a_job_moves_its_next_time(jobs):
    name = jobs.create(parent=PARENT, body=job("moved")).execute()["name"]
    changed = jobs.patch(name=name, body=job("moved", "0 4 * * *", timeZone="America/New_York")).execute()
    assert changed["scheduleTime"] == "2026-11-21T09:00:00.000000Z"
    assert jobs.delete(name=name).execute() == {}
