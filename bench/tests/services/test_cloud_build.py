"""Cloud Build through Google's own client: triggers, connections and linked repositories."""

from __future__ import annotations

import pytest

PARENT = "projects/tidepool-test/locations/us-central1"
REPOSITORY = f"{PARENT}/connections/host/repositories/levanter"
STEPS = {"steps": [{"name": "debian", "args": ["true"]}], "timeout": "1200s"}
PUSH = {"repository": REPOSITORY, "push": {"branch": "^main$"}}


@pytest.fixture(scope="module")
def connections(client):
    return client("cloudbuild", "v2").projects().locations().connections()


@pytest.fixture(scope="module")
def ended(client, settled):
    """`ended(operation)`: wait for an operation of the second version of the API."""
    operations = client("cloudbuild", "v2").projects().locations().operations()
    return lambda operation: settled(operation, lambda name: operations.get(name=name))


@pytest.fixture(scope="module")
def linked(connections, ended):
    """A connection with one repository."""
    ended(connections.create(parent=PARENT, connectionId="host", body={"githubConfig": {}}).execute())
    body = {"remoteUri": "https://github.com/stanford-crfm/levanter.git"}
    request = connections.repositories().create(parent=f"{PARENT}/connections/host", repositoryId="levanter", body=body)
    return ended(request.execute())


@pytest.fixture(scope="module")
def triggers(client, linked):
    return client("cloudbuild").projects().locations().triggers()


def test_a_connection_is_complete_without_a_person(connections, linked):
    found = connections.get(name=f"{PARENT}/connections/host").execute()
    assert found["installationState"] == {"stage": "COMPLETE"}
    assert found["githubConfig"] == {}, "what was not sent is not added"
    assert linked["response"]["remoteUri"] == "https://github.com/stanford-crfm/levanter.git"


def test_a_trigger_comes_back_as_it_was_sent(triggers):
    body = {
        "name": "echo",
        "repositoryEventConfig": PUSH,
        "includedFiles": ["images/**"],
        "substitutions": {"_EMPTY": "", "_TAG": "x"},
        "build": {**STEPS, "options": {"diskSizeGb": "100", "logging": "CLOUD_LOGGING_ONLY"}},
    }
    made = triggers.create(parent=PARENT, body=body).execute()
    assert {key: made[key] for key in body} == {
        **body,
        "repositoryEventConfig": {**PUSH, "repositoryType": "GITHUB"},
    }
    assert triggers.get(name=f"{PARENT}/triggers/{made['id']}").execute() == made
    assert triggers.get(name=f"{PARENT}/triggers/echo").execute() == made, "a name is as good as an id"
    assert made["id"] in {each["id"] for each in triggers.list(parent=PARENT).execute()["triggers"]}


def test_an_update_without_a_mask_is_the_whole_trigger(triggers):
    body = {"name": "whole", "repositoryEventConfig": PUSH, "tags": ["a"], "build": STEPS}
    made = triggers.create(parent=PARENT, body=body).execute()
    name = f"{PARENT}/triggers/{made['id']}"
    less = {"name": "whole", "repositoryEventConfig": PUSH, "build": STEPS, "disabled": True}
    changed = triggers.patch(resourceName=name, body=less).execute()
    assert changed["disabled"]
    assert "tags" not in changed
    assert triggers.delete(name=name).execute() == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"build": None}, "Exactly one of build"),
        ({"filename": "cloudbuild.yaml"}, "Exactly one of build"),
        ({"pubsubConfig": {"topic": "projects/tidepool-test/topics/x"}}, "one kind of event"),
        ({"substitutions": {"IMAGE": "x"}}, "underscore"),
        ({"name": "-x"}, "Invalid trigger name"),
        ({"build": {"steps": []}}, "at least one step"),
        ({"build": {"steps": [{"args": ["x"]}]}}, "a name is required"),
        ({"build": {"steps": [{"name": "x", "waitFor": ["y"]}]}}, "waits for"),
        ({"repositoryEventConfig": {**PUSH, "push": {"branch": "a(?=b)"}}}, "look-around"),
        ({"repositoryEventConfig": {**PUSH, "push": {"branch": "("}}}, "regular expression"),
        ({"repositoryEventConfig": {"repository": REPOSITORY}}, "push and pull_request"),
        ({"repositoryEventConfig": {**PUSH, "repository": REPOSITORY.replace("us-central1", "us-east1")}}, "location"),
    ],
)
def test_a_trigger_that_cannot_work_is_refused(triggers, refused, change, words):
    body = {"name": "refused", "repositoryEventConfig": PUSH, "build": STEPS, **change}
    request = triggers.create(parent=PARENT, body={key: value for key, value in body.items() if value is not None})
    assert words in refused(400, request)["message"]


def test_a_build_of_an_account_of_its_own_says_where_its_logs_go(triggers, client, refused):
    account = "projects/tidepool-test/serviceAccounts/builder@tidepool-test.iam.gserviceaccount.com"
    body = {"name": "own", "repositoryEventConfig": PUSH, "serviceAccount": account, "build": STEPS}
    assert "logs_bucket" in refused(400, triggers.create(parent=PARENT, body=body))["message"]
    body["build"] = {**STEPS, "logsBucket": "gs://logs"}
    refused(404, triggers.create(parent=PARENT, body=body))
    accounts = client("iam").projects().serviceAccounts()
    accounts.create(name="projects/tidepool-test", body={"accountId": "builder"}).execute()
    assert triggers.create(parent=PARENT, body=body).execute()["serviceAccount"] == account


def test_a_name_is_taken_once_in_a_location(triggers, client, refused):
    body = {"name": "taken", "build": STEPS}
    triggers.create(parent=PARENT, body=body).execute()
    refused(409, triggers.create(parent=PARENT, body=body))
    anywhere = client("cloudbuild").projects().triggers()
    assert "/global/" in anywhere.create(projectId="tidepool-test", body=body).execute()["resourceName"]


def test_a_connection_with_repositories_stays(connections, refused, linked):
    assert "repositories" in refused(400, connections.delete(name=f"{PARENT}/connections/host"))["message"]


@pytest.mark.parametrize("body", [{}, {"githubConfig": {}, "gitlabConfig": {}}])
def test_a_connection_is_to_one_host(connections, refused, body):
    request = connections.create(parent=PARENT, connectionId="nowhere", body=body)
    assert "exactly one of githubConfig" in refused(400, request)["message"]


def test_a_connection_names_a_secret_that_exists(connections, client, refused, ended):
    version = "projects/tidepool-test/secrets/oauth/versions/1"
    body = {"githubConfig": {"appInstallationId": "77", "authorizerCredential": {"oauthTokenSecretVersion": version}}}
    request = connections.create(parent=PARENT, connectionId="secret", body=body)
    refused(404, request)
    secrets = client("secretmanager").projects().secrets()
    automatic = {"replication": {"automatic": {}}}
    secrets.create(parent="projects/tidepool-test", secretId="oauth", body=automatic).execute()
    assert ended(request.execute())["response"]["githubConfig"] == body["githubConfig"]


def test_an_update_of_a_connection_carries_its_etag(connections, refused, ended):
    name = f"{PARENT}/connections/marked"
    made = ended(connections.create(parent=PARENT, connectionId="marked", body={"githubConfig": {}}).execute())[
        "response"
    ]
    body = {"githubConfig": {}, "disabled": True, "etag": made["etag"]}
    assert ended(connections.patch(name=name, body=body).execute())["response"]["disabled"] is True
    assert refused(409, connections.patch(name=name, body=body))["status"] == "ABORTED"


def test_a_policy_of_a_connection_is_kept(connections, linked):
    name = f"{PARENT}/connections/host"
    binding = {"role": "roles/cloudbuild.readTokenAccessor", "members": ["user:a@example.org"]}
    connections.setIamPolicy(resource=name, body={"policy": {"bindings": [binding]}}).execute()
    assert connections.getIamPolicy(resource=name).execute()["bindings"] == [binding]


def test_a_repository_gives_a_token_for_an_hour(connections, linked):
    token = connections.repositories().accessReadToken(repository=REPOSITORY, body={}).execute()
    assert token["token"].startswith("local_")
    assert token["expirationTime"] > "2026-11-21T09"
