"""Where real clients and real services part from the discovery documents, each with its reason.

The one place for such knowledge: those who check, route and answer read it, nothing else makes exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping

# (service, schema) -> body fields that are accepted and dropped.
IGNORED_FIELDS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("compute", "NetworkRoutingConfig"): {
        "deleteBgpAlwaysCompareMed": "the Google provider (7.x) of Pulumi and Terraform sends it; no API has it",
    },
    ("compute", "RouterNat"): {
        "initialNatIps": "the same provider sends it with every list of NATs; no API has it",
    },
}

_MASK_BESIDE = {"updateMask": {"type": "string", "format": "google-fieldmask", "location": "query"}}
# Method -> query parameters that are taken though its document does not declare them, as their declarations.
UNDECLARED_QUERY: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    # The Google provider sends these masks beside the body, where the document has them inside.
    "pubsub.projects.topics.patch": _MASK_BESIDE,
    "pubsub.projects.subscriptions.patch": _MASK_BESIDE,
}

# Query parameters that every Google API takes and no document declares; `userProject` is Cloud Storage's own.
# Source: cloud.google.com/apis/docs/system-parameters, read 2026-11.
SYSTEM_QUERY: Mapping[str, Mapping[str, str]] = {
    "apiVersion": {"type": "string", "location": "query"},
    "userProject": {"type": "string", "location": "query"},
}

# Documents of which only some methods are served: id prefix, with the reason.
PARTIAL_DOCUMENTS: Mapping[str, tuple[str, str]] = {
    "tpu.v1": (
        "tpu.projects.locations.acceleratorTypes.",
        "gcloud lists accelerator types by v1; nodes of v1 are TPU nodes without VMs, which are gone",
    ),
    "logging.v2": (
        "logging.projects.metrics.",
        "metrics alone are declared; its other paths have no fixed part and would take those of every other API",
    ),
    "monitoring.v1": (
        "monitoring.projects.dashboards.",
        "dashboards alone are declared; its other paths are of Prometheus",
    ),
    "monitoring.v3": (
        "monitoring.projects.",
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
MEDIA_PREFIXES = ("upload/", "download/", "resumable/upload/")

# Query and body names in snake case are taken as their camelCase: Google's front ends accept both, the provider sends
# `repository_id` and gcloud some masks that way. A slash at the end of a path is ignored: the provider calls
# `b/BUCKET/anywhereCaches/`, which no document has.


# The locations of every API of `/v1/` share one path here, where Google tells them apart by host. gcloud, which lists
# TPU zones there, says in its user agent which command asks.
_TPU_COMMANDS = "command/gcloud.compute.tpus."


def asks_for_tpu(headers: Mapping[str, str]) -> bool:
    """Whether a request to a path that several APIs share is meant for Cloud TPU."""
    return _TPU_COMMANDS in headers.get("user-agent", "")


def camel(name: str) -> str:
    """`repository_id` -> `repositoryId`; other names stay as they are."""
    if "_" not in name.strip("_"):
        return name
    head, *tail = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in tail)
