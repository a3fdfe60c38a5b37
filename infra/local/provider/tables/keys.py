"""Cloud KMS: key rings and keys.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and the discovery document v1 (2026-09).
"""

from __future__ import annotations

from infra.local.provider.checker import Naming
from infra.local.provider.fields import block, blocks, flag, table, text
from infra.local.provider.key import CryptoKey, KeyRing
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.tables.common import COMMON, PROJECT

_BASE = "v1"
_RING = Path("projects/{project}/locations/{location}/keyRings/{name}")
_KEY = Path("{keyRing}/cryptoKeys/{name}")
_SHORTEST_ROTATION = 86400


def _is_rotation(value: str) -> str | None:
    seconds = value.removesuffix("s")
    if value != seconds and seconds.replace(".", "", 1).isdigit() and float(seconds) >= _SHORTEST_ROTATION:
        return None
    return f"{value!r} is not a number of seconds with an s, at least {_SHORTEST_ROTATION}s"


_KEY_RING = {
    "name": text(replaces=True, local=True),
    "location": text(required=True, replaces=True, local=True),
    "project": PROJECT,
}

KEY_RING = ResourceType(
    "gcp:kms/keyRing:KeyRing",
    noun="KeyRing",
    identity=_RING,
    fields=_KEY_RING,
    naming=Naming(longest=63),
    calls=KeyRing(
        base=_BASE,
        collection=Path("projects/{project}/locations/{location}/keyRings"),
        item=_RING,
        fields=_KEY_RING,
        query={"keyRingId": Path("{name}")},
    ),
)

_CRYPTO_KEY = {
    "name": text(replaces=True, local=True),
    "keyRing": text(required=True, replaces=True, local=True),
    "deletionPolicy": COMMON["deletionPolicy"],
    "purpose": text(replaces=True, default="ENCRYPT_DECRYPT"),
    "rotationPeriod": text(rule=_is_rotation),
    "labels": table(),
    "versionTemplate": block(
        {"algorithm": text(required=True), "protectionLevel": text(replaces=True, default="SOFTWARE")}, server=True
    ),
    "destroyScheduledDuration": text(replaces=True, server=True),
    "importOnly": flag(replaces=True, server=True),
    "cryptoKeyBackend": text(replaces=True, server=True),
    "skipInitialVersionCreation": flag(local=True),
    "primaries": blocks({"name": text(), "state": text()}, wire="primary", computed=True),
}

CRYPTO_KEY = ResourceType(
    "gcp:kms/cryptoKey:CryptoKey",
    noun="CryptoKey",
    identity=_KEY,
    fields=_CRYPTO_KEY,
    schema_version=1,
    labelled=True,
    naming=Naming(longest=63),
    calls=CryptoKey(
        base=_BASE,
        collection=Path("{keyRing}/cryptoKeys"),
        item=_KEY,
        fields=_CRYPTO_KEY,
        query={"cryptoKeyId": Path("{name}")},
    ),
)

TYPES = (KEY_RING, CRYPTO_KEY)
