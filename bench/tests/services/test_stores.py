"""Memorystore and Firestore's databases through Google's discovery client: declared, changed, refused, deleted."""

from __future__ import annotations

import pytest
from googleapiclient.errors import HttpError

PROJECT = "projects/tidepool-test"
REGION = f"{PROJECT}/locations/us-central1"
SMALL = {"tier": "BASIC", "memorySizeGb": 1}
NATIVE = {"locationId": "nam5", "type": "FIRESTORE_NATIVE"}


@pytest.fixture(scope="module")
def instances(client):
    return client("redis", "v1beta1").projects().locations().instances()


@pytest.fixture(scope="module")
def databases(client):
    return client("firestore").projects().databases()


def test_an_instance_is_made_at_its_addresses_changed_and_gone(instances):
    body = {**SMALL, "reservedIpRange": "10.40.0.0/29", "labels": {"team": "a"}}
    begun = instances.create(parent=REGION, instanceId="locks", body=body).execute()
    assert begun["name"].startswith(f"{REGION}/operations/")
    name = f"{REGION}/instances/locks"
    shown = instances.get(name=name).execute()
    assert (shown["host"], shown["port"], shown["state"]) == ("10.40.0.3", 6379, "READY")
    assert (shown["tier"], shown["labels"], shown["transitEncryptionMode"]) == ("BASIC", {"team": "a"}, "DISABLED")
    instances.patch(name=name, updateMask="memorySizeGb", body={"memorySizeGb": 5}).execute()
    assert instances.get(name=name).execute()["memorySizeGb"] == 5
    assert [each["name"] for each in instances.list(parent=REGION).execute()["instances"]] == [name]
    instances.delete(name=name).execute()
    assert "instances" not in instances.list(parent=REGION).execute()


@pytest.mark.parametrize(
    ("identity", "body", "about"),
    [
        ("locks", {"tier": "BASIC"}, "memorySizeGb"),
        ("locks", {"memorySizeGb": 1}, "tier is required"),
        ("locks", {**SMALL, "memorySizeGb": 301}, "memorySizeGb"),
        ("locks", {**SMALL, "reservedIpRange": "10.40.0.0/24"}, "/29"),
        ("locks", {**SMALL, "reservedIpRange": "here"}, "no range"),
        ("locks", {**SMALL, "authorizedNetwork": f"{PROJECT}/global/networks/none"}, "none"),
        ("Locks", SMALL, "Locks"),
        ("locks", {**SMALL, "labels": {"Team": "a"}}, "label"),
    ],
)
def test_an_instance_that_google_refuses_is_refused(instances, identity, body, about):
    with pytest.raises(HttpError, match=about) as error:
        instances.create(parent=REGION, instanceId=identity, body=body).execute()
    assert error.value.resp.status in (400, 404)


def test_a_database_is_made_changed_and_gone(databases):
    databases.create(parent=PROJECT, databaseId="locks", body=NATIVE).execute()
    name = f"{PROJECT}/databases/locks"
    shown = databases.get(name=name).execute()
    assert (shown["locationId"], shown["concurrencyMode"]) == ("nam5", "PESSIMISTIC")
    with pytest.raises(HttpError, match="already exists"):
        databases.create(parent=PROJECT, databaseId="locks", body=NATIVE).execute()
    protected = {"deleteProtectionState": "DELETE_PROTECTION_ENABLED"}
    databases.patch(name=name, updateMask="deleteProtectionState", body=protected).execute()
    with pytest.raises(HttpError, match="Delete protection"):
        databases.delete(name=name).execute()
    free = {"deleteProtectionState": "DELETE_PROTECTION_DISABLED"}
    databases.patch(name=name, updateMask="deleteProtectionState", body=free).execute()
    databases.delete(name=name).execute()
    with pytest.raises(HttpError, match="not found"):
        databases.get(name=name).execute()


@pytest.mark.parametrize(
    ("identity", "body", "about"),
    [
        ("locks", {"type": "FIRESTORE_NATIVE"}, "location"),
        ("locks", {**NATIVE, "locationId": "iowa"}, "Invalid location"),
        ("locks", {"locationId": "nam5"}, "type is required"),
        ("abc", NATIVE, "4 to 63"),
    ],
)
def test_a_database_that_google_refuses_is_refused(databases, identity, body, about):
    with pytest.raises(HttpError, match=about):
        databases.create(parent=PROJECT, databaseId=identity, body=body).execute()


def test_documents_are_not_served_and_the_refusal_names_the_method(databases):
    with pytest.raises(HttpError, match="beginTransaction") as error:
        databases.documents().beginTransaction(database=f"{PROJECT}/databases/locks", body={}).execute()
    assert error.value.resp.status == 501
