"""Projects, service accounts and enabled services through Google's own client."""

from __future__ import annotations

import pytest

PROJECT = "projects/identity-lab"


@pytest.fixture
def accounts(client):
    return client("iam").projects().serviceAccounts()


def _email(identity):
    return f"{identity}@identity-lab.iam.gserviceaccount.com"


def test_a_project_exists_by_its_name_with_a_stable_number(client):
    one = client("cloudresourcemanager").projects().get(projectId="identity-lab").execute()
    assert (one["projectId"], one["lifecycleState"]) == ("identity-lab", "ACTIVE")
    new = client("cloudresourcemanager", "v3").projects().get(name="projects/identity-lab").execute()
    assert new["name"] == f"projects/{one['projectNumber']}"
    by_number = client("cloudresourcemanager").projects().get(projectId=one["projectNumber"]).execute()
    assert by_number["projectId"] == "identity-lab"
    assert len(one["projectNumber"]) == 12


def test_an_account_has_the_names_that_the_provider_cuts(accounts):
    body = {"accountId": "runner-pool", "serviceAccount": {"displayName": "Runners", "description": "of the pool"}}
    made = accounts.create(name=PROJECT, body=body).execute()
    assert made["email"] == _email("runner-pool")
    assert made["name"] == f"{PROJECT}/serviceAccounts/{made['email']}"
    assert (made["projectId"], made["displayName"]) == ("identity-lab", "Runners")
    assert len(made["uniqueId"]) == 21
    for name in (
        made["name"],
        f"projects/-/serviceAccounts/{made['email']}",
        f"{PROJECT}/serviceAccounts/{made['uniqueId']}",
    ):
        assert accounts.get(name=name).execute() == made


@pytest.mark.parametrize("identity", ["short", "Upper-case", "1st-account", "ends-with-", "a" * 31, "under_score"])
def test_an_account_id_outside_the_rule_is_refused(accounts, refused, identity):
    refused(400, accounts.create(name=PROJECT, body={"accountId": identity}))


def test_a_taken_id_and_an_unknown_account_are_refused(accounts, refused):
    accounts.create(name=PROJECT, body={"accountId": "taken-account"}).execute()
    taken = refused(409, accounts.create(name=PROJECT, body={"accountId": "taken-account"}))["message"]
    assert taken == f"Service account taken-account already exists within project {PROJECT}."
    refused(404, accounts.get(name=f"{PROJECT}/serviceAccounts/{_email('nobody-here')}"))


def test_a_patch_takes_a_snake_case_mask_in_the_body(accounts, refused):
    made = accounts.create(name=PROJECT, body={"accountId": "patched-one"}).execute()
    sent = {"displayName": "New", "description": "ignored", "etag": made["etag"]}
    body = {"serviceAccount": sent, "updateMask": "display_name"}
    changed = accounts.patch(name=made["name"], body=body).execute()
    assert changed["displayName"] == "New"
    assert "description" not in changed
    refused(409, accounts.patch(name=made["name"], body=body))


def test_an_account_is_switched_off_and_on(accounts):
    name = accounts.create(name=PROJECT, body={"accountId": "switched-one"}).execute()["name"]
    accounts.disable(name=name, body={}).execute()
    assert accounts.get(name=name).execute()["disabled"] is True
    accounts.enable(name=name, body={}).execute()
    assert "disabled" not in accounts.get(name=name).execute()


def test_an_account_made_again_is_another_account(accounts, refused):
    name = f"{PROJECT}/serviceAccounts/{_email('second-life')}"
    first = accounts.create(name=PROJECT, body={"accountId": "second-life"}).execute()
    accounts.delete(name=name).execute()
    refused(404, accounts.delete(name=name))
    second = accounts.create(name=PROJECT, body={"accountId": "second-life"}).execute()
    assert first["uniqueId"] != second["uniqueId"]


def test_accounts_are_listed_for_one_project_alone(accounts):
    for project in ("listed-lab", "listed-lab-two"):
        accounts.create(name=f"projects/{project}", body={"accountId": "one-account"}).execute()
    listed = accounts.list(name="projects/listed-lab").execute()["accounts"]
    assert [each["projectId"] for each in listed] == ["listed-lab"]


def test_services_are_enabled_in_a_batch_and_listed_by_state(client, settled):
    usage = client("serviceusage")
    body = {"serviceIds": ["tpu.googleapis.com", "secretmanager.googleapis.com"]}
    begun = usage.services().batchEnable(parent=PROJECT, body=body).execute()
    # The provider polls below another version than it enables in.
    ended = settled(begun, lambda name: client("serviceusage", "v1beta1").operations().get(name=name))
    assert [each["state"] for each in ended["response"]["services"]] == ["ENABLED", "ENABLED"]
    listed = usage.services().list(
        parent=PROJECT, filter="state:ENABLED", fields="services/name,nextPageToken", pageSize=200
    )
    names = [each["name"].rpartition("/")[2] for each in listed.execute()["services"]]
    assert names == ["secretmanager.googleapis.com", "tpu.googleapis.com"]


def test_enabling_twice_has_nothing_to_do_and_disabling_undoes(client, settled):
    usage = client("serviceusage")
    name = f"{PROJECT}/services/compute.googleapis.com"
    poll = lambda each: usage.operations().get(name=each)  # noqa: E731
    settled(usage.services().enable(name=name, body={}).execute(), poll)
    again = usage.services().enable(name=name, body={}).execute()
    assert again["done"]
    assert usage.operations().get(name=again["name"]).execute()["done"]
    settled(usage.services().disable(name=name, body={"checkIfServiceHasUsage": "SKIP"}).execute(), poll)
    assert usage.services().get(name=name).execute()["state"] == "DISABLED"


def test_a_service_that_google_does_not_have_is_refused(client, refused):
    body = {"serviceIds": ["tpu.googleapis.com", "teapot.googleapis.com"]}
    error = refused(403, client("serviceusage").services().batchEnable(parent="projects/other-lab", body=body))
    assert "teapot.googleapis.com" in error["message"]
    listed = client("serviceusage").services().list(parent="projects/other-lab", filter="state:ENABLED").execute()
    assert listed == {}


def test_more_than_twenty_services_do_not_fit_a_batch(client, refused):
    body = {"serviceIds": ["tpu.googleapis.com"] * 21}
    refused(400, client("serviceusage").services().batchEnable(parent=PROJECT, body=body))
