"""Workload identity pools and providers through Google's own client."""

from __future__ import annotations

import pytest

PARENT = "projects/pool-lab/locations/global"
ISSUER = "https://token.actions.githubusercontent.com"
PROVIDER = {
    "attributeMapping": {"google.subject": "assertion.sub"},
    "attributeCondition": "assertion.repository == 'a/b'",
    "oidc": {"issuerUri": ISSUER},
}


@pytest.fixture
def pools(client):
    return client("iam").projects().locations().workloadIdentityPools()


@pytest.fixture
def made(pools):
    def make(identity):
        pools.create(parent=PARENT, workloadIdentityPoolId=identity, body={"displayName": "ci"}).execute()
        return f"{PARENT}/workloadIdentityPools/{identity}"

    return make


def test_a_pool_is_named_by_the_projects_number_and_found_by_its_id(pools, made):
    found = pools.get(name=made("found-pool")).execute()
    assert found["name"].split("/")[1].isdigit()
    assert (found["state"], found["mode"], found["displayName"]) == ("ACTIVE", "FEDERATION_ONLY", "ci")
    assert pools.get(name=found["name"]).execute() == found
    assert pools.listAttestationRules(resource=found["name"]).execute() == {}


def test_an_operation_can_be_asked_for_by_its_name(pools):
    begun = pools.create(parent=PARENT, workloadIdentityPoolId="slow-pool", body={}).execute()
    assert pools.operations().get(name=begun["name"]).execute()["name"] == begun["name"]


@pytest.mark.parametrize("identity", ["abc", "gcp-pool", "Upper-case", "a" * 33, "under_score"])
def test_an_id_outside_the_rule_is_refused(pools, refused, identity):
    refused(400, pools.create(parent=PARENT, workloadIdentityPoolId=identity, body={}))


def test_a_deleted_pool_keeps_its_id_until_it_is_undeleted(pools, made, refused):
    name = made("kept-pool")
    pools.delete(name=name).execute()
    shown = pools.get(name=name).execute()
    assert shown["state"] == "DELETED"
    assert "expireTime" in shown
    refused(409, pools.create(parent=PARENT, workloadIdentityPoolId="kept-pool", body={}))
    refused(404, pools.delete(name=name))
    refused(400, pools.patch(name=name, updateMask="displayName", body={"displayName": "x"}))
    pools.undelete(name=name, body={}).execute()
    assert pools.get(name=name).execute()["state"] == "ACTIVE"
    refused(400, pools.undelete(name=name, body={}))


def test_after_thirty_days_a_deleted_pool_and_its_providers_are_gone(pools, made, refused, google):
    name = made("purged-pool")
    pools.providers().create(parent=name, workloadIdentityPoolProviderId="github", body=PROVIDER).execute()
    pools.delete(name=name).execute()
    google.control.advance(31 * 86400)
    refused(404, pools.get(name=name))
    made("purged-pool")
    refused(404, pools.providers().get(name=f"{name}/providers/github"))


def test_a_listing_leaves_out_what_was_deleted_unless_asked(pools):
    parent = "projects/listing-lab/locations/global"
    for identity in ("pool-a", "pool-b"):
        pools.create(parent=parent, workloadIdentityPoolId=identity, body={}).execute()
    pools.delete(name=f"{parent}/workloadIdentityPools/pool-a").execute()

    def ids(**asked):
        found = pools.list(parent=parent, **asked).execute()["workloadIdentityPools"]
        return [each["name"].rpartition("/")[2] for each in found]

    assert ids() == ["pool-b"]
    assert ids(showDeleted=True) == ["pool-a", "pool-b"]


def test_a_provider_of_github_needs_a_condition_on_a_claim(pools, made, refused):
    pool = made("needs-condition")
    body = {key: value for key, value in PROVIDER.items() if key != "attributeCondition"}
    create = pools.providers().create
    said = refused(400, create(parent=pool, workloadIdentityPoolProviderId="github", body=body))
    assert "attribute condition must reference" in said["message"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"attributeMapping": {"attribute.repository": "assertion.repository"}},
        {"attributeMapping": {"google.subject": "assertion.sub", "attribute.Upper": "assertion.ref"}},
        {"oidc": {"issuerUri": "http://example.com"}},
        {"displayName": "x" * 33},
    ],
)
def test_a_provider_outside_the_rules_is_refused(pools, refused, wrong):
    parent = "projects/wrong-lab/locations/global"
    name = f"{parent}/workloadIdentityPools/some-pool"
    if not pools.list(parent=parent).execute():
        pools.create(parent=parent, workloadIdentityPoolId="some-pool", body={}).execute()
    body = {**PROVIDER, **wrong}
    refused(400, pools.providers().create(parent=name, workloadIdentityPoolProviderId="github", body=body))


def test_a_provider_is_changed_in_place_and_undeleted(pools, made):
    providers, name = pools.providers(), f"{made('changed-pool')}/providers/github"
    providers.create(
        parent=name.rpartition("/providers")[0], workloadIdentityPoolProviderId="github", body=PROVIDER
    ).execute()
    condition = "assertion.repository == 'c/d'"
    providers.patch(name=name, updateMask="attributeCondition", body={"attributeCondition": condition}).execute()
    assert providers.get(name=name).execute()["attributeCondition"] == condition
    providers.delete(name=name).execute()
    providers.undelete(name=name, body={}).execute()
    assert providers.get(name=name).execute()["state"] == "ACTIVE"
