"""Artifact Registry through Google's own client."""

from __future__ import annotations

import pytest

PARENT = "projects/tidepool-test/locations/us-central1"
KEEP = {"id": "keep", "action": "KEEP", "mostRecentVersions": {"keepCount": 16}}
OLD = {"id": "old", "action": "DELETE", "condition": {"tagState": "ANY", "olderThan": "2592000s"}}


@pytest.fixture
def repositories(client):
    return client("artifactregistry").projects().locations().repositories()


@pytest.fixture
def created(client, repositories, settled):
    locations = client("artifactregistry").projects().locations()

    def create(identity, parent=PARENT, **body):
        body = {"format": "DOCKER", **body}
        begun = repositories.create(parent=parent, repositoryId=identity, body=body).execute()
        ended = settled(begun, lambda name: locations.operations().get(name=name))
        return ended["response"]

    return create


def test_a_repository_gives_back_every_field_it_was_sent(created, repositories):
    sent = {"mode": "STANDARD_REPOSITORY", "description": "images", "labels": {"team": "ci"},
            "cleanupPolicies": {"keep": KEEP, "old": OLD}}  # fmt: skip
    created("marin", **sent)
    got = repositories.get(name=f"{PARENT}/repositories/marin").execute()
    assert {key: got[key] for key in sent} == sent
    assert got["name"] == f"{PARENT}/repositories/marin"
    assert got["registryUri"] == "us-central1-docker.pkg.dev/tidepool-test/marin"


def test_false_and_empty_values_are_the_same_as_unsent(created, repositories):
    created("bare", cleanupPolicyDryRun=False, description="", labels={}, dockerConfig={"immutableTags": False})
    got = repositories.get(name=f"{PARENT}/repositories/bare").execute()
    assert not {"cleanupPolicyDryRun", "description", "labels", "dockerConfig"} & got.keys()


def test_a_patch_applies_only_what_its_mask_names_and_answers_the_repository(created, repositories):
    created("masked", description="before", labels={"a": "1"})
    name = f"{PARENT}/repositories/masked"
    body = {"description": "after", "labels": {"b": "2"}, "format": "DOCKER"}
    got = repositories.patch(name=name, updateMask="labels", body=body).execute()
    assert got["labels"] == {"b": "2"}
    assert got["description"] == "before"
    cleared = repositories.patch(name=name, updateMask="description", body={}).execute()
    assert "description" not in cleared


def test_format_and_mode_of_a_repository_never_change(created, repositories, refused):
    created("fixed")
    name = f"{PARENT}/repositories/fixed"
    error = refused(400, repositories.patch(name=name, updateMask="format", body={"format": "PYTHON"}))
    assert "format" in error["message"]


@pytest.mark.parametrize(
    "policy",
    [
        {"action": "DELETE"},
        {"action": "DELETE", "mostRecentVersions": {"keepCount": 3}},
        {"action": "KEEP", "mostRecentVersions": {"keepCount": 0}},
        {"action": "KEEP", "mostRecentVersions": {"keepCount": 1}, "condition": {"tagState": "ANY"}},
        {"action": "KEEP", "condition": {"tagState": "ANY", "tagPrefixes": ["v"]}},
        {"id": "other", "action": "KEEP", "mostRecentVersions": {"keepCount": 1}},
        {"condition": {"tagState": "ANY"}},
    ],
)
def test_a_cleanup_policy_that_cannot_work_is_refused(repositories, refused, policy):
    body = {"format": "DOCKER", "cleanupPolicies": {"policy": policy}}
    refused(400, repositories.create(parent=PARENT, repositoryId="refused", body=body))
    refused(404, repositories.get(name=f"{PARENT}/repositories/refused"))


def test_a_remote_repository_names_its_upstream_for_good(created, repositories, refused):
    hub = {"dockerRepository": {"publicRepository": "DOCKER_HUB"}}
    made = created("hub", mode="REMOTE_REPOSITORY", remoteRepositoryConfig=hub)
    assert made["remoteRepositoryConfig"] == hub
    refused(
        400,
        repositories.create(parent=PARENT, repositoryId="no", body={"format": "DOCKER", "mode": "REMOTE_REPOSITORY"}),
    )
    other = {"dockerRepository": {"customRepository": {"uri": "https://ghcr.io"}}}
    request = repositories.patch(
        name=f"{PARENT}/repositories/hub", updateMask="remoteRepositoryConfig", body={"remoteRepositoryConfig": other}
    )
    assert "upstream" in refused(400, request)["message"]


def test_mirrors_may_stand_in_multi_regions(created, repositories):
    parent = "projects/tidepool-test/locations/europe"
    custom = {"dockerRepository": {"customRepository": {"uri": "https://ghcr.io"}}}
    created("ghcr", parent, mode="REMOTE_REPOSITORY", remoteRepositoryConfig=custom)
    listed = repositories.list(parent=parent).execute()["repositories"]
    assert [each["registryUri"] for each in listed] == ["europe-docker.pkg.dev/tidepool-test/ghcr"]


def test_a_taken_name_a_bad_name_and_an_unknown_place_are_refused(created, repositories, refused):
    created("taken")
    assert (
        "exists"
        in refused(409, repositories.create(parent=PARENT, repositoryId="taken", body={"format": "DOCKER"}))["message"]
    )
    refused(400, repositories.create(parent=PARENT, repositoryId="Upper", body={"format": "DOCKER"}))
    refused(400, repositories.create(parent=PARENT, repositoryId="formless", body={}))
    nowhere = "projects/tidepool-test/locations/mars-north1"
    refused(404, repositories.create(parent=nowhere, repositoryId="x", body={"format": "DOCKER"}))


def test_a_deleted_repository_takes_its_policy_along(created, repositories, client, settled):
    name = f"{PARENT}/repositories/gone"
    created("gone")
    policy = {"bindings": [{"role": "roles/artifactregistry.reader", "members": ["allUsers"]}]}
    repositories.setIamPolicy(resource=name, body={"policy": policy}).execute()
    operations = client("artifactregistry").projects().locations().operations()
    settled(repositories.delete(name=name).execute(), lambda each: operations.get(name=each))
    created("gone")
    assert "bindings" not in repositories.getIamPolicy(resource=name).execute()


def test_listing_goes_page_by_page(created, repositories):
    parent = "projects/paged/locations/us-east1"
    for index in range(5):
        created(f"r{index}", parent)
    names, request = [], repositories.list(parent=parent, pageSize=2)
    while request is not None:
        answer = request.execute()
        assert len(answer["repositories"]) <= 2
        names += [each["name"].rpartition("/")[2] for each in answer["repositories"]]
        request = repositories.list_next(request, answer)
    assert names == [f"r{index}" for index in range(5)]


def test_a_new_repository_holds_no_images(created, repositories):
    created("empty")
    assert repositories.dockerImages().list(parent=f"{PARENT}/repositories/empty").execute() == {}


def test_places_include_the_multi_regions(client):
    listed = client("artifactregistry").projects().locations().list(name="projects/tidepool-test").execute()
    assert {"us", "europe", "us-central2"} <= {each["locationId"] for each in listed["locations"]}


def test_a_place_without_the_service_lists_nothing_and_is_refused(client, repositories, refused):
    nowhere = "projects/tidepool-test/locations/mars-west1"
    assert refused(404, repositories.list(parent=nowhere))["status"] == "NOT_FOUND"
    rings = client("cloudkms").projects().locations().keyRings()
    assert refused(404, rings.list(parent=nowhere))["status"] == "NOT_FOUND"
