"""Cloud KMS: key rings, symmetric keys and their versions, and encryption with them that really encrypts.

Owns AES-256-GCM key material (the bytes of a version's row, in no body) and the life of a version. Rings and keys
cannot be deleted, as in the service. Only the purpose ENCRYPT_DECRYPT is served; keys do not rotate by themselves.
Sources: cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys, read 2026-11.
"""

from __future__ import annotations

import base64
import os
import re
import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bench.cloud.clock import seconds_of, timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, failed_precondition, invalid
from bench.cloud.services import bodies, places
from bench.cloud.services.bodies import crc32c
from bench.cloud.services.collection import Collection
from bench.cloud.store import Resource

_KEYS = "cloudkms.projects.locations.keyRings.cryptoKeys"
_VERSIONS = f"{_KEYS}.cryptoKeyVersions"
_MOST_BYTES = 65536
_NONCE_BYTES = 12
# A ciphertext is the version's number, the nonce, and what AES-GCM gives.
_HEADER = struct.Struct(">I")
_TEMPLATE = {"protectionLevel": "SOFTWARE", "algorithm": "GOOGLE_SYMMETRIC_ENCRYPTION"}
_SHORTEST_ROTATION = 86400.0


class _Kept(Collection):
    """What all three have in common."""

    id_form = re.compile(r"[A-Za-z0-9_-]{1,63}")
    id_rule = "write 1 to 63 letters, digits, dashes, underscores"
    counted = True
    adds = ("createTime",)


class _Rings(_Kept):
    api = "cloudkms.projects.locations.keyRings"
    kind = "cloudkms.keyRing"
    methods = "create get list"
    locations = frozenset({"global", *places.MULTI_REGIONS, *places.REGIONS})
    new_id = "keyRingId"
    has_policy = True
    absent = "KeyRing {name} not found."
    present = "KeyRing {name} already exists."


class _Keys(_Kept):
    api = _KEYS
    kind = "cloudkms.cryptoKey"
    methods = "create get list patch"
    above = _Rings()
    new_id = "cryptoKeyId"
    mutable = frozenset({"labels", "rotationPeriod", "nextRotationTime", "versionTemplate"})
    fixed = None
    mask = "refused"
    has_policy = True
    absent = "CryptoKey {name} not found."
    present = "CryptoKey {name} already exists."

    def create(self, call: ApiCall) -> JsonObject:
        made = super().create(call)
        if call.params.get("skipInitialVersionCreation"):
            return made
        key = self.named(call.cloud, self.new_name(call))
        version = _new_version(call.cloud, key)
        return self.shown(call.cloud, _put(call.cloud, key, {**key.body, "primary": version.name}))

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        if body.get("purpose") != "ENCRYPT_DECRYPT":
            raise invalid("Only the purpose ENCRYPT_DECRYPT is served here.", field="crypto_key.purpose")
        bodies.check_labels(body.get("labels", {}), field="crypto_key.labels")
        if "rotationPeriod" in body:
            if bodies.seconds(body["rotationPeriod"], field="rotation_period") < _SHORTEST_ROTATION:
                raise invalid("The rotation period must be at least 86400s.", field="crypto_key.rotation_period")
            if "nextRotationTime" not in body:
                raise invalid("A rotation period needs a next rotation time.", field="crypto_key.next_rotation_time")
        if "nextRotationTime" in body and seconds_of(body["nextRotationTime"]) < cloud.now:
            raise invalid("The next rotation time must be in the future.", field="crypto_key.next_rotation_time")
        template = {**_TEMPLATE, **body.get("versionTemplate", {})}
        return {"destroyScheduledDuration": "2592000s", **body, "versionTemplate": template}

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        shown = super().shown(cloud, held)
        if "primary" in shown:
            shown["primary"] = VERSIONS.shown(cloud, VERSIONS.named(cloud, shown["primary"]))
        return shown


KEYS = _Keys()


class _CryptoKeyVersions(_Kept):
    api = _VERSIONS
    kind = "cloudkms.cryptoKeyVersion"
    methods = "create get list patch"
    above = KEYS
    absent = "CryptoKeyVersion {name} not found."

    def create(self, call: ApiCall) -> JsonObject:
        return self.shown(call.cloud, _new_version(call.cloud, KEYS.found(call)))

    def patch(self, call: ApiCall) -> JsonObject:
        """Only the state changes, between enabled and disabled."""
        held, state = self.found(call), call.body.get("state")
        if bodies.mask_paths(call.params.get("updateMask")) != ["state"] or state not in ("ENABLED", "DISABLED"):
            raise invalid("Only the state can be updated, to ENABLED or DISABLED.", field="update_mask")
        if held.body["state"] not in ("ENABLED", "DISABLED"):
            raise failed_precondition(f"{held.name} is in state {held.body['state']}.")
        return self.shown(call.cloud, _put(call.cloud, held, {**held.body, "state": state}))

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "generateTime": timestamp(held.created)}


VERSIONS = _CryptoKeyVersions()


@handles(f"{_KEYS}.updatePrimaryVersion")
def update_primary(call: ApiCall) -> JsonObject:
    key = KEYS.found(call)
    version = call.cloud.store.get(VERSIONS.kind, _version_name(key, call.body.get("cryptoKeyVersionId", "")))
    _check_enabled(version)
    return KEYS.shown(call.cloud, _put(call.cloud, key, {**key.body, "primary": version.name}))


@handles(f"{_KEYS}.encrypt")
def encrypt(call: ApiCall) -> JsonObject:
    key = KEYS.found(call)
    plaintext, associated = _bytes(call, "plaintext"), _bytes(call, "additionalAuthenticatedData")
    if not 0 < len(plaintext) + len(associated) <= _MOST_BYTES:
        raise invalid(f"The plaintext has {len(plaintext)} bytes; 1 to {_MOST_BYTES} are allowed.", field="plaintext")
    if "primary" not in key.body:
        raise failed_precondition(f"{key.name} has no primary version.")
    version = VERSIONS.named(call.cloud, key.body["primary"])
    _check_enabled(version)
    nonce = os.urandom(_NONCE_BYTES)
    sealed = AESGCM(call.cloud.store.data(version.kind, version.name)).encrypt(nonce, plaintext, associated or None)
    ciphertext = _HEADER.pack(int(version.name.rpartition("/")[2])) + nonce + sealed
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
    key = KEYS.found(call)
    ciphertext, associated = _bytes(call, "ciphertext"), _bytes(call, "additionalAuthenticatedData")
    unreadable = invalid("Decryption failed: the ciphertext is invalid.", field="ciphertext")
    if len(ciphertext) <= _HEADER.size + _NONCE_BYTES:
        raise unreadable
    (number,) = _HEADER.unpack_from(ciphertext)
    version = VERSIONS.find(call.cloud, _version_name(key, str(number)))
    if version is None:
        raise unreadable
    _check_enabled(version)
    nonce, sealed = ciphertext[_HEADER.size :][:_NONCE_BYTES], ciphertext[_HEADER.size + _NONCE_BYTES :]
    try:
        plaintext = AESGCM(call.cloud.store.data(version.kind, version.name)).decrypt(nonce, sealed, associated or None)
    except InvalidTag:
        raise unreadable from None
    return {
        "plaintext": base64.b64encode(plaintext).decode(),
        "plaintextCrc32c": str(crc32c(plaintext)),
        "usedPrimary": key.body.get("primary") == version.name,
        "protectionLevel": version.body["protectionLevel"],
    }


@handles(f"{_VERSIONS}.destroy")
def destroy_version(call: ApiCall) -> JsonObject:
    held, key = VERSIONS.found(call), KEYS.found(call)
    if held.body["state"] not in ("ENABLED", "DISABLED"):
        raise failed_precondition(f"{held.name} cannot be destroyed: its state is {held.body['state']}.")
    wait = bodies.seconds(key.body["destroyScheduledDuration"], field="destroy_scheduled_duration")
    body = {**held.body, "state": "DESTROY_SCHEDULED", "destroyTime": timestamp(call.cloud.now + wait)}
    return VERSIONS.shown(call.cloud, _put(call.cloud, held, body))


@handles(f"{_VERSIONS}.restore")
def restore_version(call: ApiCall) -> JsonObject:
    held = VERSIONS.found(call)
    if held.body["state"] != "DESTROY_SCHEDULED":
        raise failed_precondition(f"{held.name} is not scheduled for destruction: its state is {held.body['state']}.")
    body = {key: value for key, value in held.body.items() if key != "destroyTime"} | {"state": "DISABLED"}
    return VERSIONS.shown(call.cloud, _put(call.cloud, held, body))


def _put(cloud: Cloud, held: Resource, body: JsonObject) -> Resource:
    return cloud.store.replace(held, body, now=cloud.now)


def _version_name(key: Resource, number: str) -> str:
    return f"{key.name}/cryptoKeyVersions/{number}"


def _new_version(cloud: Cloud, key: Resource) -> Resource:
    number = cloud.store.next_number(f"{VERSIONS.kind} {key.name}")
    template = key.body["versionTemplate"]
    body = {"state": "ENABLED", "protectionLevel": template["protectionLevel"], "algorithm": template["algorithm"]}
    material = AESGCM.generate_key(256)
    return cloud.store.insert(VERSIONS.kind, _version_name(key, str(number)), body, now=cloud.now, data=material)


def _check_enabled(version: Resource) -> None:
    if version.body["state"] != "ENABLED":
        raise failed_precondition(f"{version.name} is not enabled, current state is: {version.body['state']}.")


def _bytes(call: ApiCall, field: str) -> bytes:
    """A byte field of the body, checked against its checksum where one was sent."""
    data = bodies.decoded(call.body.get(field, ""))
    checksum = call.body.get(f"{field}Crc32c")
    if checksum is not None and int(checksum) != crc32c(data):
        raise invalid(f"The checksum of {field} does not match it.", field=f"{field}_crc32c")
    return data
