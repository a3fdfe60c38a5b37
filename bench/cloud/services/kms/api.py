"""Cloud KMS: key rings, symmetric keys, and encryption with them that really encrypts.

Owns AES-256-GCM key material (the bytes of a key's row, in no body). Rings and keys cannot be deleted, as in the
service; a key has one version, which stays. Only the purpose ENCRYPT_DECRYPT is served, and keys do not rotate.
Source: cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys, read 2026-11.
"""

from __future__ import annotations

import base64
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, invalid
from bench.cloud.services import bodies, places
from bench.cloud.services.bodies import crc32c
from bench.cloud.services.collection import Collection
from bench.cloud.store import Resource

_NONCE_BYTES = 12
_TEMPLATE = {"protectionLevel": "SOFTWARE", "algorithm": "GOOGLE_SYMMETRIC_ENCRYPTION"}


class _Rings(Collection):
    api = "cloudkms.projects.locations.keyRings"
    kind = "cloudkms.keyRing"
    methods = "create get list"
    locations = frozenset({"global", *places.MULTI_REGIONS, *places.REGIONS})
    new_id = "keyRingId"
    adds = ("createTime",)
    has_policy = True


class _Keys(Collection):
    api = "cloudkms.projects.locations.keyRings.cryptoKeys"
    kind = "cloudkms.cryptoKey"
    methods = "create get list patch"
    above = _Rings()
    new_id = "cryptoKeyId"
    adds = ("createTime",)
    has_policy = True

    def made(self, cloud: Cloud, name: str, body: JsonObject) -> Resource:
        return cloud.store.insert(self.kind, name, body, now=cloud.now, data=AESGCM.generate_key(256))

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        if body.get("purpose") != "ENCRYPT_DECRYPT":
            raise invalid("Only the purpose ENCRYPT_DECRYPT is served here.")
        return {"destroyScheduledDuration": "2592000s", "versionTemplate": _TEMPLATE, **body}

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        made = timestamp(held.created)
        version = {"name": _version(held), "state": "ENABLED", **_TEMPLATE, "createTime": made, "generateTime": made}
        return {**super().shown(cloud, held), "primary": version}


_KEYS = _Keys()


def _version(key: Resource) -> str:
    """The name of the one version of a key."""
    return f"{key.name}/cryptoKeyVersions/1"


@handles(f"{_Keys.api}.encrypt")
def encrypt(call: ApiCall) -> JsonObject:
    key, cipher = _cipher(call)
    plaintext, associated = _bytes(call, "plaintext"), _bytes(call, "additionalAuthenticatedData")
    nonce = os.urandom(_NONCE_BYTES)
    ciphertext = nonce + cipher.encrypt(nonce, plaintext, associated or None)
    return {
        "name": _version(key),
        "ciphertext": base64.b64encode(ciphertext).decode(),
        "ciphertextCrc32c": str(crc32c(ciphertext)),
        "verifiedPlaintextCrc32c": "plaintextCrc32c" in call.body,
        "verifiedAdditionalAuthenticatedDataCrc32c": "additionalAuthenticatedDataCrc32c" in call.body,
        "protectionLevel": _TEMPLATE["protectionLevel"],
    }


@handles(f"{_Keys.api}.decrypt")
def decrypt(call: ApiCall) -> JsonObject:
    _, cipher = _cipher(call)
    ciphertext, associated = _bytes(call, "ciphertext"), _bytes(call, "additionalAuthenticatedData")
    try:
        plaintext = cipher.decrypt(ciphertext[:_NONCE_BYTES], ciphertext[_NONCE_BYTES:], associated or None)
    except (InvalidTag, ValueError):
        raise invalid("Decryption failed: the ciphertext is invalid.") from None
    return {
        "plaintext": base64.b64encode(plaintext).decode(),
        "plaintextCrc32c": str(crc32c(plaintext)),
        "usedPrimary": True,
        "protectionLevel": _TEMPLATE["protectionLevel"],
    }


def _cipher(call: ApiCall) -> tuple[Resource, AESGCM]:
    """The key of a call, and how it encrypts. Raises 404."""
    key = _KEYS.found(call)
    return key, AESGCM(call.cloud.store.data(key.kind, key.name))


def _bytes(call: ApiCall, field: str) -> bytes:
    return bodies.decoded(call.body.get(field, ""))
