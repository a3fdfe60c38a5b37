"""Cloud Build through Google's own client: triggers, connections, what starts builds, and how a runner reports them."""

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
from bench.cloud.errors import ApiError
from bench.cloud.services.cloudbuild import substitutions
from bench.cloud.testing import running_cloud

PROJECT = "projects/tidepool-test"
PARENT = f"{PROJECT}/locations/us-central1"
CONNECTION = f"{PARENT}/connections/host"
TOPIC = f"{PROJECT}/topics/builds"
REPOSITORY = "stanford-crfm/levanter"
LINKED = f"{CONNECTION}/repositories/levanter"
PUSH = {"repository": LINKED, "push": {"branch": "^main$"}}
SHA = "0123456789abcdef0123456789abcdef01234567"
STEPS = {"steps": [{"name": "x"}]}


@contextmanager
def _services(url: str) -> Generator[Any]:
    made = {
        name: build(
            service, version, credentials=AnonymousCredentials(), client_options={"api_endpoint": url},
            cache_discovery=False,
        )
        for name, service, version in (
            ("build", "cloudbuild", "v1"), ("host", "cloudbuild", "v2"), ("pubsub", "pubsub", "v1"),
            ("scheduler", "cloudscheduler", "v1"), ("secrets", "secretmanager", "v1"), ("iam", "iam", "v1"),
        )
    }  # fmt: skip
    yield SimpleNamespace(**made)
    for each in made.values():
        each.close()


class World:
    """One cloud with a linked repository and a topic."""

    def __init__(self, services: Any, control: BuildControl) -> None:
        self.services, self.control = services, control
        self.triggers = services.build.projects().locations().triggers()
        self.builds = services.build.projects().locations().builds()
        self.operations = services.build.projects().locations().operations()
        self.connections = services.host.projects().locations().connections()
        self.topics = services.pubsub.projects().topics()
        self.connections.create(parent=PARENT, connectionId="host", body={"githubConfig": {}}).execute()
        body = {"remoteUri": f"https://github.com/{REPOSITORY}.git"}
        self.connections.repositories().create(parent=CONNECTION, repositoryId="levanter", body=body).execute()
        self.topics.create(name=TOPIC, body={}).execute()

    def trigger(self, name: str, **more: Any) -> dict[str, Any]:
        return self.asked(name, **more).execute()

    def asked(self, name: str, **more: Any) -> Any:
        body = {"name": name, "repositoryEventConfig": PUSH, "build": STEPS, **more}
        kept = {key: value for key, value in body.items() if value is not None}
        return self.triggers.create(parent=PARENT, body=kept)

    def push(self, *changed: str, branch: str = "main", **more: Any) -> dict[str, Any]:
        return self.control.push(REPOSITORY, changed, branch=branch, **more)


@pytest.fixture
def world() -> Iterator[World]:
    with running_cloud() as cloud, _services(cloud.url) as services:
        yield World(services, BuildControl(cloud.url))


def test_a_trigger_comes_back_as_it_was_sent_and_an_update_is_the_whole_of_it(world, refused):
    body = {
        "name": "echo",
        "repositoryEventConfig": PUSH,
        "includedFiles": ["images/**"],
        "substitutions": {"_EMPTY": "", "_TAG": "x"},
        "build": {**STEPS, "options": {"diskSizeGb": "100", "logging": "CLOUD_LOGGING_ONLY"}},
    }
    made = world.trigger(**body)
    assert {**body, "repositoryEventConfig": {**PUSH, "repositoryType": "GITHUB"}}.items() <= made.items()
    assert world.triggers.get(name=f"{PARENT}/triggers/{made['id']}").execute() == made
    assert world.triggers.get(name=f"{PARENT}/triggers/echo").execute() == made, "a name is as good as an id"
    assert world.triggers.list(parent=PARENT).execute()["triggers"] == [made]
    refused(409, world.asked("echo"))
    less = {"name": "echo", "repositoryEventConfig": PUSH, "build": STEPS, "disabled": True}
    changed = world.triggers.patch(resourceName=made["resourceName"], body=less).execute()
    assert (changed["disabled"], "substitutions" in changed) == (True, False)
    assert world.triggers.delete(name=made["resourceName"]).execute() == {}


OWN = f"{PROJECT}/serviceAccounts/builder@tidepool-test.iam.gserviceaccount.com"


def test_what_cannot_work_is_refused(world, refused):
    elsewhere = {**PUSH, "repository": LINKED.replace("us-central1", "us-east1")}
    for change, code, words in (
        ({"build": None}, 400, "Exactly one of build"),
        ({"build": {"steps": []}}, 400, "at least one step"),
        ({"repositoryEventConfig": {"repository": LINKED}}, 400, "pushes to repositories"),
        ({"repositoryEventConfig": elsewhere}, 404, "not found"),
        ({"pubsubConfig": {"topic": f"{PROJECT}/topics/absent"}}, 404, "absent"),
        ({"serviceAccount": OWN}, 400, "logs_bucket"),
        ({"serviceAccount": OWN, "build": {**STEPS, "logsBucket": "gs://logs"}}, 404, "builder@"),
        ({"includedFiles": ["[a-c].py"]}, 501, "does not read the file filter"),
        ({"webhookConfig": {"secret": "x"}}, 501, "webhookConfig"),
    ):
        assert words in refused(code, world.asked("refused", **change))["message"], change
    secret = {"authorizerCredential": {"oauthTokenSecretVersion": f"{PROJECT}/secrets/oauth/versions/1"}}
    for body, code in (({}, 400), ({"githubConfig": secret}, 404)):
        refused(code, world.connections.create(parent=PARENT, connectionId="nowhere", body=body))
    assert "repositories" in refused(400, world.connections.delete(name=CONNECTION))["message"]
    repositories, body = world.connections.repositories(), {"remoteUri": "https://gitlab.com/a/b.git"}
    refused(400, repositories.create(parent=CONNECTION, repositoryId="other", body=body))
    body = {"remoteUri": f"https://github.com/{REPOSITORY}.git"}
    refused(409, repositories.create(parent=CONNECTION, repositoryId="again", body=body))


def test_a_connection_is_complete_without_a_person_and_keeps_its_policy(world, refused):
    found = world.connections.get(name=CONNECTION).execute()
    assert (found["installationState"], found["githubConfig"]) == ({"stage": "COMPLETE"}, {})
    binding = {"role": "roles/cloudbuild.readTokenAccessor", "members": ["user:a@example.org"]}
    world.connections.setIamPolicy(resource=CONNECTION, body={"policy": {"bindings": [binding]}}).execute()
    assert world.connections.getIamPolicy(resource=CONNECTION).execute()["bindings"] == [binding]
    body = {"githubConfig": {}, "disabled": True, "etag": found["etag"]}
    world.connections.patch(name=CONNECTION, body=body).execute()
    assert refused(409, world.connections.patch(name=CONNECTION, body=body))["status"] == "ABORTED"
    world.trigger("mine")
    assert [each["reason"] for each in world.push("a")["triggers"]] == ["its connection is disabled"]


def test_a_push_starts_the_triggers_whose_filters_it_passes(world):
    world.trigger("base", includedFiles=["images/levanter-base/**"], ignoredFiles=["**/*.md"])
    world.trigger("other", includedFiles=["images/tpu-ci/**"])
    world.trigger("any")
    world.trigger("release", repositoryEventConfig={"repository": LINKED, "push": {"branch": "^v.*$"}})
    world.trigger("tags", repositoryEventConfig={"repository": LINKED, "push": {"tag": "^v"}})
    world.trigger("file", build=None, filename="cloudbuild.yaml")
    world.trigger("paused", disabled=True)
    told = world.push("images/levanter-base/Dockerfile", "images/levanter-base/README.md")
    assert {each["name"]: each["reason"] for each in told["triggers"]} == {
        "base": "changed: images/levanter-base/Dockerfile",
        "other": "no changed file passes its filters",
        "any": "any file",
        "release": "branch main is not one of its",
        "tags": "it answers no branch",
        "file": "its configuration is in a file of the repository",
        "paused": "the trigger is disabled",
    }
    assert [each["status"] for each in told["builds"]] == ["QUEUED", "QUEUED"]
    assert told["builds"][0]["id"] == told["triggers"][0]["build"]
    (tagged,) = world.control.push(REPOSITORY, [], tag="v1")["builds"]
    assert (tagged["substitutions"]["TAG_NAME"], tagged["substitutions"]["TRIGGER_NAME"]) == ("v1", "tags")
    assert world.control.push("marin-community/marin", ["a"], branch="main")["triggers"] == []


def test_a_build_knows_the_commit_that_started_it(world):
    steps = [{"name": "x", "args": ["$_PLACE:$SHORT_SHA", "$BUILD_ID", "$LOCATION", "${_REV}"]}]
    made = world.trigger(
        "told",
        substitutions={"_PLACE": "here/$PROJECT_ID"},
        build={"steps": steps, "tags": ["image-$_PLACE"], "substitutions": {"_REV": "$COMMIT_SHA"}},
    )
    (found,) = world.push("a", commit=SHA)["builds"]
    assert found["steps"][0]["args"] == ["here/tidepool-test:0123456", found["id"], "us-central1", SHA]
    assert found["tags"] == ["image-here/tidepool-test", f"trigger-{made['id']}"]
    assert found["substitutions"] == {
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
    assert (found["buildTriggerId"], found["source"]["connectedRepository"]["revision"]) == (made["id"], SHA)
    assert world.builds.get(name=found["name"]).execute() == found


def test_messages_times_and_people_start_builds(world, refused):
    listener = {
        "repositoryEventConfig": None,
        "pubsubConfig": {"topic": TOPIC},
        "build": {"steps": [{"name": "x", "args": ["$_IMAGE"]}]},
        "substitutions": {"_IMAGE": "$(body.message.attributes.image)"},
    }
    world.trigger("listener", **listener)
    world.trigger("asleep", **listener, disabled=True)
    world.topics.publish(topic=TOPIC, body={"messages": [{"attributes": {"image": "tpu-ci"}}]}).execute()
    (found,) = world.control.builds("QUEUED")
    assert (found["steps"][0]["args"], "source" in found) == (["tpu-ci"], False)
    target = {"topicName": TOPIC, "data": base64.b64encode(b"{}").decode(), "attributes": {"image": "cluster"}}
    job = {"name": f"{PARENT}/jobs/daily", "schedule": "0 3 * * *", "timeZone": "Etc/UTC", "pubsubTarget": target}
    world.services.scheduler.projects().locations().jobs().create(parent=PARENT, body=job).execute()
    world.control.advance(4 * 24 * 3600)
    built = [each["createTime"] for each in world.control.builds()[1:]]
    assert built == [f"2026-11-{day}T03:00:00.000000Z" for day in (22, 23, 24, 25)]
    name = world.trigger("by-hand", disabled=True)["resourceName"]
    pushed = world.push("a")["commit"]
    refused(400, world.triggers.run(name=name, body={}))
    for source, commit in (({"branchName": "main"}, pushed), ({"commitSha": SHA}, SHA)):
        begun = world.triggers.run(name=name, body={"source": source}).execute()
        assert (begun["metadata"]["build"]["substitutions"]["COMMIT_SHA"], begun["done"]) == (commit, False)


def test_a_runner_takes_builds_in_their_order_and_its_report_ends_the_operation(world):
    steps = [{"id": "one", "name": "x"}, {"name": "y"}]
    name = world.trigger("reported", build={"steps": steps})["resourceName"]
    operation = world.triggers.run(name=name, body={"source": {"branchName": "main"}}).execute()
    second = world.push("a")["builds"][0]
    taken = world.control.take()
    assert (taken["id"], taken["status"]) == (operation["metadata"]["build"]["id"], "WORKING")
    with pytest.raises(ControlError, match="WORKING"):
        world.control.take(taken["id"])
    reported = {"one": {"status": "SUCCESS", "seconds": 1.5}, "1": {"status": "FAILURE", "seconds": 1.5}}
    done = world.control.report(taken["id"], status="FAILURE", steps=reported)
    first, last = (step["timing"] for step in done["steps"])
    assert [step["status"] for step in done["steps"]] == ["SUCCESS", "FAILURE"]
    assert first["endTime"] == last["startTime"] == "2026-11-21T08:00:01.500000Z"
    ended = world.operations.get(name=operation["name"]).execute()
    assert (ended["done"], "FAILURE" in ended["error"]["message"]) == (True, True)
    with pytest.raises(ControlError, match="nobody runs it"):
        world.control.report(taken["id"], status="SUCCESS")
    assert world.control.take(second["id"])["id"] == second["id"]
    world.builds.cancel(name=second["name"], body={}).execute()
    assert world.control.report(second["name"], status="SUCCESS")["status"] == "CANCELLED"
    assert world.control.take() is None
    listed = world.builds.list(parent=PARENT, filter='status="CANCELLED"').execute()["builds"]
    assert [each["id"] for each in listed] == [second["id"]]
    of_trigger = f'build_trigger_id="{name.rpartition("/")[2]}"'
    assert len(world.builds.list(parent=PARENT, filter=of_trigger).execute()["builds"]) == 2


def test_variables_are_filled_in_everywhere_but_in_scripts():
    args = ["$_A-${COMMIT_SHA}", "$$HOME", "$_NONE|", "$1 $a"]
    template = {
        "steps": [{"name": "x", "args": args, "script": "echo $_A"}], "substitutions": {"_A": "$COMMIT_SHA"}
    }  # fmt: skip
    done = substitutions.applied(template, {"_A": "1", "COMMIT_SHA": "f00"})
    assert done["steps"][0] == {"name": "x", "args": ["1-f00", "$HOME", "|", "$1 $a"], "script": "echo $_A"}
    assert done["substitutions"] == template["substitutions"]
    own = {"_PLACE": "$_HOST/x:${SHORT_SHA}", "_HOST": "us-docker.pkg.dev"}
    assert substitutions.resolved(own, {"SHORT_SHA": "abc"})["_PLACE"] == "us-docker.pkg.dev/x:abc"
    with pytest.raises(ApiError, match="_A -> _B -> _A"):
        substitutions.resolved({"_A": "$_B", "_B": "$_A"}, {})


def test_what_a_message_says_is_never_read_as_a_variable():
    binding = "$(body.message.attributes.image)"
    heard = substitutions.Heard({"attributes": {"image": "$BUILD_ID"}}, {"_X", "_Y"})
    own = {"_X": binding, "_Y": "$(body.message.attributes.none)", "_OF_THE_BUILD": binding}
    done = substitutions.resolved(own, {"BUILD_ID": "7"}, heard)
    assert done == {"_X": "$BUILD_ID", "_Y": "", "_OF_THE_BUILD": binding}
    assert substitutions.applied({"args": ["$_X"]}, done) == {"args": ["$BUILD_ID"]}
