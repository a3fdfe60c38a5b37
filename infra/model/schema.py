"""The typed shape of a stack file: frozen models whose fields are right each by itself.

Owns which keys exist and what one value may be. Does not own rules that need several values (rules), nor reading
(stack). docs/stack-file.md is the same for the people who write these files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, StrictStr

from infra.model import names
from infra.model.capacity import Capacity, OnDemand, Preemptible, Reserved, Spot
from infra.model.catalogue import AcceleratorType, CapacityKind, Generation, UnknownNameError, nearest_names, zones
from infra.model.network import mirror_locations, repository_regions
from infra.model.refusals import refuse

MAX_COUNT = 10_000

V = TypeVar("V")


class Trust(StrEnum):
    """What may run on a pool. Each level decides addresses, accounts and secrets as well."""

    FORK = "fork"
    """Any pull request: no secret, no external IP, no write access, an account of its own."""
    MEMBER = "member"
    """Pushes and pull requests from branches of the served repositories."""
    PROTECTED = "protected"
    """The main branch and releases only."""


class DiskMode(StrEnum):
    READ_ONLY = "read-only"
    READ_WRITE = "read-write"


class QuotaKind(StrEnum):
    """The two quotas of a generation; spot and preemptible slices both draw on `preemptible`."""

    ON_DEMAND = "on-demand"
    PREEMPTIBLE = "preemptible"


def _matching(pattern: str, rule: str, fix: str) -> AfterValidator:
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        return text if compiled.fullmatch(text) else refuse(rule, fix)

    return AfterValidator(check)


def _passing(test: Callable[[str], bool], rule: str, fix: str) -> AfterValidator:
    return AfterValidator(lambda text: text if test(text) else refuse(rule, fix))


def _no_null(value: object) -> object:
    return value if value is not None else refuse("a key that is written has a value", "a value, or remove the key")


def _sorted_map(value: Mapping[str, V]) -> Mapping[str, V]:
    return dict(sorted(value.items()))


def _accelerator(value: object) -> AcceleratorType:
    if not isinstance(value, str):
        refuse("an accelerator type is text", "such as v5litepod-4")
    try:
        return AcceleratorType.parse(value)
    except UnknownNameError as error:
        nearest = ", ".join(error.nearest)
        refuse("an accelerator type of the catalogue", f"one of {nearest}" if nearest else "such as v5litepod-4")


def _generation(value: object) -> Generation:
    try:
        return Generation.parse(str(value))
    except UnknownNameError:
        refuse("a TPU generation of the catalogue", "one of v4, v5e, v5p, v6e, tpu7x")


def _zone(text: str) -> str:
    if text in zones():
        return text
    nearest = ", ".join(nearest_names(text, zones()))
    return refuse("a zone of the catalogue", f"one of {nearest}" if nearest else "such as us-west4-a")


def _count(value: object) -> int:
    rule = f"a count of slices is a whole number from 0 to {MAX_COUNT:,}"
    if isinstance(value, bool):
        refuse(rule, "a number such as 2, not true or false")
    if isinstance(value, str):
        refuse(rule, "the number without quotes or other characters")
    if not isinstance(value, int):
        refuse(rule, "a whole number such as 2")
    if not 0 <= value <= MAX_COUNT:
        refuse(rule, f"0 to {MAX_COUNT}")
    return value


def _chips(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        refuse("a count of chips is a whole number from 0", "a number such as 64")
    return value


def _capacity(value: object) -> Capacity:
    fix = "on-demand, spot, preemptible, or {reserved: NAME}"
    plain = {"on-demand": OnDemand(), "spot": Spot(), "preemptible": Preemptible()}
    if isinstance(value, str):
        return plain[value] if value in plain else refuse("a kind of capacity", fix)
    if isinstance(value, dict | list) and "reserved" in value and len(value) > 1:
        refuse("a pool is reserved or spot or preemptible or on-demand, never two of them", fix)
    if isinstance(value, dict) and list(value) == ["reserved"]:
        reservation = value["reserved"]
        if isinstance(reservation, str) and names.is_resource_name(reservation):
            return Reserved(reservation)
        refuse(f"a reservation's name is {names.RESOURCE_NAME_RULE}", "{reserved: NAME}")
    return refuse("exactly one kind of capacity", fix)


def _https_or_docker_hub(text: str) -> str:
    if text == "docker-hub" or re.fullmatch(r"https://[a-z0-9.-]+(/[A-Za-z0-9._/-]*)?", text):
        return text
    return refuse("an upstream is docker-hub or an https URL", "docker-hub, or such as https://ghcr.io")


def _one_of(valid: Callable[[], tuple[str, ...]], rule: str) -> AfterValidator:
    return AfterValidator(lambda text: text if text in valid() else refuse(rule, f"one of {', '.join(valid())}"))


_GITHUB_OWN_LABELS = frozenset(("self-hosted", "linux", "windows", "macos", "x64", "arm64", "arm", "gpu"))


def _routing_label(text: str) -> str:
    if text.lower() in _GITHUB_OWN_LABELS:
        refuse("a routing label is unique to its pool; GitHub gives this one to runners by itself", "the pool's name")
    return text


ResourceName = Annotated[
    StrictStr, _passing(names.is_resource_name, f"a name is {names.RESOURCE_NAME_RULE}", "such as tpu-ci")
]
ProjectId = Annotated[
    StrictStr,
    _passing(names.is_account_id, "a project id is 6 to 30 lower-case letters, digits and hyphens", "such as my-lab"),
]
LabelKey = Annotated[
    StrictStr,
    _passing(names.is_label_key, f"a label's key is {names.LABEL_KEY_RULE}", "such as team"),
    _passing(lambda key: not key.startswith("tidepool-"), "labels tidepool-* are the program's own", "another key"),
]
LabelValue = Annotated[
    StrictStr,
    _passing(names.is_label_value, f"a label's value is {names.LABEL_VALUE_RULE}", "such as my-team"),
]
RunnerLabel = Annotated[
    StrictStr,
    _matching(
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}",
        "one runner label: up to 63 letters, digits, dots, hyphens and underscores",
        "one label an item, never a whole runs-on",
    ),
]
GitHubRepository = Annotated[
    StrictStr, _matching(r"[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}", "a GitHub repository", "owner/name")
]
Reason = Annotated[StrictStr, _matching(r"(?s).*\S.*", "a reason says something", "why this is so, in a sentence")]
ZoneName = Annotated[StrictStr, AfterValidator(_zone)]
Count = Annotated[int, PlainValidator(_count)]
Chips = Annotated[int, PlainValidator(_chips)]
Duration = Annotated[StrictStr, _matching(r"[1-9][0-9]*[smhd]", "a length of time in s, m, h or d", "such as 30d")]
TagPrefix = Annotated[StrictStr, _matching(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", "the start of a tag", "such as v")]


StackReferenceName = Annotated[
    StrictStr,
    _matching(
        r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+",
        "another stack by its full name",
        "organization/tidepool/ci",
    ),
]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class RuntimeOverride(_Model):
    """A runtime version other than the catalogue's, and why."""

    version: Annotated[StrictStr, _matching(r"[a-z0-9][a-z0-9._-]*", "a runtime version", "such as v2-alpha-tpuv6e")]
    reason: Reason


class DataDisk(_Model):
    """A persistent disk that every VM of a pool attaches."""

    source_disk: Annotated[
        StrictStr,
        _matching(
            r"projects/[a-z0-9-]+/zones/[a-z0-9-]+/disks/[a-z0-9-]+",
            "a disk's full path",
            "projects/PROJECT/zones/ZONE/disks/NAME",
        ),
    ]
    mode: DiskMode = DiskMode.READ_ONLY

    @property
    def zone(self) -> str:
        return self.source_disk.split("/")[3]


class Pool(_Model):
    """TPU VMs that are alike, in one or more zones."""

    name: ResourceName
    accelerator: Annotated[AcceleratorType, PlainValidator(_accelerator)]
    zones: Annotated[Mapping[ZoneName, Count], AfterValidator(_sorted_map)]
    capacity: Annotated[Capacity, PlainValidator(_capacity)]
    trust: Trust
    label: Annotated[RunnerLabel, AfterValidator(_routing_label)] = Field(default_factory=lambda valid: valid["name"])
    labels: tuple[RunnerLabel, ...] = ()
    serves: tuple[GitHubRepository, ...] = ()
    unlisted_zone: Annotated[Mapping[ZoneName, Reason], AfterValidator(_sorted_map)] = Field(default_factory=dict)
    runtime_override: Annotated[RuntimeOverride | None, BeforeValidator(_no_null)] = None
    data_disks: tuple[DataDisk, ...] = ()

    @property
    def slices(self) -> int:
        """VMs of the pool in all its zones."""
        return sum(self.zones.values())

    @property
    def runtime_version(self) -> str:
        return self.runtime_override.version if self.runtime_override else self.accelerator.runtime

    @property
    def runner_labels(self) -> tuple[str, ...]:
        """Every label that a runner of this pool registers with, the routing label last."""
        return (*self.labels, self.label)

    @property
    def external_ip(self) -> bool:
        """Whether the VMs have an address of their own; what forks bring in leaves by NAT only."""
        return self.trust is not Trust.FORK


class Reservation(_Model):
    """Chips that Google holds for one project, zone and generation."""

    name: ResourceName
    project: ProjectId
    zone: ZoneName
    generation: Annotated[Generation, PlainValidator(_generation)]
    chips: Chips
    held_elsewhere: Chips = 0


class Quota(_Model):
    """The most chips that a project may have at once in one zone."""

    project: ProjectId
    zone: ZoneName
    generation: Annotated[Generation, PlainValidator(_generation)]
    chips: Chips
    kind: QuotaKind

    def covers(self, kind: CapacityKind) -> bool:
        """Whether slices of that kind draw on this quota; reserved ones draw on none."""
        drawn = (CapacityKind.ON_DEMAND,) if self.kind is QuotaKind.ON_DEMAND else _REVOCABLE
        return kind in drawn


_REVOCABLE = (CapacityKind.SPOT, CapacityKind.PREEMPTIBLE)


def _keep_newest(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        refuse("how many of the newest versions to keep: a whole number from 1", "a number such as 16")
    return value


class Cleanup(_Model):
    """Which image versions of a repository go; what a keep rule names stays whatever its age."""

    delete_older_than: Duration
    keep_newest: Annotated[int | None, PlainValidator(_keep_newest)] = None
    keep_tag_prefixes: tuple[TagPrefix, ...] = ()


class Repository(_Model):
    """A Docker repository, in every region of the registries."""

    name: ResourceName
    description: StrictStr = ""
    cleanup: Annotated[Cleanup | None, BeforeValidator(_no_null)] = None


class Registries(_Model):
    """Docker repositories, each in each region."""

    regions: tuple[
        Annotated[StrictStr, _one_of(repository_regions, "image repositories are in the six regions of the fleet")],
        ...,
    ]
    repositories: tuple[Repository, ...]


class MirrorCleanup(_Model):
    """What a mirror forgets. Never a keep rule: it would pin mutable tags of the upstream for ever."""

    delete_older_than: Duration


def _mirror_cleanup(value: Any) -> Any:
    keeps = sorted(key for key in value if key.startswith("keep_")) if isinstance(value, dict) else []
    if keeps:
        refuse(f"a mirror has no {keeps[0]}: it would pin the upstream's mutable tags for ever", "delete_older_than")
    return value


class Mirror(_Model):
    """A pull-through copy of a public registry."""

    name: ResourceName
    upstream: Annotated[StrictStr, AfterValidator(_https_or_docker_hub)]
    locations: tuple[
        Annotated[StrictStr, _one_of(mirror_locations, "mirrors are in the multi-regions us and europe")], ...
    ]
    cleanup: Annotated[MirrorCleanup | None, BeforeValidator(_mirror_cleanup), BeforeValidator(_no_null)] = None


Reader = Annotated[
    StrictStr,
    _matching(
        r"broker|controller|builder|pool/[a-z][a-z0-9-]*",
        "a reader is one of the stack's own identities",
        "broker, controller, builder or pool/NAME",
    ),
]


class SecretDecl(_Model):
    """A container in Secret Manager and who may read it; never a value."""

    name: Annotated[
        StrictStr,
        _matching(r"[A-Za-z0-9_-]{1,255}", "a secret's name: letters, digits, hyphens, underscores", "such as app-key"),
    ]
    readers: tuple[Reader, ...]


class Bucket(_Model):
    """Where the stack's fleet records live: the manifest and the start-up bundles."""

    name: Annotated[
        StrictStr,
        _passing(names.is_bucket_name, f"a bucket's name is {names.BUCKET_RULE}", "such as my-lab-tidepool-ci"),
    ]
    location: Annotated[
        StrictStr, _matching(r"[a-z]+(-[a-z]+[0-9]+)?", "a region or multi-region", "such as us-central1 or us")
    ]


class StackConfig(_Model):
    """Everything that one stack declares."""

    stack: ResourceName
    project: ProjectId
    owner: LabelValue
    bucket: Bucket
    vm_labels: Annotated[Mapping[LabelKey, LabelValue], AfterValidator(_sorted_map)] = Field(default_factory=dict)
    pools: tuple[Pool, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    quotas: tuple[Quota, ...] = ()
    registries: Annotated[Registries | None, BeforeValidator(_no_null)] = None
    registry_stack: Annotated[StackReferenceName | None, BeforeValidator(_no_null)] = None
    mirrors: tuple[Mirror, ...] = ()
    secrets: tuple[SecretDecl, ...] = ()

    def pool(self, name: str) -> Pool:
        """The pool of that name; KeyError where there is none."""
        for pool in self.pools:
            if pool.name == name:
                return pool
        raise KeyError(name)
