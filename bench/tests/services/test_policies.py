"""IAM policies behave alike on every resource that has one."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

READER = {"role": "roles/viewer", "members": ["user:ann@example.org"]}
CONDITION = {"title": "until June", "expression": 'request.time < timestamp("2027-06-01T00:00:00Z")'}


@dataclass(frozen=True)
class Policy:
    """How one kind of resource is asked for its policy, and told it."""

    get: Callable[[], Any]
    put: Callable[[dict[str, Any]], Any]


def _project(client):
    projects = client("cloudresourcemanager").projects()
    return Policy(
        lambda: projects.getIamPolicy(resource="policy-lab", body={"options": {"requestedPolicyVersion": 3}}),
        lambda policy: projects.setIamPolicy(resource="policy-lab", body={"policy": policy}),
    )


def _usual(collection, name, **get):
    return Policy(
        lambda: collection.getIamPolicy(resource=name, **get),
        lambda policy: collection.setIamPolicy(resource=name, body={"policy": policy}),
    )


def _repository(client):
    repositories = client("artifactregistry").projects().locations().repositories()
    parent = "projects/policy-lab/locations/us-east1"
    repositories.create(parent=parent, repositoryId="r", body={"format": "DOCKER"}).execute()
    return _usual(repositories, f"{parent}/repositories/r")


def _account(client):
    accounts = client("iam").projects().serviceAccounts()
    made = accounts.create(name="projects/policy-lab", body={"accountId": "policy-holder"}).execute()
    return _usual(accounts, made["name"], options_requestedPolicyVersion=3)


def _secret(client):
    secrets = client("secretmanager").projects().secrets()
    body = {"replication": {"automatic": {}}}
    secrets.create(parent="projects/policy-lab", secretId="s", body=body).execute()
    return _usual(secrets, "projects/policy-lab/secrets/s", options_requestedPolicyVersion=3)


def _bucket(client):
    buckets = client("storage").buckets()
    buckets.insert(project="policy-lab", body={"name": "policy-lab-bucket"}).execute()
    empty = buckets.getIamPolicy(bucket="policy-lab-bucket").execute()
    buckets.setIamPolicy(bucket="policy-lab-bucket", body={"etag": empty["etag"]}).execute()
    return Policy(
        lambda: buckets.getIamPolicy(bucket="policy-lab-bucket", optionsRequestedPolicyVersion=3),
        lambda policy: buckets.setIamPolicy(bucket="policy-lab-bucket", body=policy),
    )


def _ring(client):
    rings = client("cloudkms").projects().locations().keyRings()
    parent = "projects/policy-lab/locations/us-east1"
    rings.create(parent=parent, keyRingId="ring", body={}).execute()
    return _usual(rings, f"{parent}/keyRings/ring")


KINDS = {
    "project": _project,
    "repository": _repository,
    "service account": _account,
    "secret": _secret,
    "bucket": _bucket,
    "key ring": _ring,
}


@pytest.fixture(scope="module")
def policies(client):
    return {name: make(client) for name, make in KINDS.items()}


@pytest.fixture(params=KINDS)
def policy(request, policies):
    """A resource's policy, emptied."""
    one = policies[request.param]
    one.put({"version": 3, "etag": one.get().execute()["etag"]}).execute()
    return one


def test_a_policy_is_read_changed_and_written_with_its_etag(policy):
    got = policy.get().execute()
    assert not got.get("bindings")
    written = policy.put({"bindings": [READER], "version": 3, "etag": got["etag"]}).execute()
    assert written["etag"] != got["etag"]
    again = policy.get().execute()
    assert (again["bindings"], again["etag"]) == ([READER], written["etag"])
    base64.b64decode(again["etag"], validate=True)


def test_a_stale_etag_loses(policy, refused):
    stale = policy.get().execute()["etag"]
    policy.put({"bindings": [READER], "etag": stale}).execute()
    refused(409, policy.put({"bindings": [], "etag": stale}))
    assert policy.get().execute()["bindings"] == [READER]


def test_a_condition_comes_back_and_needs_version_3(policy, refused):
    bound = {**READER, "condition": CONDITION}
    refused(400, policy.put({"bindings": [bound], "version": 1}))
    policy.put({"bindings": [bound, READER], "version": 3}).execute()
    got = policy.get().execute()
    assert got["version"] == 3
    assert got["bindings"] == [bound, READER]


@pytest.mark.parametrize(
    "member",
    [
        "ann@example.org",
        "person:ann@example.org",
        "user:ann",
        "serviceAccount:",
        "domain:",
        "principal://x",
        "everyone",
    ],
)
def test_a_member_of_no_known_kind_is_refused(policy, refused, member):
    error = refused(400, policy.put({"bindings": [{"role": "roles/viewer", "members": [member]}]}))
    assert member in error["message"]


@pytest.mark.parametrize("role", ["viewer", "roles/reader", "roles/storage.objectReader", "roles/tpu.user", ""])
def test_a_role_that_does_not_exist_is_refused(policy, refused, role):
    error = refused(400, policy.put({"bindings": [{"role": role, "members": ["allUsers"]}]}))
    assert role in error["message"]


@pytest.mark.parametrize(
    "member",
    [
        "allUsers",
        "allAuthenticatedUsers",
        "group:lab@example.org",
        "domain:example.org",
        "projectOwner:policy-lab",
        "serviceAccount:elsewhere@another-project.iam.gserviceaccount.com",
        "serviceAccount:123456-compute@developer.gserviceaccount.com",
        "principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/attribute.repository/a/b",
        "deleted:serviceAccount:old@policy-lab.iam.gserviceaccount.com?uid=123",
    ],
)
def test_members_of_every_kind_are_taken(policies, member):
    one = policies["project"]
    one.put({"bindings": [{"role": "roles/viewer", "members": [member]}]}).execute()
    assert one.get().execute()["bindings"][0]["members"] == [member]


def test_an_account_of_the_own_project_must_exist(policies, client, refused):
    one, member = policies["secret"], "serviceAccount:later-on@policy-lab.iam.gserviceaccount.com"
    binding = {"role": "roles/secretmanager.secretAccessor", "members": [member]}
    assert "does not exist" in refused(400, one.put({"bindings": [binding]}))["message"]
    client("iam").projects().serviceAccounts().create(
        name="projects/policy-lab", body={"accountId": "later-on"}
    ).execute()
    one.put({"bindings": [binding]}).execute()
    assert one.get().execute()["bindings"] == [binding]


def test_a_deleted_account_stays_in_policies_as_what_it_was(policies, client):
    one, accounts = policies["secret"], client("iam").projects().serviceAccounts()
    made = accounts.create(name="projects/policy-lab", body={"accountId": "short-lived"}).execute()
    role = "roles/secretmanager.secretAccessor"
    one.put({"bindings": [{"role": role, "members": [f"serviceAccount:{made['email']}"]}]}).execute()
    accounts.delete(name=made["name"]).execute()
    got = one.get().execute()
    gone = f"deleted:serviceAccount:{made['email']}?uid={made['uniqueId']}"
    assert got["bindings"][0]["members"] == [gone]
    accounts.create(name="projects/policy-lab", body={"accountId": "short-lived"}).execute()
    one.put({**got, "bindings": [*got["bindings"], READER]}).execute()
    assert one.get().execute()["bindings"] == [*got["bindings"], READER]


def test_a_mask_keeps_what_it_leaves_out(client):
    projects = client("cloudresourcemanager").projects()
    body = {"policy": {"bindings": [READER]}, "updateMask": "bindings,etag,auditConfigs"}
    projects.setIamPolicy(resource="masked-lab", body=body).execute()
    projects.setIamPolicy(resource="masked-lab", body={"policy": {}, "updateMask": "auditConfigs"}).execute()
    assert projects.getIamPolicy(resource="masked-lab", body={}).execute()["bindings"] == [READER]


def test_the_caller_holds_every_permission_it_asks_for(client):
    asked = {"permissions": ["tpu.nodes.create", "storage.buckets.get"]}
    assert client("cloudresourcemanager").projects().testIamPermissions(resource="p", body=asked).execute() == asked
    v3 = client("cloudresourcemanager", "v3").projects()
    assert v3.testIamPermissions(resource="projects/p-lab", body=asked).execute() == asked


@settings(deadline=None, max_examples=25)
@given(writers=st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_of_writers_with_one_etag_only_the_first_wins(policies, writers):
    """Each writer holds the etag of its last read; a write wins when nobody wrote since."""
    one = policies["project"]
    held = dict.fromkeys(range(4), one.get().execute()["etag"])
    current = held[0]
    for turn, writer in enumerate(writers):
        member = f"user:writer{writer}-{turn}@example.org"
        request = one.put({"bindings": [{"role": "roles/viewer", "members": [member]}], "etag": held[writer]})
        if held[writer] == current:
            current = request.execute()["etag"]
            held[writer] = current
        else:
            with pytest.raises(Exception, match="409"):
                request.execute()
            held[writer] = one.get().execute()["etag"]
            assert held[writer] == current
