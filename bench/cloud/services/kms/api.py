"""Cloud KMS: key rings, symmetric keys and their versions, and encryption with them that really encrypts.

Owns AES-256-GCM key material (the bytes of a version's row, in no body). Rings and keys cannot be deleted, as in the
service; a key has one version, which can be destroyed. Only the purpose ENCRYPT_DECRYPT is served, and keys do not
rotate. Sources: cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys, read 2026-11.
"""

from __future__ import annotations

import base64
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, failed_precondition, invalid
from bench.cloud.services import bodies, places
from bench.cloud.services.bodies import crc32c
from bench.cloud.services.collection import Collection
from bench.cloud.store import Resource

_KEYS = "cloudkms.projects.locations.keyRings.cryptoKeys"
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
    absent = "KeyRing {name} not found."
    present = "KeyRing {name} already exists."


class _Keys(Collection):
    api = _KEYS
    kind = "cloudkms.cryptoKey"
    methods = "create get list patch"
    above = _Rings()
    new_id = "cryptoKeyId"
    mutable = frozenset({"labels", "rotationPeriod", "nextRotationTime", "versionTemplate"})
    fixed = None
    adds = ("createTime",)
    has_policy = True
    absent = "CryptoKey {name} not found."
    present = "CryptoKey {name} already exists."

    def made(self, cloud: Cloud, name: str, body: JsonObject) -> Resource:
        version = {"state": "ENABLED", **_TEMPLATE}
        material = AESGCM.generate_key(256)
        cloud.store.insert(_VERSIONS.kind, f"{name}/cryptoKeyVersions/1", version, now=cloud.now, data=material)
        return super().made(cloud, name, body)

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        if body.get("purpose") != "ENCRYPT_DECRYPT":
            raise invalid("Only the purpose ENCRYPT_DECRYPT is served here.", field="crypto_key.purpose")
        return {"destroyScheduledDuration": "2592000s", "versionTemplate": _TEMPLATE, **body}

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "primary": _VERSIONS.shown(cloud, _primary(cloud, held))}


_RING_KEYS = _Keys()


class _CryptoKeyVersions(Collection):
    api = f"{_KEYS}.cryptoKeyVersions"
    kind = "cloudkms.cryptoKeyVersion"
    methods = "list destroy"
    above = _RING_KEYS
    adds = ("createTime",)
    absent = "CryptoKeyVersion {name} not found."

    def destroy(self, call: ApiCall) -> JsonObject:
        held, key = self.found(call), _RING_KEYS.found(call)
        wait = bodies.seconds(key.body["destroyScheduledDuration"], field="destroy_scheduled_duration")
        body = {**held.body, "state": "DESTROY_SCHEDULED", "destroyTime": timestamp(call.cloud.now + wait)}
        return self.shown(call.cloud, call.cloud.store.replace(held, body, now=call.cloud.now))

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "generateTime": timestamp(held.created)}


_VERSIONS = _CryptoKeyVersions()


@handles(f"{_KEYS}.encrypt")
def encrypt(call: ApiCall) -> JsonObject:
    version, cipher = _cipher(call)
    plaintext, associated = _bytes(call, "plaintext"), _bytes(call, "additionalAuthenticatedData")
    nonce = os.urandom(_NONCE_BYTES)
    ciphertext = nonce + cipher.encrypt(nonce, plaintext, associated or None)
    return {
        "name": version.name,
        "ciphertext": base64.b64encode(ciphertext).decode(),
        "ciphertextCrc32c": str(crc32c(ciphertext)),
        "verifiedPlaintextCrc32c": "plaintextCrc32c" in call.body,
        "verifiedAdditionalAuthenticatedDataCrc32c": "additionalAuthenticatedDataCrc32c" in call.body,
        "protectionLevel": version.body["protectionLevel"],
    }


@handles(f"{_KEYS}.decrypt")
def decrypt(call: ApiCall) -> JsonObject:
    version, cipher = _cipher(call)
    ciphertext, associated = _bytes(call, "ciphertext"), _bytes(call, "additionalAuthenticatedData")
    try:
        plaintext = cipher.decrypt(ciphertext[:_NONCE_BYTES], ciphertext[_NONCE_BYTES:], associated or None)
    except (InvalidTag, ValueError):
        raise invalid("Decryption failed: the ciphertext is invalid.", field="ciphertext") from None
    return {
        "plaintext": base64.b64encode(plaintext).decode(),
        "plaintextCrc32c": str(crc32c(plaintext)),
        "usedPrimary": True,
        "protectionLevel": version.body["protectionLevel"],
    }


def _primary(cloud: Cloud, key: Resource) -> Resource:
    return _VERSIONS.named(cloud, f"{key.name}/cryptoKeyVersions/1")


def _cipher(call: ApiCall) -> tuple[Resource, AESGCM]:
    """The version of the call's key that encrypts, and how. Raises 400 for one that is destroyed."""
    version = _primary(call.cloud, _RING_KEYS.found(call))
    if version.body["state"] != "ENABLED":
        raise failed_precondition(f"{version.name} is not enabled, current state is: {version.body['state']}.")
    return version, AESGCM(call.cloud.store.data(version.kind, version.name))


def _bytes(call: ApiCall, field: str) -> bytes:
    """A byte field of the body, checked against its checksum where one was sent."""
    data = bodies.decoded(call.body.get(field, ""))
    checksum = call.body.get(f"{field}Crc32c")
    if checksum is not None and int(checksum) != crc32c(data):
        raise invalid(f"The checksum of {field} does not match it.", field=f"{field}_crc32c")
    return data
