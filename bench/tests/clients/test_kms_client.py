"""google-cloud-kms walks the life of a key."""

from __future__ import annotations

from google.cloud import kms_v1 as kms

ENCRYPT = kms.CryptoKey.CryptoKeyPurpose.ENCRYPT_DECRYPT
State = kms.CryptoKeyVersion.CryptoKeyVersionState


def test_a_key_encrypts(rest):
    keeper = rest(kms.KeyManagementServiceClient)
    ring = keeper.create_key_ring(parent="projects/client-lab/locations/us", key_ring_id="ring", key_ring={}).name
    sent = kms.CryptoKey(purpose=ENCRYPT, labels={"team": "a"})
    key = keeper.create_crypto_key(parent=ring, crypto_key_id="life", crypto_key=sent)
    assert (key.purpose, key.primary.state) == (ENCRYPT, State.ENABLED), "ENABLED is 1 and stands third in its list"
    asked = {"name": key.name, "additional_authenticated_data": b"door"}
    sealed = keeper.encrypt({**asked, "plaintext": b"open sesame"}).ciphertext
    assert keeper.decrypt({**asked, "ciphertext": sealed}).plaintext == b"open sesame"
    change = kms.CryptoKey(name=key.name, labels={"team": "b"})
    assert dict(keeper.update_crypto_key(crypto_key=change, update_mask={"paths": ["labels"]}).labels) == {"team": "b"}
    assert [each.name for each in keeper.list_crypto_keys({"parent": ring})] == [key.name]
