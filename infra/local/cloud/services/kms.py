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

from infra.local.cloud.clock import seconds_of, timestamp
from infra.local.cloud.errors import ApiError, failed_precondition, invalid, not_found
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, listings, places, policies
from infra.local.cloud.services.checksums import crc32c
from infra.local.cloud.store import Resource

_RING, _KEY, _VERSION = "cloudkms.keyRing", "cloudkms.cryptoKey", "cloudkms.cryptoKeyVersion"
_ID = re.compile(r"[A-Za-z0-9_-]{1,63}")
_RINGS = "cloudkms.projects.locations.keyRings"
_KEYS = f"{_RINGS}.cryptoKeys"
_VERSIONS = f"{_KEYS}.cryptoKeyVersions"
_MOST_BYTES = 65536
_NONCE_BYTES = 12
# A ciphertext is the version's number, the nonce, and what AES-GCM gives.
_HEADER = struct.Struct(">I")
_TEMPLATE = {"protectionLevel": "SOFTWARE", "algorithm": "GOOGLE_SYMMETRIC_ENCRYPTION"}
_DESTROY_AFTER = "2592000s"
_SHORTEST_ROTATION = 86400.0
_MUTABLE = frozenset({"labels", "rotationPeriod", "nextRotationTime", "versionTemplate"})


@handles(f"{_RINGS}.create")
def create_ring(call: Call) -> JsonObject:
    location = call.ids["locationsId"]
    if location != "global" and location not in places.MULTI_REGIONS and location not in places.REGIONS:
        raise not_found(f"{_location(call)}")
    name = f"{_location(call)}/keyRings/{_identity(call, 'keyRingId')}"
    if call.cloud.store.find(_RING, name):
        raise ApiError(409, f"KeyRing {name} already exists.")
    return _shown(call.cloud.store.insert(_RING, name, {}, now=call.cloud.now))


@handles(f"{_RINGS}.get")
def get_ring(call: Call) -> JsonObject:
    return _shown(_ring(call))


@handles(f"{_RINGS}.list")
def list_rings(call: Call) -> JsonObject:
    prefix = f"{_location(call)}/keyRings/"
    answer = listings.stored(call, "keyRings", _RING, prefix, _shown)
    return {**answer, "totalSize": call.cloud.store.count(_RING, prefix)}


@handles(f"{_KEYS}.create")
def create_key(call: Call) -> JsonObject:
    cloud = call.cloud
    name = f"{_ring(call).name}/cryptoKeys/{_identity(call, 'cryptoKeyId')}"
    if cloud.store.find(_KEY, name):
        raise ApiError(409, f"CryptoKey {name} already exists.")
    body = {"destroyScheduledDuration": _DESTROY_AFTER, **bodies.without_unset(call.body)}
    if body.get("purpose") != "ENCRYPT_DECRYPT":
        raise invalid("Only the purpose ENCRYPT_DECRYPT is served here.", field="crypto_key.purpose")
    body["versionTemplate"] = {**_TEMPLATE, **body.get("versionTemplate", {})}
    key = cloud.store.insert(_KEY, name, _checked(call, body), now=cloud.now)
    if not call.params.get("skipInitialVersionCreation"):
        version = _new_version(call, key)
        key = cloud.store.replace(key, {**key.body, "primary": version.name}, now=cloud.now)
    return _shown_key(call, key)


@handles(f"{_KEYS}.get")
def get_key(call: Call) -> JsonObject:
    return _shown_key(call, _key(call))


@handles(f"{_KEYS}.list")
def list_keys(call: Call) -> JsonObject:
    prefix = f"{_ring(call).name}/cryptoKeys/"
    answer = listings.stored(call, "cryptoKeys", _KEY, prefix, lambda held: _shown_key(call, held))
    return {**answer, "totalSize": call.cloud.store.count(_KEY, prefix)}


@handles(f"{_KEYS}.patch")
def patch_key(call: Call) -> JsonObject:
    held, mask = _key(call), call.params.get("updateMask")
    if not mask:
        raise invalid("An update mask is required.", field="update_mask")
    body = _checked(call, bodies.masked(held.body, call.body, mask, mutable=_MUTABLE))
    return _shown_key(call, call.cloud.store.replace(held, body, now=call.cloud.now))


@handles(f"{_KEYS}.updatePrimaryVersion")
def update_primary(call: Call) -> JsonObject:
    held = _key(call)
    version = call.cloud.store.get(_VERSION, _version_name(held, call.body.get("cryptoKeyVersionId", "")))
    _check_enabled(version)
    return _shown_key(call, call.cloud.store.replace(held, {**held.body, "primary": version.name}, now=call.cloud.now))


@handles(f"{_KEYS}.encrypt")
def encrypt(call: Call) -> JsonObject:
    key = _key(call)
    plaintext, associated = _bytes(call, "plaintext"), _bytes(call, "additionalAuthenticatedData")
    if not 0 < len(plaintext) + len(associated) <= _MOST_BYTES:
        raise invalid(f"The plaintext has {len(plaintext)} bytes; 1 to {_MOST_BYTES} are allowed.", field="plaintext")
    if "primary" not in key.body:
        raise failed_precondition(f"{key.name} has no primary version.")
    version = call.cloud.store.get(_VERSION, key.body["primary"])
    _check_enabled(version)
    nonce = os.urandom(_NONCE_BYTES)
    sealed = AESGCM(call.cloud.store.data(_VERSION, version.name)).encrypt(nonce, plaintext, associated or None)
    ciphertext = _HEADER.pack(_number(version)) + nonce + sealed
    return {
        "name": version.name,
        "ciphertext": base64.b64encode(ciphertext).decode(),
        "ciphertextCrc32c": str(crc32c(ciphertext)),
        "verifiedPlaintextCrc32c": "plaintextCrc32c" in call.body,
        "verifiedAdditionalAuthenticatedDataCrc32c": "additionalAuthenticatedDataCrc32c" in call.body,
        "protectionLevel": version.body["protectionLevel"],
    }


@handles(f"{_KEYS}.decrypt")
def decrypt(call: Call) -> JsonObject:
    key = _key(call)
    ciphertext, associated = _bytes(call, "ciphertext"), _bytes(call, "additionalAuthenticatedData")
    unreadable = invalid("Decryption failed: the ciphertext is invalid.", field="ciphertext")
    if len(ciphertext) <= _HEADER.size + _NONCE_BYTES:
        raise unreadable
    (number,) = _HEADER.unpack_from(ciphertext)
    version = call.cloud.store.find(_VERSION, _version_name(key, str(number)))
    if version is None:
        raise unreadable
    _check_enabled(version)
    nonce, sealed = ciphertext[_HEADER.size :][:_NONCE_BYTES], ciphertext[_HEADER.size + _NONCE_BYTES :]
    try:
        plaintext = AESGCM(call.cloud.store.data(_VERSION, version.name)).decrypt(nonce, sealed, associated or None)
    except InvalidTag:
        raise unreadable from None
    return {
        "plaintext": base64.b64encode(plaintext).decode(),
        "plaintextCrc32c": str(crc32c(plaintext)),
        "usedPrimary": key.body.get("primary") == version.name,
        "protectionLevel": version.body["protectionLevel"],
    }


@handles(f"{_VERSIONS}.create")
def create_version(call: Call) -> JsonObject:
    return _shown_version(_new_version(call, _key(call)))


@handles(f"{_VERSIONS}.get")
def get_version(call: Call) -> JsonObject:
    return _shown_version(_version(call))


@handles(f"{_VERSIONS}.list")
def list_versions(call: Call) -> JsonObject:
    prefix = f"{_key(call).name}/cryptoKeyVersions/"
    answer = listings.stored(call, "cryptoKeyVersions", _VERSION, prefix, _shown_version)
    return {**answer, "totalSize": call.cloud.store.count(_VERSION, prefix)}


@handles(f"{_VERSIONS}.patch")
def patch_version(call: Call) -> JsonObject:
    """Only the state changes, between enabled and disabled."""
    held, state = _version(call), call.body.get("state")
    if bodies.mask_paths(call.params.get("updateMask")) != ["state"] or state not in ("ENABLED", "DISABLED"):
        raise invalid("Only the state can be updated, to ENABLED or DISABLED.", field="update_mask")
    if held.body["state"] not in ("ENABLED", "DISABLED"):
        raise failed_precondition(f"{held.name} is in state {held.body['state']}.")
    return _shown_version(call.cloud.store.replace(held, {**held.body, "state": state}, now=call.cloud.now))


@handles(f"{_VERSIONS}.destroy")
def destroy_version(call: Call) -> JsonObject:
    held, key = _version(call), _key(call)
    if held.body["state"] not in ("ENABLED", "DISABLED"):
        raise failed_precondition(f"{held.name} cannot be destroyed: its state is {held.body['state']}.")
    wait = bodies.seconds(key.body["destroyScheduledDuration"], field="destroy_scheduled_duration")
    body = {**held.body, "state": "DESTROY_SCHEDULED", "destroyTime": timestamp(call.cloud.now + wait)}
    return _shown_version(call.cloud.store.replace(held, body, now=call.cloud.now))


@handles(f"{_VERSIONS}.restore")
def restore_version(call: Call) -> JsonObject:
    held = _version(call)
    if held.body["state"] != "DESTROY_SCHEDULED":
        raise failed_precondition(f"{held.name} is not scheduled for destruction: its state is {held.body['state']}.")
    body = {key: value for key, value in held.body.items() if key != "destroyTime"} | {"state": "DISABLED"}
    return _shown_version(call.cloud.store.replace(held, body, now=call.cloud.now))


policies.serve(_RINGS, lambda call: (_ring(call).name, call.cloud.project(call.ids["projectsId"]).id))
policies.serve(_KEYS, lambda call: (_key(call).name, call.cloud.project(call.ids["projectsId"]).id))


def _location(call: Call) -> str:
    return f"projects/{call.cloud.project(call.ids['projectsId']).id}/locations/{call.ids['locationsId']}"


def _ring(call: Call) -> Resource:
    return _found(call, _RING, f"{_location(call)}/keyRings/{call.ids['keyRingsId']}", "KeyRing")


def _key(call: Call) -> Resource:
    return _found(call, _KEY, f"{_ring(call).name}/cryptoKeys/{call.ids['cryptoKeysId']}", "CryptoKey")


def _version(call: Call) -> Resource:
    name = _version_name(_key(call), call.ids["cryptoKeyVersionsId"])
    return _found(call, _VERSION, name, "CryptoKeyVersion")


def _found(call: Call, kind: str, name: str, word: str) -> Resource:
    held = call.cloud.store.find(kind, name)
    if held is None:
        raise ApiError(404, f"{word} {name} not found.")
    return held


def _version_name(key: Resource, number: str) -> str:
    return f"{key.name}/cryptoKeyVersions/{number}"


def _number(version: Resource) -> int:
    return int(version.name.rpartition("/")[2])


def _identity(call: Call, parameter: str) -> str:
    value = call.params.get(parameter, "")
    if not _ID.fullmatch(value):
        raise invalid(f"Invalid id '{value}': write 1 to 63 letters, digits, dashes, underscores.", field=parameter)
    return value


def _new_version(call: Call, key: Resource) -> Resource:
    number = call.cloud.store.next_number(f"{_VERSION} {key.name}")
    template = key.body["versionTemplate"]
    body = {"state": "ENABLED", "protectionLevel": template["protectionLevel"], "algorithm": template["algorithm"]}
    name, now = _version_name(key, str(number)), call.cloud.now
    return call.cloud.store.insert(_VERSION, name, body, now=now, data=AESGCM.generate_key(256))


def _check_enabled(version: Resource) -> None:
    if version.body["state"] != "ENABLED":
        raise failed_precondition(f"{version.name} is not enabled, current state is: {version.body['state']}.")


def _bytes(call: Call, field: str) -> bytes:
    """A byte field of the body, checked against its checksum where one was sent."""
    data = bodies.decoded(call.body.get(field, ""))
    checksum = call.body.get(f"{field}Crc32c")
    if checksum is not None and int(checksum) != crc32c(data):
        raise invalid(f"The checksum of {field} does not match it.", field=f"{field}_crc32c")
    return data


def _checked(call: Call, body: JsonObject) -> JsonObject:
    bodies.check_labels(body.get("labels", {}), field="crypto_key.labels")
    if "rotationPeriod" in body:
        if bodies.seconds(body["rotationPeriod"], field="rotation_period") < _SHORTEST_ROTATION:
            raise invalid("The rotation period must be at least 86400s.", field="crypto_key.rotation_period")
        if "nextRotationTime" not in body:
            raise invalid("A rotation period needs a next rotation time.", field="crypto_key.next_rotation_time")
    if "nextRotationTime" in body and seconds_of(body["nextRotationTime"]) < call.cloud.now:
        raise invalid("The next rotation time must be in the future.", field="crypto_key.next_rotation_time")
    return body


def _shown(held: Resource) -> JsonObject:
    return {"name": held.name, "createTime": timestamp(held.created), **held.body}


def _shown_key(call: Call, key: Resource) -> JsonObject:
    shown = _shown(key)
    if "primary" in shown:
        shown["primary"] = _shown_version(call.cloud.store.get(_VERSION, shown["primary"]))
    return shown


def _shown_version(version: Resource) -> JsonObject:
    return {**_shown(version), "generateTime": timestamp(version.created)}
