"""Values of registries, mirrors and builds of images."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, PlainValidator, StrictStr

from infra.model.facts import mirror_locations, repository_regions
from infra.model.fields.common import MAX_DAYS, MAX_ID, Written, between, matching, one_of
from infra.model.refusals import refuse

MAX_BUILD_SECONDS = 24 * 3600
_MAX_BUILD_DISK_GB = 4000
BUILD_MACHINES = ("E2_MEDIUM", "E2_STANDARD_2", "E2_HIGHCPU_8", "E2_HIGHCPU_32", "N1_HIGHCPU_8", "N1_HIGHCPU_32")
"""Machines, default pool: cloud.google.com/build/docs/api/reference/rest/v1/projects.builds, 2026-11."""
SEVERITIES = ("negligible", "low", "medium", "high", "critical")
"""How bad a finding of an image scan is, as grype says it."""


def _upstream(text: str) -> str:
    if text == "docker-hub" or re.fullmatch(r"https://[a-z0-9.-]+(/[A-Za-z0-9._/-]*)?", text):
        return text
    return refuse("not an upstream: docker-hub or an https URL", "docker-hub, or such as https://ghcr.io")


def _build_timeout(value: object) -> int:
    """Seconds. Cloud Build ends a build after a day at the latest (cloud.google.com/build/quotas, 2026-11)."""
    match = re.fullmatch(r"([1-9][0-9]{0,4})([smh])", value) if isinstance(value, str) else None
    seconds = int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]] if match else 0
    rule = "not a length of time up to 24h, in s, m or h"
    return seconds if 0 < seconds <= MAX_BUILD_SECONDS else refuse(rule, "such as 4h")


KeepCount = Annotated[
    int,
    between(1, 10_000, "how many of the newest to keep", "a number such as 16"),
]
TagPrefix = Annotated[StrictStr, matching(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", "the start of a tag", "such as v")]
RepositoryRegion = Annotated[StrictStr, one_of(repository_regions, "one of the six regions of image repositories")]
MirrorLocation = Annotated[StrictStr, one_of(mirror_locations, "one of the multi-regions of mirrors, us and europe")]
Upstream = Annotated[
    StrictStr,
    AfterValidator(_upstream),
    Written(
        lambda: {
            "pattern": r"^(docker-hub|https://[a-z0-9.-]+(/[A-Za-z0-9._/-]*)?)$",
            "description": "docker-hub, or an https URL such as https://ghcr.io",
        }
    ),
]
BuildMachine = Annotated[StrictStr, one_of(lambda: BUILD_MACHINES, "a machine of Cloud Build's default pool")]
BuildTimeout = Annotated[
    int,
    PlainValidator(_build_timeout),
    Written(
        lambda: {"type": "string", "pattern": "^[1-9][0-9]{0,4}[smh]$", "description": "up to 24h, such as 90m or 4h"}
    ),
]
DiskGb = Annotated[int, between(1, _MAX_BUILD_DISK_GB, "a build's disk in gigabytes", "a number such as 200")]
Severity = Annotated[StrictStr, one_of(lambda: SEVERITIES, "a severity of a scan's findings")]
LogDays = Annotated[
    int,
    between(1, MAX_DAYS, "how many days build logs are kept", "a number such as 90"),
]
IsPrivate = Annotated[
    bool,
    PlainValidator(
        lambda value: value if isinstance(value, bool) else refuse("neither true nor false", "true or false")
    ),
    Written(lambda: {"type": "boolean"}),
]
InstallationId = Annotated[
    int,
    between(1, MAX_ID, "GitHub's number of an app's installation", "a number such as 1234567"),
]
SecretVersion = Annotated[
    StrictStr,
    matching(
        r"[A-Za-z0-9_-]{1,255}/versions/[1-9][0-9]{0,9}",
        "one version of a secret of this project, never its value and never latest",
        "NAME/versions/NUMBER",
    ),
]
