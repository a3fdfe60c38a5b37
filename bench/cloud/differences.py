"""Where real clients and real services part from the discovery documents, each with its reason.

The one place for such knowledge: those who check, route and answer read it, nothing else makes exceptions. Owns the
numbers of enum values too, which Google's generated clients send. They ask for numbers as well, and read names: answers
have these. The documents have names alone, in the order of the proto file: a value's number is its place in that list,
but for the values below. They are from the proto files of googleapis, as the clients of 2026-11 carry them.
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
# SERVICE.SCHEMA.FIELD -> the values whose numbers are not their places.
_ELSEWHERE: Mapping[str, Mapping[str, int]] = {
    "artifactregistry.Repository.format": {
        "APT": 5, "YUM": 6, "PYTHON": 8, "KFP": 9, "GO": 10, "GENERIC": 11, "RUBY": 12,
    },
    "cloudbuild.BuildOptions.logging": {"CLOUD_LOGGING_ONLY": 5, "NONE": 4},
    "cloudbuild.BuildOptions.machineType": {
        "E2_HIGHCPU_8": 5, "E2_HIGHCPU_32": 6, "E2_MEDIUM": 7, "E2_STANDARD_2": 11,
    },
    "cloudbuild.BuildOptions.requestedVerifyOption": {"BEST_EFFORT": 3},
    "cloudkms.CryptoKey.purpose": {
        "ASYMMETRIC_SIGN": 5, "ASYMMETRIC_DECRYPT": 6, "RAW_ENCRYPT_DECRYPT": 7, "MAC": 9, "KEY_ENCAPSULATION": 10,
        "AES_WRAPPING": 11,
    },
    "run.GoogleCloudRunV2Job.launchStage": _LAUNCH_STAGE,
    "run.GoogleCloudRunV2Service.launchStage": _LAUNCH_STAGE,
    "secretmanager.Secret.secretType": {"OTHER": 50},
    "tpu.AcceleratorConfig.type": {"V2": 2, "V3": 4, "V4": 7, "V5LITE_POD": 9, "V5P": 10, "V6E": 11},
}  # fmt: skip


def enum_numbers(service: str, schema: str, field: str, names: Sequence[str]) -> dict[str, int]:
    """The number of each value of the enum that a document lists for a field (or for a query parameter)."""
    elsewhere = _ELSEWHERE.get(f"{service}.{schema}.{field}", {})
    return {name: elsewhere.get(name, place) for place, name in enumerate(names)}
