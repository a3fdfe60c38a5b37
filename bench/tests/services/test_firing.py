"""Pushes, messages and times start builds, and a runner reports how they go."""

from __future__ import annotations

import base64
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from googleapiclient.discovery import build

from bench.cloud.build_control import BuildControl
from bench.cloud.control import ControlError
from bench.cloud.testing import running_cloud

PROJECT = "projects/tidepool-test"
PARENT = f"{PROJECT}/locations/us-central1"
CONNECTION = f"{PARENT}/connections/host"
TOPIC = f"{PROJECT}/topics/builds"
REPOSITORY = "stanford-crfm/levanter"
SHA = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def _services(url: str) -> Generator[Any]:
    made = {
        name: build(
            service, version, credentials=AnonymousCredentials(), client_options={"api_endpoint": url},
            cache_discovery=False,
        )
        for name, service, version in (
            ("build", "cloudbuild", "v1"), ("host", "cloudbuild", "v2"),
            ("pubsub", "pubsub", "v1"), ("scheduler", "cloudscheduler", "v1"),
        )
    }  # fmt: skip
    yield SimpleNamespace(**made)
    for each in made.values():
        each.close()


class World:
    """One cloud with a linked repository and a topic."""

    def __init__(self, services: Any, control: BuildControl) -> None:
        self.control = control
        self.triggers = services.build.projects().locations().triggers()
        self.builds = services.build.projects().locations().builds()
        self.operations = services.build.projects().locations().operations()
        self.connections = services.host.projects().locations().connections()
        self.topics = services.pubsub.projects().topics()
        self.jobs = services.scheduler.projects().locations().jobs()
        self.connections.create(parent=PARENT, connectionId="host", body={"githubConfig": {}}).execute()
        body = {"remoteUri": f"https://github.com/{REPOSITORY}.git"}
        self.connections.repositories().create(parent=CONNECTION, repositoryId="levanter", body=body).execute()
        self.topics.create(name=TOPIC, body={}).execute()

    def trigger(self, name: str, *, branch: str = "^main$", **more: Any) -> dict[str, Any]:
        config = {"repository": f"{CONNECTION}/repositories/levanter", "push": {"branch": branch}}
        body = {"name": name, "repositoryEventConfig": config, "build": {"steps": [{"name": "x"}]}, **more}
        kept = {key: value for key, value in body.items() if value is not None}
        return self.triggers.create(parent=PARENT, body=kept).execute()

    def push(self, *changed: str, branch: str = "main", **more: Any) -> dict[str, Any]:
        return self.control.push(REPOSITORY, changed, branch=branch, **more)


@pytest.fixture
def world() -> Iterator[World]:
    with running_cloud() as cloud, _services(cloud.url) as services:
        yield World(services, BuildControl(cloud.url))


def test_a_push_starts_the_triggers_whose_filters_it_passes(world):
    world.trigger("base", includedFiles=["images/levanter-base/**"])
    world.trigger("other", includedFiles=["images/tpu-ci/**"])
    world.trigger("release", branch="^v.*$")
    world.trigger("paused", disabled=True)
    told = world.push("images/levanter-base/Dockerfile", "README.md")
    assert {each["name"]: each["reason"] for each in told["triggers"]} == {
        "base": "changed: images/levanter-base/Dockerfile",
        "other": "no changed file passes its filters",
        "release": "branch main is not one of its",
        "paused": "the trigger is disabled",
    }
    (build,) = told["builds"]
    assert build["status"] == "QUEUED"
    assert build["id"] == told["triggers"][0]["build"]


def test_a_build_knows_the_commit_that_started_it(world):
    steps = [{"name": "x", "args": ["$_PLACE:$SHORT_SHA", "$BUILD_ID", "$LOCATION", "${_REV}"]}]
    made = world.trigger(
        "told",
        substitutions={"_PLACE": "here/$PROJECT_ID"},
        build={"steps": steps, "tags": ["image-$_PLACE"], "substitutions": {"_REV": "$COMMIT_SHA"}},
    )
    (build,) = world.push("a", commit=SHA)["builds"]
    assert build["steps"][0]["args"] == ["here/tidepool-test:0123456", build["id"], "us-central1", SHA]
    assert build["tags"] == ["image-here/tidepool-test", f"trigger-{made['id']}"]
    assert build["buildTriggerId"] == made["id"]
    assert build["substitutions"] == {
        "TRIGGER_NAME": "told",
        "BRANCH_NAME": "main",
        "REF_NAME": "main",
        "COMMIT_SHA": SHA,
        "REVISION_ID": SHA,
        "SHORT_SHA": SHA[:7],
        "REPO_FULL_NAME": REPOSITORY,
        "REPO_NAME": "levanter",
        "_PLACE": "here/tidepool-test",
        "_REV": SHA,
    }
    assert build["source"]["connectedRepository"]["revision"] == SHA
    assert world.builds.get(name=build["name"]).execute() == build


def test_a_push_to_another_repository_starts_nothing(world):
    world.trigger("mine")
    assert world.control.push("marin-community/marin", ["a"], branch="main")["triggers"] == []


def test_a_tag_starts_triggers_of_tags_alone(world):
    world.trigger("branches")
    config = {"repository": f"{CONNECTION}/repositories/levanter", "push": {"tag": "^v"}}
    world.trigger("tags", repositoryEventConfig=config)
    (build,) = world.control.push(REPOSITORY, [], tag="v1")["builds"]
    assert build["substitutions"]["TAG_NAME"] == "v1"
    assert build["substitutions"]["TRIGGER_NAME"] == "tags"


def test_a_disabled_connection_starts_nothing(world):
    world.trigger("mine")
    world.connections.patch(name=CONNECTION, body={"githubConfig": {}, "disabled": True}).execute()
    assert [each["reason"] for each in world.push("a")["triggers"]] == ["its connection is disabled"]


def test_a_trigger_that_reads_its_build_from_the_repository_fails_at_once(world):
    world.trigger("file", build=None, filename="cloudbuild.yaml")
    (build,) = world.push("a")["builds"]
    assert build["status"] == "FAILURE"
    assert build["failureInfo"]["type"] == "FETCH_SOURCE_FAILED"


def test_a_trigger_that_asks_a_person_waits_for_one(world):
    world.trigger("asks", approvalConfig={"approvalRequired": True})
    assert world.push("a")["builds"][0]["status"] == "PENDING"
    assert world.control.take() is None


def _listener(world: World, **more: Any) -> dict[str, Any]:
    body = {
        "name": "listener",
        "pubsubConfig": {"topic": TOPIC},
        "build": {"steps": [{"name": "x", "args": ["$_IMAGE"]}]},
        "substitutions": {"_IMAGE": "$(body.message.attributes.image)"},
        **more,
    }
    return world.triggers.create(parent=PARENT, body=body).execute()


def test_a_message_starts_the_triggers_that_listen(world):
    _listener(world)
    _listener(world, name="asleep", disabled=True)
    world.topics.publish(topic=TOPIC, body={"messages": [{"attributes": {"image": "tpu-ci"}}]}).execute()
    (build,) = world.control.builds("QUEUED")
    assert build["steps"][0]["args"] == ["tpu-ci"]
    assert "source" not in build


def _job(world: World, schedule: str, zone: str = "Etc/UTC") -> str:
    target = {"topicName": TOPIC, "data": base64.b64encode(b"{}").decode(), "attributes": {"image": "cluster"}}
    body = {"name": f"{PARENT}/jobs/weekly", "schedule": schedule, "timeZone": zone, "pubsubTarget": target}
    return world.jobs.create(parent=PARENT, body=body).execute()["name"]


def test_a_job_starts_a_build_at_each_of_its_times_once(world):
    _listener(world)
    _job(world, "0 3 * * *")
    world.control.advance(18 * 3600)
    assert world.control.builds() == []
    world.control.advance(3 * 24 * 3600)
    built = [each["createTime"] for each in world.control.builds()]
    assert built == [f"2026-11-{day}T03:00:00.000000Z" for day in (22, 23, 24)]


def test_a_job_follows_its_time_zone_over_a_change_of_the_clocks(world):
    _listener(world)
    name = _job(world, "0 9 * * *", "Europe/Amsterdam")
    assert world.jobs.get(name=name).execute()["scheduleTime"] == "2026-11-22T08:00:00.000000Z"
    world.control.advance(150 * 24 * 3600)
    assert world.jobs.get(name=name).execute()["scheduleTime"] == "2027-04-21T07:00:00.000000Z"


def test_a_job_runs_when_it_is_told_and_not_while_it_is_paused(world):
    _listener(world)
    name = _job(world, "0 3 * * *")
    world.jobs.pause(name=name, body={}).execute()
    world.control.advance(48 * 3600)
    assert world.control.builds() == []
    assert "lastAttemptTime" in world.jobs.run(name=name, body={}).execute()
    assert len(world.control.builds()) == 1


def test_a_job_whose_topic_is_gone_says_so(world):
    name = _job(world, "0 3 * * *")
    world.topics.delete(topic=TOPIC).execute()
    assert world.jobs.run(name=name, body={}).execute()["status"]["code"] == 5


def test_a_trigger_is_run_by_hand_for_a_branch_or_a_commit(world, refused):
    name = world.trigger("by-hand", disabled=True)["resourceName"]
    pushed = world.push("a")["commit"]
    refused(400, world.triggers.run(name=name, body={}))
    begun = world.triggers.run(name=name, body={"source": {"branchName": "main"}}).execute()
    assert begun["metadata"]["build"]["substitutions"]["COMMIT_SHA"] == pushed
    begun = world.triggers.run(name=name, body={"source": {"commitSha": SHA}}).execute()
    assert begun["metadata"]["build"]["substitutions"]["COMMIT_SHA"] == SHA
    assert not begun["done"]


def test_builds_are_taken_in_the_order_in_which_they_came(world):
    world.trigger("every")
    first, second = (world.push(name)["builds"][0] for name in ("a", "b"))
    taken = world.control.take()
    assert taken["id"] == first["id"]
    assert taken["status"] == "WORKING"
    with pytest.raises(ControlError, match="WORKING"):
        world.control.take(first["id"])
    assert world.control.take(second["id"])["id"] == second["id"]
    assert world.control.take() is None


def test_a_report_ends_a_build_and_its_operation(world):
    steps = [{"id": "one", "name": "x"}, {"name": "y"}]
    name = world.trigger("reported", build={"steps": steps})["resourceName"]
    operation = world.triggers.run(name=name, body={"source": {"branchName": "main"}}).execute()
    taken = world.control.take()
    world.control.report(taken["id"], steps={"one": {"status": "WORKING"}})
    world.control.advance(30)
    world.control.report(taken["id"], steps={"one": {"status": "SUCCESS", "exitCode": 0}})
    done = world.control.report(taken["id"], status="FAILURE", steps={"1": {"status": "FAILURE", "exitCode": 3}})
    assert [step["status"] for step in done["steps"]] == ["SUCCESS", "FAILURE"]
    timing = done["steps"][0]["timing"]
    assert (timing["startTime"], timing["endTime"]) == ("2026-11-21T08:00:00.000000Z", "2026-11-21T08:00:30.000000Z")
    assert done["finishTime"] == timing["endTime"]
    ended = world.operations.get(name=operation["name"]).execute()
    assert ended["done"]
    assert "FAILURE" in ended["error"]["message"]
    with pytest.raises(ControlError, match="nobody runs it"):
        world.control.report(taken["id"], status="SUCCESS")


def test_the_lengths_of_steps_put_them_one_behind_another(world):
    world.trigger("timed", build={"steps": [{"id": "one", "name": "x"}, {"id": "two", "name": "y"}]})
    world.push("a")
    name = world.control.take()["id"]
    steps = {step: {"status": "SUCCESS", "seconds": 1.5} for step in ("one", "two")}
    first, second = (step["timing"] for step in world.control.report(name, status="SUCCESS", steps=steps)["steps"])
    assert first["endTime"] == second["startTime"] == "2026-11-21T08:00:01.500000Z"
    assert second["endTime"] == "2026-11-21T08:00:03.000000Z"


def test_a_runner_learns_that_its_build_was_cancelled(world):
    world.trigger("every")
    name = world.push("a")["builds"][0]["name"]
    world.control.take()
    world.builds.cancel(name=name, body={}).execute()
    assert world.control.report(name, status="SUCCESS")["status"] == "CANCELLED"


def test_builds_are_listed_by_state_and_trigger_newest_first(world):
    made = world.trigger("every")
    for name in ("a", "b"):
        world.push(name)
    world.control.take()
    listed = world.builds.list(parent=PARENT, filter=f'build_trigger_id="{made["id"]}"').execute()["builds"]
    assert [each["status"] for each in listed] == ["QUEUED", "WORKING"]
    queued = world.builds.list(parent=PARENT, filter='status="QUEUED"').execute()["builds"]
    assert [each["id"] for each in queued] == [listed[0]["id"]]
    assert len(world.builds.list(parent=PARENT, filter='create_time>"2026"').execute()["builds"]) == 2


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ({"steps": [{"name": "$_X"}]}, "not a valid built-in"),
        ({"steps": [{"name": "x"}], "substitutions": {"_X": "1"}}, "not matched"),
    ],
)
def test_a_build_by_hand_names_the_substitutions_it_is_given(world, refused, template, words):
    assert words in refused(400, world.builds.create(parent=PARENT, body=template))["message"]
    loose = {**template, "options": {"substitutionOption": "ALLOW_LOOSE"}}
    assert world.builds.create(parent=PARENT, body=loose).execute()["metadata"]["build"]["status"] == "QUEUED"
