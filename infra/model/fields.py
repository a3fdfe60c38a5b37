"""The types of single values in a stack file: what each may be, and how a wrong one is said.

Owns values that are right or wrong by themselves. Does not own which keys have them (schema) nor rules between values
(rules).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator, PlainValidator, StrictStr, ValidationInfo

from infra.model import calendar, names
from infra.model.capacity import Capacity, OnDemand, Preemptible, Reserved, Spot
from infra.model.catalogue import AcceleratorType, Generation, UnknownNameError, nearest_names, zones
from infra.model.network import mirror_locations, repository_regions, service_regions
from infra.model.refusals import refuse

MAX_COUNT = 10_000
_MAX_DOLLARS = 10**12
MAX_BUILD_SECONDS = 24 * 3600
_MAX_BUILD_DISK_GB = 4000
_HOUR = 60
_DAY = 24 * _HOUR
_YEARS = f"from {calendar.YEARS[0]} to {calendar.YEARS[-1]}"

BUILD_MACHINES = ("E2_MEDIUM", "E2_STANDARD_2", "E2_HIGHCPU_8", "E2_HIGHCPU_32", "N1_HIGHCPU_8", "N1_HIGHCPU_32")
"""Machines, default pool: cloud.google.com/build/docs/api/reference/rest/v1/projects.builds, 2026-11."""
SEVERITIES = ("negligible", "low", "medium", "high", "critical")
"""How bad a finding of an image scan is, as grype says it."""

V = TypeVar("V")

# GitHub gives the first to runners by itself; the others ask for a runner that GitHub hosts.
_GITHUB_OWN_LABEL = re.compile(r"self-hosted|linux|windows|macos|x64|arm64|arm|(ubuntu|windows|macos)-.*")


def _matching(pattern: str, what: str, fix: str) -> AfterValidator:
    compiled = re.compile(pattern)
    return _passing(lambda text: compiled.fullmatch(text) is not None, what, fix)


def _passing(test: Callable[[str], bool], what: str, fix: str) -> AfterValidator:
    """what: a valid value is, as a noun."""
    return _refusing(test, f"not {what}", fix)


def _refusing(test: Callable[[str], bool], wrong: str, fix: str) -> AfterValidator:
    return AfterValidator(lambda text: text if test(text) else refuse(wrong, fix))


def _one_of(valid: Callable[[], tuple[str, ...]], what: str) -> AfterValidator:
    return AfterValidator(
        lambda text: text if text in valid() else refuse(f"not {what}", f"one of {', '.join(valid())}")
    )


def _written(value: object) -> object:
    return value if value is not None else refuse("the key has no value", "a value, or remove the line")


def _by_key(value: Mapping[str, V]) -> Mapping[str, V]:
    return dict(sorted(value.items()))


def _accelerator(value: object) -> AcceleratorType:
    if not isinstance(value, str):
        refuse("an accelerator type that is no text", "such as v5litepod-4")
    try:
        return AcceleratorType.parse(value)
    except UnknownNameError as error:
        nearest = ", ".join(error.nearest)
        refuse("not an accelerator type of the catalogue", f"one of {nearest}" if nearest else "such as v5litepod-4")


def _generation(value: object) -> Generation:
    try:
        return Generation.parse(str(value))
    except UnknownNameError:
        refuse("not a TPU generation of the catalogue", "one of v4, v5e, v5p, v6e, tpu7x")


def _zone(text: str, info: ValidationInfo) -> str:
    """A pool's accelerator, where it is right, says which zones are worth naming."""
    if text in zones():
        return text
    accelerator = (info.data or {}).get("accelerator")  # None where a value is validated by itself
    if isinstance(accelerator, AcceleratorType):
        offered = accelerator.generation.zones
        rule = f"not a zone of the catalogue that has {accelerator.generation.name}"
        refuse(rule, f"one of {', '.join(nearest_names(text, offered) or offered)}")
    nearest = ", ".join(nearest_names(text, zones()))
    return refuse("not a zone of the catalogue", f"one of {nearest}" if nearest else "such as us-west4-a")


def _count(value: object) -> int:
    rule = f"not a count of slices, a whole number from 0 to {MAX_COUNT:,}"
    if isinstance(value, bool):
        refuse(rule, "a number such as 2, not true or false")
    if isinstance(value, str):
        refuse(rule, "the number without quotes or other characters")
    if not isinstance(value, int):
        refuse(rule, "a whole number such as 2")
    return value if 0 <= value <= MAX_COUNT else refuse(rule, f"0 to {MAX_COUNT}")


def _whole_number(value: object, least: int, what: str, fix: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        refuse(f"not a whole number from {least}: {what}", fix)
    return value


def _capacity(value: object) -> Capacity:
    fix = "on-demand, spot, preemptible, or {reserved: NAME}"
    plain = {"on-demand": OnDemand(), "spot": Spot(), "preemptible": Preemptible()}
    if isinstance(value, str):
        meant = "".join(f"; did you mean {each}?" for each in get_close_matches(value, plain, n=1))
        return plain[value] if value in plain else refuse("not a kind of capacity", f"{fix}{meant}")
    if isinstance(value, dict | list) and "reserved" in value and len(value) > 1:
        refuse("two kinds of capacity in one pool", fix)
    if isinstance(value, dict) and list(value) == ["reserved"]:
        reservation = value["reserved"]
        if isinstance(reservation, str) and names.is_resource_name(reservation):
            return Reserved(reservation)
        refuse(f"not a reservation's name: {names.RESOURCE_NAME_RULE}", "{reserved: NAME}")
    return refuse("not one kind of capacity", fix)


def is_github_own_label(text: str) -> bool:
    """Whether a label is one that GitHub gives by itself, so that having it says nothing of a pool."""
    return _GITHUB_OWN_LABEL.fullmatch(text.lower()) is not None


def _routing_label(text: str) -> str:
    if is_github_own_label(text):
        refuse("GitHub gives this label to runners by itself, so it routes jobs to no pool", "another label")
    return text


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


def _disk_gb(value: object) -> int:
    size = _whole_number(value, 1, "a build's disk in gigabytes", "a number such as 200")
    return (
        size
        if size <= _MAX_BUILD_DISK_GB
        else refuse(f"more than {_MAX_BUILD_DISK_GB}, where Cloud Build's disks end", "less")
    )


def _between(least: int, most: int, what: str, fix: str) -> PlainValidator:
    def checked(value: object) -> int:
        number = _whole_number(value, least, what, fix)
        return number if number <= most else refuse(f"more than {most}, the most for {what}", fix)

    return PlainValidator(checked)


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        refuse("not a share of a pool: a number above 0, up to 1", "such as 0.34")
    return float(value)


def _every_minutes(value: object) -> int:
    """A cron starts anew at each hour, so only what divides one comes at equal distances."""
    rule = "not minutes that divide an hour"
    number = _whole_number(value, 1, rule, "such as 2")
    return number if number <= _HOUR and _HOUR % number == 0 else refuse(rule, "such as 1, 2, 5 or 10")


def _day(value: object) -> date:
    try:
        return calendar.parse_day(str(value))
    except ValueError:
        refuse(f"not a day as year, month and day, {_YEARS}", "such as 2026-12-20")


def _moment(value: object) -> date | datetime:
    try:
        return calendar.parse_moment(str(value))
    except ValueError:
        refuse(f"not a day, or a day and a wall-clock time, {_YEARS}", "such as 2026-12-20 or 2026-12-20T18:00")


def _dollars(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MAX_DOLLARS:
        refuse("not an amount of US dollars: a number from 0", "such as 12000, without a sign or separators")
    return Decimal(str(value))


# Put beside a type, for values that are mappings or may be absent.
WRITTEN = BeforeValidator(_written)
BY_KEY = AfterValidator(_by_key)

ResourceName = Annotated[
    StrictStr, _passing(names.is_resource_name, f"a name: {names.RESOURCE_NAME_RULE}", "such as tpu-ci")
]
ProjectId = Annotated[
    StrictStr,
    _passing(names.is_account_id, "a project id: 6 to 30 lower-case letters, digits and hyphens", "such as my-lab"),
]
LabelKey = Annotated[
    StrictStr,
    _passing(names.is_label_key, f"a label's key: {names.LABEL_KEY_RULE}", "such as team"),
    _refusing(lambda key: not key.startswith("tidepool-"), "labels tidepool-* are the program's own", "another key"),
]
LabelValue = Annotated[
    StrictStr, _passing(names.is_label_value, f"a label's value: {names.LABEL_VALUE_RULE}", "such as my-team")
]
Owner = Annotated[LabelValue, _refusing(bool, "the owner of the fleet is empty", "such as my-team")]

Accelerator = Annotated[AcceleratorType, PlainValidator(_accelerator)]
TpuGeneration = Annotated[Generation, PlainValidator(_generation)]
Zone = Annotated[StrictStr, AfterValidator(_zone)]
Count = Annotated[int, PlainValidator(_count)]
Chips = Annotated[int, PlainValidator(lambda value: _whole_number(value, 0, "a count of chips", "a number such as 64"))]
CapacityChoice = Annotated[Capacity, PlainValidator(_capacity)]
Reason = Annotated[StrictStr, _matching(r"(?s).*\S.*", "a reason in words", "why this is so, in a sentence")]
RuntimeVersion = Annotated[
    StrictStr, _matching(r"[a-z0-9][a-z0-9._-]*", "a runtime version", "such as v2-alpha-tpuv6e")
]
DiskPath = Annotated[
    StrictStr,
    _matching(
        r"projects/[a-z0-9-]+/zones/[a-z0-9-]+/disks/[a-z0-9-]+",
        "a disk's full path",
        "projects/PROJECT/zones/ZONE/disks/NAME",
    ),
]

RunnerLabel = Annotated[
    StrictStr,
    _matching(
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}",
        "one runner label: up to 63 letters, digits, dots, hyphens and underscores",
        "one label an item, never a whole runs-on",
    ),
]
RoutingLabel = Annotated[RunnerLabel, AfterValidator(_routing_label)]
GitHubRepository = Annotated[
    StrictStr, _matching(r"[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}", "a GitHub repository", "owner/name")
]

WorkflowFile = Annotated[
    StrictStr,
    _matching(
        r"[A-Za-z0-9][A-Za-z0-9._-]*\.ya?ml", "the name of a file below .github/workflows", "such as nightly.yaml"
    ),
]
RepositoryId = Annotated[
    StrictStr, _matching(r"[1-9][0-9]{0,18}", "GitHub's number of a repository, as text", 'such as "123456789"')
]
EnvironmentName = Annotated[
    StrictStr,
    _matching(
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}",
        "a GitHub environment: up to 63 letters, digits, dots, hyphens and underscores",
        "such as apply",
    ),
]

Age = Annotated[StrictStr, _matching(r"[1-9][0-9]*[smhd]", "a length of time in s, m, h or d", "such as 30d")]
KeepCount = Annotated[
    int,
    PlainValidator(lambda value: _whole_number(value, 1, "how many of the newest to keep", "a number such as 16")),
]
TagPrefix = Annotated[StrictStr, _matching(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", "the start of a tag", "such as v")]
RepositoryRegion = Annotated[StrictStr, _one_of(repository_regions, "one of the six regions of image repositories")]
MirrorLocation = Annotated[StrictStr, _one_of(mirror_locations, "one of the multi-regions of mirrors, us and europe")]
Upstream = Annotated[StrictStr, AfterValidator(_upstream)]
StackReferenceName = Annotated[
    StrictStr,
    _matching(
        r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+",
        "the full name of another stack",
        "organization/tidepool/ci",
    ),
]

BuildMachine = Annotated[StrictStr, _one_of(lambda: BUILD_MACHINES, "a machine of Cloud Build's default pool")]
BuildTimeout = Annotated[int, PlainValidator(_build_timeout)]
DiskGb = Annotated[int, PlainValidator(_disk_gb)]
Severity = Annotated[StrictStr, _one_of(lambda: SEVERITIES, "a severity of a scan's findings")]
LogDays = Annotated[
    int,
    PlainValidator(lambda value: _whole_number(value, 1, "how many days build logs are kept", "a number such as 90")),
]
IsPrivate = Annotated[
    bool,
    PlainValidator(
        lambda value: value if isinstance(value, bool) else refuse("neither true nor false", "true or false")
    ),
]
InstallationId = Annotated[
    int,
    PlainValidator(
        lambda value: _whole_number(value, 1, "GitHub's number of an app's installation", "a number such as 1234567")
    ),
]
SecretVersion = Annotated[
    StrictStr,
    _matching(
        r"[A-Za-z0-9_-]{1,255}/versions/[1-9][0-9]*",
        "one version of a secret of this project, never its value and never latest",
        "NAME/versions/NUMBER",
    ),
]

AppId = Annotated[
    int,
    PlainValidator(lambda value: _whole_number(value, 1, "GitHub's number of an app", "a number such as 123456")),
]
RunnerGroup = Annotated[
    StrictStr, _matching(r"\S(.{0,62}\S)?", "the name of a runner group at GitHub", "such as tpu-member")
]
BootMinutes = Annotated[
    int, _between(1, _DAY, "minutes from READY to a runner online", "a number of minutes such as 20")
]
JobMinutes = Annotated[int, _between(1, 5 * _DAY, "minutes that a drain waits for a job", "such as 120")]
GraceMinutes = Annotated[int, _between(1, _DAY, "minutes before what is not declared is deleted", "such as 10")]
EveryMinutes = Annotated[int, PlainValidator(_every_minutes)]
Replacements = Annotated[int, _between(1, 1000, "replacements of one pool within an hour", "a number such as 6")]
Share = Annotated[float, PlainValidator(_share)]
ServiceRegion = Annotated[StrictStr, _one_of(service_regions, "a region that has both Cloud Run and Cloud Scheduler")]
ServiceImage = Annotated[
    StrictStr,
    _matching(
        r"[a-z0-9-]+-docker\.pkg\.dev/[a-z0-9-]+/[a-z0-9-]+(/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}",
        "one build of an image in Artifact Registry, by its digest",
        "LOCATION-docker.pkg.dev/PROJECT/REPOSITORY/NAME@sha256:DIGEST",
    ),
]
EmailAddress = Annotated[
    StrictStr, _matching(r"[^@\s]+@[^@\s]+\.[^@\s]+", "an e-mail address", "such as tpu-alerts@my-lab.org")
]

Day = Annotated[date, PlainValidator(_day)]
Moment = Annotated[date | datetime, PlainValidator(_moment)]
TimeZone = Annotated[
    StrictStr,
    _passing(calendar.is_time_zone, "a name of the time zone database", "such as Europe/Berlin, America/New_York, UTC"),
]
Dollars = Annotated[Decimal, PlainValidator(_dollars)]
RuleId = Annotated[StrictStr, _matching(r"[a-z0-9][a-z0-9-]*", "a rule's id", "such as no-secret-in-metadata")]
Subject = Annotated[
    StrictStr, _matching(r"\S(.*\S)?", "the subject of a finding", "a finding's subject, such as pools[tpu-ci]")
]

SecretName = Annotated[
    StrictStr,
    _matching(r"[A-Za-z0-9_-]{1,255}", "a secret's name: letters, digits, hyphens, underscores", "such as app-key"),
]
Reader = Annotated[
    StrictStr,
    _matching(
        r"broker|controller|builder|pool/[a-z][a-z0-9-]*",
        "one of the stack's own identities",
        "broker, controller, builder or pool/NAME",
    ),
]
BucketName = Annotated[
    StrictStr,
    _passing(names.is_bucket_name, f"a bucket's name: {names.BUCKET_RULE}", "such as my-lab-tidepool-ci"),
]
BucketLocation = Annotated[
    StrictStr, _matching(r"[a-z]+(-[a-z]+[0-9]+)?", "a region or multi-region", "such as us-central1 or us")
]
