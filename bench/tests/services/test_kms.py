"""Cloud KMS through Google's own client: keys that really encrypt."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.cloud.services.bodies import crc32c

PARENT = "projects/tidepool-test/locations/global"
RING = f"{PARENT}/keyRings/state"


def _text(data):
    return base64.b64encode(data).decode()


@pytest.fixture(scope="module")
def rings(client):
    rings = client("cloudkms").projects().locations().keyRings()
    rings.create(parent=PARENT, keyRingId="state", body={}).execute()
    return rings


@pytest.fixture(scope="module")
def keys(rings):
    return rings.cryptoKeys()


@pytest.fixture(scope="module")
def create(keys):
    def create(identity, *, initial=True, **body):
        body = {"purpose": "ENCRYPT_DECRYPT", **body}
        skip = not initial
        made = keys.create(parent=RING, cryptoKeyId=identity, skipInitialVersionCreation=skip, body=body).execute()
        return made["name"]

    return create


@pytest.fixture(scope="module")
def key(create):
    return create("shared")


def test_a_ring_stays_for_ever(rings, refused):
    assert rings.get(name=RING).execute()["name"] == RING
    refused(409, rings.create(parent=PARENT, keyRingId="state", body={}))
    refused(501, rings.delete(name=RING))


def test_a_key_gives_back_what_it_was_sent(create, keys):
    sent = {"labels": {"use": "state"}, "rotationPeriod": "7776000s", "nextRotationTime": "2027-06-01T00:00:00Z"}
    got = keys.get(name=create("echoed", **sent)).execute()
    assert {name: got[name] for name in sent} == sent
    assert got["primary"]["state"] == "ENABLED"
    assert got["versionTemplate"] == {"protectionLevel": "SOFTWARE", "algorithm": "GOOGLE_SYMMETRIC_ENCRYPTION"}


def test_a_mask_without_a_body_stops_the_rotation(create, keys):
    name = create("rotating", rotationPeriod="86400s", nextRotationTime="2027-06-01T00:00:00Z")
    got = keys.patch(name=name, updateMask="rotationPeriod,nextRotationTime", body={}).execute()
    assert not {"rotationPeriod", "nextRotationTime"} & got.keys()


def test_a_rotation_that_cannot_be_is_refused(keys, refused):
    for body in (
        {"rotationPeriod": "3600s", "nextRotationTime": "2027-06-01T00:00:00Z"},
        {"rotationPeriod": "86400s"},
        {"rotationPeriod": "86400s", "nextRotationTime": "2020-06-01T00:00:00Z"},
    ):
        request = keys.create(parent=RING, cryptoKeyId="never", body={"purpose": "ENCRYPT_DECRYPT", **body})
        refused(400, request)


@settings(deadline=None, max_examples=30)
@given(plaintext=st.binary(min_size=1, max_size=500), associated=st.binary(max_size=40))
def test_what_was_encrypted_comes_back_and_never_looks_the_same(keys, key, plaintext, associated):
    body = {"plaintext": _text(plaintext), "additionalAuthenticatedData": _text(associated)}
    first, second = (keys.encrypt(name=key, body=body).execute()["ciphertext"] for _ in range(2))
    assert first != second
    opened = {"ciphertext": first, "additionalAuthenticatedData": _text(associated)}
    assert base64.b64decode(keys.decrypt(name=key, body=opened).execute()["plaintext"]) == plaintext


@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_a_changed_ciphertext_is_never_opened(keys, key, refused, data):
    sealed = bytearray(
        base64.b64decode(keys.encrypt(name=key, body={"plaintext": _text(b"secret")}).execute()["ciphertext"])
    )
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= data.draw(st.integers(1, 255))
    refused(400, keys.decrypt(name=key, body={"ciphertext": _text(bytes(sealed))}))


def test_another_key_or_other_associated_data_opens_nothing(keys, key, create, refused):
    sealed = keys.encrypt(name=key, body={"plaintext": _text(b"x")}).execute()["ciphertext"]
    refused(400, keys.decrypt(name=create("stranger"), body={"ciphertext": sealed}))
    refused(400, keys.decrypt(name=key, body={"ciphertext": sealed, "additionalAuthenticatedData": _text(b"y")}))


def test_checksums_are_checked_both_ways(keys, key, refused):
    sent = {"plaintext": _text(b"abc"), "plaintextCrc32c": str(crc32c(b"abc"))}
    got = keys.encrypt(name=key, body=sent).execute()
    assert got["verifiedPlaintextCrc32c"] is True
    assert got["ciphertextCrc32c"] == str(crc32c(base64.b64decode(got["ciphertext"])))
    refused(400, keys.encrypt(name=key, body={**sent, "plaintextCrc32c": "7"}))


def test_old_ciphertexts_open_after_a_new_primary_and_not_after_destruction(keys, create, refused):
    name = create("aging")
    sealed = keys.encrypt(name=name, body={"plaintext": _text(b"kept")}).execute()
    keys.cryptoKeyVersions().create(parent=name, body={}).execute()
    keys.updatePrimaryVersion(name=name, body={"cryptoKeyVersionId": "2"}).execute()
    opened = keys.decrypt(name=name, body={"ciphertext": sealed["ciphertext"]}).execute()
    assert (base64.b64decode(opened["plaintext"]), opened["usedPrimary"]) == (b"kept", False)
    versions = keys.cryptoKeyVersions()
    assert versions.destroy(name=sealed["name"], body={}).execute()["state"] == "DESTROY_SCHEDULED"
    refused(400, keys.decrypt(name=name, body={"ciphertext": sealed["ciphertext"]}))
    assert versions.restore(name=sealed["name"], body={}).execute()["state"] == "DISABLED"
    versions.patch(name=sealed["name"], updateMask="state", body={"state": "ENABLED"}).execute()
    keys.decrypt(name=name, body={"ciphertext": sealed["ciphertext"]}).execute()


def test_a_key_without_a_version_encrypts_nothing(keys, create, refused):
    name = create("hollow", initial=False)
    assert "primary" not in keys.get(name=name).execute()
    refused(400, keys.encrypt(name=name, body={"plaintext": _text(b"x")}))


def test_the_key_stays_when_all_its_versions_are_destroyed(keys, create, refused):
    """What the provider does on delete; the name is taken for ever."""
    name = create("retired")
    versions = keys.cryptoKeyVersions()
    for version in versions.list(parent=name).execute()["cryptoKeyVersions"]:
        versions.destroy(name=version["name"], body={}).execute()
    assert keys.get(name=name).execute()["primary"]["state"] == "DESTROY_SCHEDULED"
    refused(409, keys.create(parent=RING, cryptoKeyId="retired", body={"purpose": "ENCRYPT_DECRYPT"}))


def test_keys_and_rings_are_listed_below_their_parent(rings, keys, key):
    assert RING in [each["name"] for each in rings.list(parent=PARENT).execute()["keyRings"]]
    assert key in [each["name"] for each in keys.list(parent=RING).execute()["cryptoKeys"]]
