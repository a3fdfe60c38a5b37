"""Secret Manager through Google's own client."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.cloud.services.bodies import crc32c

PARENT = "projects/tidepool-test"
AUTOMATIC = {"replication": {"automatic": {}}}


@pytest.fixture(scope="module")
def secrets(client):
    return client("secretmanager").projects().secrets()


@pytest.fixture(scope="module")
def add(secrets):
    def add(name, text, **more):
        payload = {"data": base64.b64encode(text).decode(), **more}
        return secrets.addVersion(parent=name, body={"payload": payload}).execute()

    return add


def _create(secrets, identity, **body):
    secrets.create(parent=PARENT, secretId=identity, body={**AUTOMATIC, **body}).execute()
    return f"{PARENT}/secrets/{identity}"


@pytest.fixture(scope="module")
def vault(secrets):
    return _create(secrets, "vault")


def test_a_secret_answers_with_the_projects_number_and_takes_both_names(secrets, client):
    number = client("cloudresourcemanager").projects().get(projectId="tidepool-test").execute()["projectNumber"]
    name = _create(secrets, "named", labels={"team": "ci"})
    got = secrets.get(name=name).execute()
    assert got["name"] == f"projects/{number}/secrets/named"
    assert got["labels"] == {"team": "ci"}
    assert got["replication"] == {"automatic": {}}
    assert secrets.get(name=got["name"]).execute() == got


def test_a_secret_needs_exactly_one_replication(secrets, refused):
    for body in ({}, {"replication": {}}, {"replication": {"automatic": {}, "userManaged": {"replicas": []}}}):
        refused(400, secrets.create(parent=PARENT, secretId="none", body=body))
    nowhere = {"replication": {"userManaged": {"replicas": [{"location": "mars"}]}}}
    refused(400, secrets.create(parent=PARENT, secretId="none", body=nowhere))
    refused(404, secrets.get(name=f"{PARENT}/secrets/none"))


def test_a_duplicate_is_refused(secrets, refused):
    _create(secrets, "twice")
    assert "already exists" in refused(409, secrets.create(parent=PARENT, secretId="twice", body=AUTOMATIC))["message"]


def test_a_patch_changes_labels_and_leaves_replication_alone(secrets, refused):
    name = _create(secrets, "patched", labels={"a": "1"})
    body = {"labels": {"b": "2"}, "annotations": {"x": "y"}, **AUTOMATIC}
    got = secrets.patch(name=name, updateMask="labels", body=body).execute()
    assert got["labels"] == {"b": "2"}
    assert "annotations" not in got
    other = {"replication": {"userManaged": {"replicas": [{"location": "us-east1"}]}}}
    refused(400, secrets.patch(name=name, updateMask="replication", body=other))


def test_versions_count_up_and_latest_is_the_newest(secrets, add):
    name = _create(secrets, "counted")
    add(name, b"first")
    second = add(name, b"second")
    assert second["name"].endswith("/versions/2")
    got = secrets.versions().access(name=f"{name}/versions/latest").execute()
    assert base64.b64decode(got["payload"]["data"]) == b"second"
    listed = secrets.versions().list(parent=name).execute()
    assert [each["name"].rpartition("/")[2] for each in listed["versions"]] == ["2", "1"]


def test_a_disabled_version_is_kept_back_and_a_destroyed_one_is_erased(secrets, add, refused):
    name = _create(secrets, "mortal")
    add(name, b"short-lived")
    version = f"{name}/versions/1"
    secrets.versions().disable(name=version, body={}).execute()
    assert "DISABLED" in refused(400, secrets.versions().access(name=version))["message"]
    secrets.versions().enable(name=version, body={}).execute()
    secrets.versions().access(name=version).execute()
    gone = secrets.versions().destroy(name=version, body={}).execute()
    assert gone["state"] == "DESTROYED"
    assert "destroyTime" in gone
    for request in (secrets.versions().access(name=version), secrets.versions().enable(name=version, body={})):
        assert "DESTROYED" in refused(400, request)["message"]


def test_an_alias_stands_for_a_version(secrets, add, refused):
    name = _create(secrets, "aliased")
    add(name, b"blue")
    add(name, b"green")
    body = {"versionAliases": {"live": "1"}}
    secrets.patch(name=name, updateMask="versionAliases", body=body).execute()
    got = secrets.versions().access(name=f"{name}/versions/live").execute()
    assert base64.b64decode(got["payload"]["data"]) == b"blue"
    body = {"versionAliases": {"live": "9"}}
    refused(400, secrets.patch(name=name, updateMask="versionAliases", body=body))


def test_a_refusal_names_a_version_as_the_service_does(secrets, add, refused):
    version = add(_create(secrets, "told"), b"x")["name"]
    stale = refused(409, secrets.versions().disable(name=version, body={"etag": '"stale"'}))["message"]
    assert version in stale
    absent = version.removesuffix("1") + "0"
    assert f"[{absent}]" in refused(404, secrets.versions().get(name=absent))["message"]


def test_a_deleted_secret_starts_again_at_version_1(secrets, add, refused):
    name = _create(secrets, "reborn")
    add(name, b"old")
    secrets.delete(name=name).execute()
    refused(404, secrets.versions().access(name=f"{name}/versions/1"))
    _create(secrets, "reborn")
    refused(404, secrets.versions().access(name=f"{name}/versions/latest"))
    assert add(name, b"new")["name"].endswith("/versions/1")


def test_secrets_are_listed_page_by_page_and_by_what_a_filter_says(secrets, refused):
    parent = "projects/listed-lab"
    for identity in ("a", "b", "c"):
        secrets.create(parent=parent, secretId=identity, body=AUTOMATIC).execute()
    request, names = secrets.list(parent=parent, pageSize=2), []
    while request is not None:
        answer = request.execute()
        assert answer["totalSize"] == 3
        names += [each["name"].rpartition("/")[2] for each in answer["secrets"]]
        request = secrets.list_next(request, answer)
    assert names == ["a", "b", "c"]
    found = secrets.list(parent=parent, filter="name:secrets/a OR name:secrets/c").execute()["secrets"]
    assert [each["name"].rpartition("/")[2] for each in found] == ["a", "c"]
    refused(400, secrets.list(parent=parent, filter="colour:red"))


def test_a_payload_that_does_not_match_its_checksum_is_refused(secrets, refused):
    name = _create(secrets, "checked")
    payload = {"data": base64.b64encode(b"text").decode(), "dataCrc32c": "1"}
    error = refused(400, secrets.addVersion(parent=name, body={"payload": payload}))
    assert "text" not in str(error)
    assert payload["data"] not in str(error)


@pytest.mark.parametrize("written", ["-_8=", "-_8", "+/8=", "__8=", "//8"])
def test_a_payload_is_taken_in_either_alphabet_and_without_padding(secrets, written):
    name = _create(secrets, f"spelled-{written.encode().hex()}")
    version = secrets.addVersion(parent=name, body={"payload": {"data": written}}).execute()["name"]
    read = secrets.versions().access(name=version).execute()["payload"]["data"]
    assert base64.b64decode(read) == (b"\xff\xff" if written[0] in "_/" else b"\xfb\xff")


@pytest.mark.parametrize("written", ["a", "abcde", "ab=", "a===", "ab==cd=="])
def test_a_payload_that_is_no_base64_is_refused_and_not_shown(secrets, refused, written):
    error = refused(400, secrets.addVersion(parent=f"{PARENT}/secrets/vault", body={"payload": {"data": written}}))
    assert f'"{written}"' not in str(error)


def test_no_answer_but_access_shows_a_payload(secrets, add, google):
    name = _create(secrets, "hidden")
    added = add(name, b"open sesame")
    answers = [added, secrets.get(name=name).execute(), secrets.versions().list(parent=name).execute()]
    told = f"{answers} {google.control.log()}"
    assert "sesame" not in told
    assert base64.b64encode(b"open sesame").decode() not in told


@settings(deadline=None, max_examples=30)
@given(data=st.binary(min_size=1, max_size=2000))
def test_any_bytes_come_back_as_they_were(secrets, add, vault, data):
    version = add(vault, data, dataCrc32c=str(crc32c(data)))
    assert version["clientSpecifiedPayloadChecksum"] is True
    got = secrets.versions().access(name=version["name"]).execute()
    assert base64.b64decode(got["payload"]["data"]) == data
    assert got["payload"]["dataCrc32c"] == str(crc32c(data))


def test_crc32c_is_that_of_the_standard():
    """RFC 3720, appendix B.4, and the check value of the CRC catalogue."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
