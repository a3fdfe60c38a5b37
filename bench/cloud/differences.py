"""Where real clients and real services part from the discovery documents, each with its reason.

The one place for such knowledge: those who check, route and answer read it, nothing else makes exceptions. Owns the
numbers of enum values too, which Google's generated clients send and ask for (`$alt=json;enum-encoding=int`). The
documents have names alone, in the order of the proto file: a value's number is its place in that list, but for the
values below. They are from the proto files of googleapis, as the clients of 2026-11 carry them; a test compares all of
them with these clients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# (service, schema) -> body fields that are accepted and dropped.
IGNORED_FIELDS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("compute", "NetworkRoutingConfig"): {
        "deleteBgpAlwaysCompareMed": "the Google provider (7.x) of Pulumi and Terraform sends it; no API has it",
    },
    ("compute", "RouterNat"): {
        "initialNatIps": "the same provider sends it with every list of NATs; no API has it",
    },
}

# Method -> query parameters that are taken though its document does not declare them, as their declarations.
UNDECLARED_QUERY: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    # The Google provider sends the mask beside the body, where the document has it inside.
    "pubsub.projects.topics.patch": {
        "updateMask": {"type": "string", "format": "google-fieldmask", "location": "query"}
    },
}

# Query parameters that every Google API takes and no document declares; `userProject` is Cloud Storage's own.
# Source: cloud.google.com/apis/docs/system-parameters, read 2026-11.
SYSTEM_QUERY: Mapping[str, Mapping[str, str]] = {
    "apiVersion": {"type": "string", "location": "query"},
    "userProject": {"type": "string", "location": "query"},
}

# Documents of which only some methods are served: id prefixes, with the reason.
PARTIAL_DOCUMENTS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "logging.v2": (
        ("logging.projects.metrics.", "logging.entries.list", "logging.entries.write"),
        "metrics are declared and entries read; its other paths have no fixed part and would take those of every API",
    ),
    "monitoring.v1": (
        ("monitoring.projects.dashboards.",),
        "dashboards alone are declared; its other paths are of Prometheus",
    ),
    "monitoring.v3": (
        ("monitoring.projects.",),
        "alert policies and channels are declared of a project; its other paths have no fixed part",
    ),
}

# Services whose PATCH is a JSON merge patch: null means "remove" and must reach the handler. Elsewhere a null is proto
# JSON for "not set" and is dropped.
NULL_REMOVES = frozenset({"storage"})

# Services that take durations with any unit (`30d`, `12h`) and give back seconds: the Google provider passes on what a
# program wrote and compares the two as durations.
DURATIONS_WITH_UNITS = frozenset({"artifactregistry"})

# Services whose bodies carry payloads and plaintexts. Google's refusals show the value refused; here a refusal is
# logged, so theirs name the field alone.
SECRETIVE = frozenset({"secretmanager", "cloudkms"})

# Path prefixes that mean the same as the path without them: uploads and downloads of Cloud Storage.
MEDIA_PREFIXES = ("upload/", "download/")

# Query and body names in snake case are taken as their camelCase: Google's front ends accept both, the provider sends
# `repository_id` and gcloud some masks that way. A slash at the end of a path is ignored: the provider calls
# `b/BUCKET/anywhereCaches/`, which no document has.


def camel(name: str) -> str:
    """`repository_id` -> `repositoryId`; other names stay as they are."""
    if "_" not in name.strip("_"):
        return name
    head, *tail = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in tail)


_LAUNCH_STAGE = {
    "UNIMPLEMENTED": 6, "PRELAUNCH": 7, "EARLY_ACCESS": 1, "ALPHA": 2, "BETA": 3, "GA": 4, "DEPRECATED": 5,
}  # fmt: skip
_BUILD_STATUS = {
    "PENDING": 10, "QUEUED": 1, "WORKING": 2, "SUCCESS": 3, "FAILURE": 4, "INTERNAL_ERROR": 5, "TIMEOUT": 6,
    "CANCELLED": 7,
}  # fmt: skip
_KEY_ALGORITHM = {
    "AES_128_GCM": 41, "AES_256_GCM": 19, "AES_128_CBC": 42, "AES_256_CBC": 43, "AES_128_CTR": 44, "AES_256_CTR": 45,
    "RSA_SIGN_PSS_2048_SHA256": 2, "RSA_SIGN_PSS_3072_SHA256": 3, "RSA_SIGN_PSS_4096_SHA256": 4,
    "RSA_SIGN_PSS_4096_SHA512": 15, "RSA_SIGN_PKCS1_2048_SHA256": 5, "RSA_SIGN_PKCS1_3072_SHA256": 6,
    "RSA_SIGN_PKCS1_4096_SHA256": 7, "RSA_SIGN_PKCS1_4096_SHA512": 16, "RSA_SIGN_RAW_PKCS1_2048": 28,
    "RSA_SIGN_RAW_PKCS1_3072": 29, "RSA_SIGN_RAW_PKCS1_4096": 30, "RSA_DECRYPT_OAEP_2048_SHA256": 8,
    "RSA_DECRYPT_OAEP_3072_SHA256": 9, "RSA_DECRYPT_OAEP_4096_SHA256": 10, "RSA_DECRYPT_OAEP_4096_SHA512": 17,
    "RSA_DECRYPT_OAEP_2048_SHA1": 37, "RSA_DECRYPT_OAEP_3072_SHA1": 38, "RSA_DECRYPT_OAEP_4096_SHA1": 39,
    "EC_SIGN_P256_SHA256": 12, "EC_SIGN_P384_SHA384": 13, "EC_SIGN_SECP256K1_SHA256": 31, "EC_SIGN_ED25519": 40,
    "HMAC_SHA256": 32, "HMAC_SHA1": 33, "HMAC_SHA384": 34, "HMAC_SHA512": 35, "HMAC_SHA224": 36,
    "EXTERNAL_SYMMETRIC_ENCRYPTION": 18, "ML_KEM_768": 47, "ML_KEM_1024": 48, "KEM_XWING": 63, "PQ_SIGN_ML_DSA_44": 68,
    "PQ_SIGN_ML_DSA_65": 56, "PQ_SIGN_ML_DSA_87": 69, "PQ_SIGN_SLH_DSA_SHA2_128S": 57,
    "PQ_SIGN_HASH_SLH_DSA_SHA2_128S_SHA256": 60, "PQ_SIGN_ML_DSA_44_EXTERNAL_MU": 70,
    "PQ_SIGN_ML_DSA_65_EXTERNAL_MU": 67, "PQ_SIGN_ML_DSA_87_EXTERNAL_MU": 71, "AES_256_KWP": 73,
}  # fmt: skip
# SERVICE.SCHEMA.FIELD -> the values whose numbers are not their places.
_ELSEWHERE: Mapping[str, Mapping[str, int]] = {
    "artifactregistry.Repository.format": {
        "APT": 5, "YUM": 6, "PYTHON": 8, "KFP": 9, "GO": 10, "GENERIC": 11, "RUBY": 12,
    },
    "cloudbuild.Build.status": _BUILD_STATUS,
    "cloudbuild.BuildApproval.state": {"CANCELLED": 5},
    "cloudbuild.BuildOptions.logging": {"CLOUD_LOGGING_ONLY": 5, "NONE": 4},
    "cloudbuild.BuildOptions.machineType": {
        "E2_HIGHCPU_8": 5, "E2_HIGHCPU_32": 6, "E2_MEDIUM": 7, "E2_STANDARD_2": 11,
    },
    "cloudbuild.BuildOptions.requestedVerifyOption": {"BEST_EFFORT": 3},
    "cloudbuild.BuildStep.status": _BUILD_STATUS,
    "cloudbuild.InstallationState.stage": {"COMPLETE": 10},
    "cloudkms.CryptoKey.purpose": {
        "ASYMMETRIC_SIGN": 5, "ASYMMETRIC_DECRYPT": 6, "RAW_ENCRYPT_DECRYPT": 7, "MAC": 9, "KEY_ENCAPSULATION": 10,
        "AES_WRAPPING": 11,
    },
    "cloudkms.CryptoKeyVersion.algorithm": _KEY_ALGORITHM,
    "cloudkms.CryptoKeyVersion.state": {
        "PENDING_GENERATION": 5, "ENABLED": 1, "DISABLED": 2, "DESTROYED": 3, "DESTROY_SCHEDULED": 4,
    },
    "cloudkms.CryptoKeyVersionTemplate.algorithm": _KEY_ALGORITHM,
    "cloudkms.KeyOperationAttestation.format": {"CAVIUM_V1_COMPRESSED": 3, "CAVIUM_V2_COMPRESSED": 4},
    "run.GoogleCloudRunV2Condition.reason": {
        "REVISION_FAILED": 3, "PROGRESS_DEADLINE_EXCEEDED": 4, "CONTAINER_MISSING": 6,
        "CONTAINER_PERMISSION_DENIED": 7, "CONTAINER_IMAGE_UNAUTHORIZED": 8,
        "CONTAINER_IMAGE_AUTHORIZATION_CHECK_FAILED": 9, "ENCRYPTION_KEY_PERMISSION_DENIED": 10,
        "ENCRYPTION_KEY_CHECK_FAILED": 11, "SECRETS_ACCESS_CHECK_FAILED": 12, "WAITING_FOR_OPERATION": 13,
        "IMMEDIATE_RETRY": 14, "POSTPONED_RETRY": 15, "INTERNAL": 16, "VPC_NETWORK_NOT_FOUND": 17,
    },
    "run.GoogleCloudRunV2Execution.launchStage": _LAUNCH_STAGE,
    "run.GoogleCloudRunV2Job.launchStage": _LAUNCH_STAGE,
    "run.GoogleCloudRunV2Service.launchStage": _LAUNCH_STAGE,
    "secretmanager.Secret.secretType": {"OTHER": 50},
    "tpu.AcceleratorConfig.type": {"V2": 2, "V3": 4, "V4": 7, "V5LITE_POD": 9, "V5P": 10, "V6E": 11},
    "tpu.Node.health": {"TIMEOUT": 3, "UNHEALTHY_TENSORFLOW": 4, "UNHEALTHY_MAINTENANCE": 5},
    "tpu.Node.state": {
        "STOPPED": 8, "STOPPING": 9, "STARTING": 10, "PREEMPTED": 11, "TERMINATED": 12, "HIDING": 13, "HIDDEN": 14,
        "UNHIDING": 15, "UNKNOWN": 16,
    },
}  # fmt: skip


def enum_numbers(service: str, schema: str, field: str, names: Sequence[str]) -> dict[str, int]:
    """The number of each value of the enum that a document lists for a field (or for a query parameter)."""
    elsewhere = _ELSEWHERE.get(f"{service}.{schema}.{field}", {})
    return {name: elsewhere.get(name, place) for place, name in enumerate(names)}
