"""google-cloud-kms walks the life of a key and its versions."""

from __future__ import annotations

import pytest
from google.api_core import exceptions
from google.cloud import kms_v1 as kms

PARENT = "projects/client-lab/locations/us"
ENCRYPT = kms.CryptoKey.CryptoKeyPurpose.ENCRYPT_DECRYPT
State = kms.CryptoKeyVersion.CryptoKeyVersionState


@pytest.fixture
def keeper(rest):
    return rest(kms.KeyManagementServiceClient)


@pytest.fixture(scope="module")
def ring(rest) -> str:
    return rest(kms.KeyManagementServiceClient).create_key_ring(parent=PARENT, key_ring_id="ring", key_ring={}).name


def test_a_key_lives_through_its_versions(keeper, ring):
    key = keeper.create_crypto_key(
        parent=ring, crypto_key_id="life", crypto_key=kms.CryptoKey(purpose=ENCRYPT, labels={"team": "a"})
    )
    assert (key.purpose, key.primary.state) == (ENCRYPT, State.ENABLED), "ENABLED is 1 and stands third in its list"
    sealed = keeper.encrypt(name=key.name, plaintext=b"open sesame")
    assert keeper.decrypt(name=key.name, ciphertext=sealed.ciphertext).plaintext == b"open sesame"
    second = keeper.create_crypto_key_version(parent=key.name, crypto_key_version={})
    keeper.update_crypto_key_primary_version(name=key.name, crypto_key_version_id=second.name.rpartition("/")[2])
    change = kms.CryptoKey(name=key.name, labels={"team": "b"})
    assert dict(keeper.update_crypto_key(crypto_key=change, update_mask={"paths": ["labels"]}).labels) == {"team": "b"}
    assert keeper.destroy_crypto_key_version(name=key.primary.name).state == State.DESTROY_SCHEDULED
    live = keeper.list_crypto_key_versions({"parent": key.name, "filter": "state=ENABLED", "view": 1})
    assert [each.name for each in live] == [second.name]


def test_lists_have_pages_filters_and_orders(keeper, ring):
    for name in ("a", "b", "c"):
        sent = kms.CryptoKey(purpose=ENCRYPT, labels={"kind": name})
        keeper.create_crypto_key(parent=ring, crypto_key_id=f"listed-{name}", crypto_key=sent)
    with pytest.raises(exceptions.Conflict):
        keeper.create_crypto_key(parent=ring, crypto_key_id="listed-a", crypto_key=sent)
    asked = {"parent": ring, "filter": "name:listed- NOT labels.kind=b", "order_by": "name desc", "page_size": 1}
    pages = keeper.list_crypto_keys(asked).pages
    assert [[key.name[-1] for key in page.crypto_keys] for page in pages] == [["c"], ["a"]]
    with pytest.raises(exceptions.NotFound):
        keeper.get_crypto_key(name=f"{ring}/cryptoKeys/nobody")


def test_a_policy_is_written_with_its_etag(keeper, ring):
    policy = keeper.get_iam_policy({"resource": ring})
    policy.bindings.add(role="roles/cloudkms.viewer", members=["allAuthenticatedUsers"])
    keeper.set_iam_policy({"resource": ring, "policy": policy})
    with pytest.raises(exceptions.Conflict, match=r"(?i)etag"):
        keeper.set_iam_policy({"resource": ring, "policy": policy})
