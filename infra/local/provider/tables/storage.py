"""Cloud Storage: buckets, who may read and write them, and objects in them.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and the discovery document v1 (2026-10).
"""

from __future__ import annotations

import re

from infra.local.provider.bucket import Bucket
from infra.local.provider.bucket_object import UNSETTLED, BucketObject, is_same_content
from infra.local.provider.checker import Naming
from infra.local.provider.fields import block, blocks, flag, table, text, texts, whole
from infra.local.provider.policy import Endpoint, IamMember, qualifier
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.tables.common import COMMON, GRANT, LATE, TIDY_GRANT
from infra.local.provider.tables.rules import same_text

_BASE = "storage/v1"
_PREFIX = "b/"


def _with_prefix(bucket: str) -> str:
    return bucket if bucket.startswith(_PREFIX) else _PREFIX + bucket


def _same_bucket(old: str, new: str) -> bool:
    return _with_prefix(old) == _with_prefix(new)


def _are_labels(labels: dict[str, str]) -> str | None:
    wrong = sorted(key for key in labels if not re.fullmatch("[a-z0-9_-]{1,63}", key))
    return f"label keys are 1 to 63 lower-case letters, digits, _ and -: {', '.join(wrong)}" if wrong else None


def _unlocks(old: bool, new: bool) -> bool:
    return old and not new


_CONDITION = {
    "age": whole(),
    "createdBefore": text(),
    "customTimeBefore": text(),
    "daysSinceCustomTime": whole(),
    "daysSinceNoncurrentTime": whole(),
    "matchesPrefixes": texts(wire="matchesPrefix"),
    "matchesStorageClasses": texts(wire="matchesStorageClass"),
    "matchesSuffixes": texts(wire="matchesSuffix"),
    "noncurrentTimeBefore": text(),
    "numNewerVersions": whole(),
    "withState": text(server=True, choices=("LIVE", "ARCHIVED", "ANY")),
}

_BUCKET = {
    "name": text(replaces=True),
    **COMMON,
    "location": text(required=True, replaces=True, same=same_text, stored=str.upper),
    "storageClass": text(default="STANDARD"),
    "labels": table(rule=_are_labels),
    "uniformBucketLevelAccess": flag(
        wire="iamConfiguration.uniformBucketLevelAccess.enabled", server=True, always=True
    ),
    "publicAccessPrevention": text(wire="iamConfiguration.publicAccessPrevention", server=True),
    "versioning": block({"enabled": flag(required=True, always=True)}, server=True),
    "lifecycleRules": blocks(
        {
            "action": block({"type": text(required=True), "storageClass": text()}, required=True),
            "condition": block(_CONDITION, required=True),
        },
        wire="lifecycle.rule",
        most=100,
    ),
    "softDeletePolicy": block(
        {
            "retentionDurationSeconds": whole(default=604800, wire_text=True, always=True),
            "effectiveTime": text(computed=True),
        },
        server=True,
    ),
    "retentionPolicy": block({"retentionPeriod": text(required=True), "isLocked": flag(replaces_when=_unlocks)}),
    "encryption": block({"defaultKmsKeyName": text(required=True)}),
    "logging": block({"logBucket": text(required=True), "logObjectPrefix": text(server=True)}),
    "cors": blocks(
        {
            "maxAgeSeconds": whole(),
            "methods": texts(wire="method"),
            "origins": texts(wire="origin"),
            "responseHeaders": texts(wire="responseHeader"),
        }
    ),
    "autoclass": block({"enabled": flag(required=True, always=True), "terminalStorageClass": text(server=True)}),
    # A service that says nothing of it reads as one without; leaving it out is then no difference.
    "hierarchicalNamespace": block(
        {"enabled": flag(required=True, replaces=True, always=True)},
        hidden=lambda old, new, *_: new is None and not (old or {}).get("enabled"),
    ),
    "requesterPays": flag(wire="billing.requesterPays"),
    "defaultEventBasedHold": flag(),
    "rpo": text(server=True),
    "forceDestroy": flag(local=True),
    "projectNumber": whole(computed=True),
    "selfLink": text(computed=True),
    "timeCreated": text(computed=True),
    "updated": text(computed=True),
    "url": text(computed=True),
}

BUCKET = ResourceType(
    "gcp:storage/bucket:Bucket",
    noun="Bucket",
    identity=Path("{name}"),
    fields=_BUCKET,
    schema_version=4,
    late=frozenset({"project"}),
    labelled=True,
    naming=Naming(longest=222),
    derived={"url": Path("gs://{name}")},
    calls=Bucket(
        base=_BASE,
        collection=Path("b"),
        item=Path("b/{name}"),
        fields=_BUCKET,
        query={"project": Path("{project}")},
    ),
)

BUCKET_IAM_MEMBER = ResourceType(
    "gcp:storage/bucketIAMMember:BucketIAMMember",
    noun="BucketIAMMember",
    identity=Path("{bucket}/{role}/{member}"),
    fields={"bucket": text(required=True, replaces=True, local=True, same=_same_bucket), **GRANT},
    tidied={"bucket": _with_prefix, **TIDY_GRANT},
    late=LATE,
    qualified=qualifier,
    calls=IamMember(
        owner=Path(f"{_BASE}/{{bucket}}"),
        get=Endpoint(method="GET", suffix="/iam", query={"optionsRequestedPolicyVersion": "3"}),
        put=Endpoint(method="PUT", suffix="/iam", wrapped=False),
    ),
)

_BUCKET_OBJECT = {
    "bucket": text(required=True, replaces=True, local=True),
    "name": text(replaces=True, local=True),
    "deletionPolicy": COMMON["deletionPolicy"],
    "content": text(required=True, local=True),
    "sourceMd5hash": text(local=True),
    "detectMd5hash": text(wire="md5Hash", default="different hash", hidden=is_same_content),
    "contentType": text(replaces=True, server=True),
    "cacheControl": text(replaces=True),
    "contentDisposition": text(replaces=True),
    "contentEncoding": text(replaces=True),
    "contentLanguage": text(replaces=True),
    "metadata": table(replaces=True),
    "storageClass": text(replaces=True, server=True),
    "md5hash": text(wire="md5Hash", computed=True),
    "md5hexhash": text(wire="md5HexHash", computed=True),
    "crc32c": text(computed=True),
    "generation": whole(computed=True),
    "mediaLink": text(computed=True),
    "outputName": text(wire="name", computed=True),
    "selfLink": text(computed=True),
}
"""Content that a program holds as text alone: an asset never reaches a provider of the embedded engine."""

BUCKET_OBJECT = ResourceType(
    "gcp:storage/bucketObject:BucketObject",
    noun="object",
    identity=Path("{bucket}-{name}"),
    fields=_BUCKET_OBJECT,
    naming=Naming(longest=255),
    unsettled=UNSETTLED,
    imported=False,
    calls=BucketObject(
        base=_BASE, collection=Path("b/{bucket}/o"), item=Path("b/{bucket}/o/{name}"), fields=_BUCKET_OBJECT
    ),
)

TYPES = (BUCKET, BUCKET_IAM_MEMBER, BUCKET_OBJECT)
