"""Cloud Build, call by call: triggers, connections, what starts builds, and how a runner reports them."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from bench.cloud.services.cloudbuild import substitutions
from bench.tests.cloud.cloud_clients import Direct, Row, compared

PROJECT = "projects/tidepool-test"
PARENT = f"{PROJECT}/locations/us-central1"
CONNECTION, TRIGGERS = f"{PARENT}/connections/host", f"v1/{PARENT}/triggers"
TOPIC = f"{PROJECT}/topics/builds"
REPOSITORY, SHA = "stanford-crfm/levanter", "0123456789abcdef0123456789abcdef01234567"
LINKED = f"{CONNECTION}/repositories/levanter"
PUSH = {"repository": LINKED, "push": {"branch": "^main$"}}
STEPS = {"steps": [{"name": "x"}]}
OWN = f"{PROJECT}/serviceAccounts/builder@tidepool-test.iam.gserviceaccount.com"
URI = {"remoteUri": f"https://github.com/{REPOSITORY}.git"}
POLICY = {"bindings": [{"role": "roles/cloudbuild.readTokenAccessor", "members": ["user:a@example.org"]}]}
TRIGGER_1, BUILD_1, BUILD_2 = (
    str(uuid.uuid5(uuid.NAMESPACE_URL, f"cloudbuild.{each}")) for each in ("trigger 1", "build 1", "build 2")
)


def trigger(name: str, status: int = 200, **more: Any) -> Row:
    body = {"name": name, "repositoryEventConfig": PUSH, "build": STEPS, **more}
    return ("POST", TRIGGERS, {key: value for key, value in body.items() if value is not None}, status)


def push(*changed: str, status: int = 200, **more: Any) -> Row:
    where = {"repository": REPOSITORY, "branch": "main", "changed": changed, **more}
    return ("POST", "_tidepool/push", where, status)


def order(command: str, body: Any, status: int = 200) -> Row:
    return ("POST", f"_tidepool/{command}", body, status)


def run(name: str, source: Any, status: int = 200) -> Row:
    return ("POST", f"{TRIGGERS}/{name}:run", {"source": source}, status)


WORLD: list[Row] = [
    ("POST", f"v2/{PARENT}/connections?connectionId=host", {"githubConfig": {}}),
    ("POST", f"v2/{CONNECTION}/repositories?repositoryId=levanter", URI),
    ("PUT", f"v1/{TOPIC}", {}),
]
ECHO: Any = {
    "includedFiles": ["images/**"], "substitutions": {"_EMPTY": "", "_TAG": "x"},
    "build": {**STEPS, "options": {"diskSizeGb": "100", "logging": "CLOUD_LOGGING_ONLY"}},
}  # fmt: skip
LISTENER: Any = {
    "repositoryEventConfig": None, "pubsubConfig": {"topic": TOPIC},
    "build": {"steps": [{"name": "x", "args": ["$_IMAGE"]}]},
    "substitutions": {"_IMAGE": "$(body.message.attributes.image)"},
}  # fmt: skip
ENDED = {"one": {"status": "SUCCESS", "seconds": 1.5}, "1": {"status": "FAILURE", "seconds": 1.5}}
CALLS: dict[str, list[Row]] = {
    "triggers": [
        trigger("echo", **ECHO),
        *(f"{TRIGGERS}/{key}" for key in ("echo", TRIGGER_1)),
        TRIGGERS, trigger("echo", 409),
        ("PATCH", f"{TRIGGERS}/echo", {
            "name": "echo", "repositoryEventConfig": PUSH, "build": STEPS, "disabled": True}),
        ("DELETE", f"{TRIGGERS}/{TRIGGER_1}"), ("GET", f"{TRIGGERS}/echo", None, 404),
    ],
    "refusals": [
        *(trigger("refused", code, **change) for change, code in (
            ({"build": None}, 400), ({"build": {"steps": []}}, 400),
            ({"repositoryEventConfig": {"repository": LINKED}}, 400),
            ({"repositoryEventConfig": {**PUSH, "repository": LINKED.replace("central1", "east1")}}, 404),
            ({"pubsubConfig": {"topic": f"{PROJECT}/topics/absent"}}, 404), ({"serviceAccount": OWN}, 400),
            ({"serviceAccount": OWN, "build": {**STEPS, "logsBucket": "gs://logs"}}, 400),
            ({"includedFiles": ["[a-c].py"]}, 501), ({"webhookConfig": {"secret": "x"}}, 501))),
        *(("POST", f"v2/{PARENT}/connections?connectionId=other", body, code) for body, code in (
            ({}, 400), ({"githubConfig": {"authorizerCredential": {
                "oauthTokenSecretVersion": f"{PROJECT}/secrets/oauth/versions/1"}}}, 404))),
        ("DELETE", f"v2/{CONNECTION}", None, 400),
        ("POST", f"v2/{CONNECTION}/repositories?repositoryId=b", {"remoteUri": "https://gitlab.com/a/b.git"}, 400),
        push(repository="levanter", status=400),
    ],
    "a connection": [
        f"v2/{CONNECTION}",
        ("POST", f"v2/{CONNECTION}:setIamPolicy", {"policy": POLICY}),
        f"v2/{CONNECTION}:getIamPolicy",
        ("PATCH", f"v2/{CONNECTION}", {"githubConfig": {}, "etag": "c3RhbGU="}, 409),
        ("PATCH", f"v2/{CONNECTION}", {"githubConfig": {}, "disabled": True}),
    ],
    "pushes": [
        trigger("base", includedFiles=["images/levanter-base/**"], ignoredFiles=["**/*.md"]),
        trigger("other", includedFiles=["images/tpu-ci/**"]), trigger("any"),
        trigger("release", repositoryEventConfig={"repository": LINKED, "push": {"branch": "^v.*$"}}),
        trigger("tags", repositoryEventConfig={"repository": LINKED, "push": {"tag": "^v"}}),
        trigger("file", 501, build=None, filename="cloudbuild.yaml"), trigger("paused", disabled=True),
        push("images/levanter-base/Dockerfile", "images/levanter-base/README.md"), push(branch="", tag="v1"),
        push("a", repository="marin-community/marin"),
    ],
    "what a build knows": [
        trigger("told", substitutions={"_PLACE": "here/$PROJECT_ID"}, build={
            "steps": [{"name": "x", "args": ["$_PLACE:$SHORT_SHA", "$BUILD_ID", "$LOCATION", "${_REV}"]}],
            "tags": ["image-$_PLACE"], "substitutions": {"_REV": "$COMMIT_SHA"}}),
        push("a", commit=SHA),
        f"v1/{PARENT}/builds/{BUILD_1}",
    ],
    "messages, times and people": [
        trigger("listener", **LISTENER), trigger("asleep", **LISTENER, disabled=True),
        ("POST", f"v1/{TOPIC}:publish", {"messages": [{"attributes": {"image": "tpu-ci"}}]}),
        order("builds", {"arguments": ["QUEUED"]}),
        ("POST", f"v1/{PARENT}/jobs", {"name": f"{PARENT}/jobs/daily", "schedule": "0 3 * * *", "pubsubTarget": {
            "topicName": TOPIC, "data": "e30=", "attributes": {"image": "cluster"}}}),
        ("POST", "_tidepool/advance", {"seconds": 4 * 24 * 3600}),
        order("builds", {}), trigger("by-hand", disabled=True), push("a", commit="1" * 40),
        run("by-hand", {"branchName": "main"}), run("by-hand", {"commitSha": SHA}),
    ],
    "a runner": [
        trigger("reported", build={"steps": [{"id": "one", "name": "x"}, {"name": "y"}]}),
        run("reported", {"branchName": "main"}), push("a"), order("take", {}), order("take", {"name": BUILD_1}, 400),
        order("report", {"name": BUILD_1, "status": "FAILURE", "steps": ENDED}),
        order("report", {"name": BUILD_1, "status": "SUCCESS"}, 400), order("take", {"name": BUILD_2}),
        ("POST", f"v1/{PARENT}/builds/{BUILD_2}:cancel", {}),
        order("report", {"name": BUILD_2, "status": "SUCCESS"}), order("take", {}),
        order("take", {"name": "nobody"}, 404), order("pushed", {"repository": REPOSITORY, "branch": "main"}),
        order("pushed", {"repository": REPOSITORY, "branch": "main", "commit": SHA}), order("builds", {}),
        f"v1/{PARENT}/builds?filter=status%3DCANCELLED",
    ],
}  # fmt: skip


@pytest.mark.parametrize("calls", CALLS)
def test_cloud_build_answers_each_call(calls: str, update_goldens: bool) -> None:
    compared(Direct().check([*WORLD, *CALLS[calls]]), f"builds {calls}", update_goldens)


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
    assert substitutions.resolved({"_A": "$_B|", "_B": "$_A"}, {}) == {"_A": "|", "_B": ""}


def test_what_a_message_says_is_never_read_as_a_variable():
    binding = "$(body.message.attributes.image)"
    own = {"_X": binding, "_Y": "$(body.message.attributes.none)|"}
    bound = substitutions.bound(own, {"attributes": {"image": "$BUILD_ID"}})
    done = substitutions.resolved({**bound, "_OF_THE_BUILD": binding}, {"BUILD_ID": "7"})
    assert done == {"_X": "$BUILD_ID", "_Y": "|", "_OF_THE_BUILD": binding}
    assert substitutions.applied({"args": ["$_X"]}, done) == {"args": ["$BUILD_ID"]}
