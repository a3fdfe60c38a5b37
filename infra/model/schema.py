"""The typed shape of a stack file: frozen models that refuse unknown keys.

Owns which keys exist. Does not own what a single value may be (fields), rules that need several values (rules), nor
reading (stack). docs/stack-file.md is the same for the people who write these files.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictStr, create_model

from infra.model.catalogue import CapacityKind
from infra.model.fields import (
    BY_KEY,
    WRITTEN,
    Accelerator,
    Age,
    AppId,
    BootMinutes,
    BucketLocation,
    BucketName,
    BuildMachine,
    BuildTimeout,
    CapacityChoice,
    Chips,
    Count,
    Day,
    DiskGb,
    DiskPath,
    Dollars,
    EmailAddress,
    EnvironmentName,
    EveryMinutes,
    GitHubRepository,
    GraceMinutes,
    InstallationId,
    IsPrivate,
    JobMinutes,
    KeepCount,
    LabelKey,
    LabelValue,
    LogDays,
    MirrorLocation,
    Moment,
    Owner,
    ProjectId,
    Reader,
    Reason,
    Replacements,
    RepositoryId,
    RepositoryRegion,
    ResourceName,
    RoutingLabel,
    RuleId,
    RunnerGroup,
    RunnerLabel,
    RuntimeVersion,
    SecretName,
    SecretVersion,
    ServiceImage,
    ServiceRegion,
    Severity,
    Share,
    StackReferenceName,
    Subject,
    TagPrefix,
    TimeZone,
    TpuGeneration,
    Upstream,
    WorkflowFile,
    Zone,
)


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


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class RuntimeOverride(_Model):
    """A runtime version other than the catalogue's, and why."""

    version: RuntimeVersion
    reason: Reason


class DataDisk(_Model):
    """A persistent disk that every VM of a pool attaches."""

    source_disk: DiskPath
    mode: DiskMode = DiskMode.READ_ONLY

    @property
    def zone(self) -> str:
        return self.source_disk.split("/")[3]


class Fallback(_Model):
    """Where a slot's VM may be made while its own zone is out of capacity, and how it is obtained there."""

    zone: Zone
    capacity: CapacityChoice


class Pool(_Model):
    """TPU VMs that are alike, in one or more zones."""

    name: ResourceName
    accelerator: Accelerator
    zones: Annotated[Mapping[Zone, Count], BY_KEY]
    capacity: CapacityChoice
    trust: Trust
    label: RoutingLabel = Field(default_factory=lambda valid: valid["name"], validate_default=True)
    labels: tuple[RunnerLabel, ...] = ()
    serves: tuple[GitHubRepository, ...] = ()
    unlisted_zone: Annotated[Mapping[Zone, Reason], BY_KEY] = Field(default_factory=dict)
    runtime_override: Annotated[RuntimeOverride | None, WRITTEN] = None
    data_disks: tuple[DataDisk, ...] = ()
    fallback: tuple[Fallback, ...] = ()

    @property
    def reach(self) -> tuple[str, ...]:
        """Every zone in which the pool may have a VM: its own, then those of its fallbacks."""
        return tuple(dict.fromkeys((*self.zones, *(each.zone for each in self.fallback))))

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
    zone: Zone
    generation: TpuGeneration
    chips: Chips
    held_elsewhere: Chips = 0


class Quota(_Model):
    """The most chips that a project may have at once in one zone."""

    project: ProjectId
    zone: Zone
    generation: TpuGeneration
    chips: Chips
    kind: QuotaKind

    def covers(self, kind: CapacityKind) -> bool:
        """Whether slices of that kind draw on this quota; reserved ones draw on none."""
        if self.kind is QuotaKind.ON_DEMAND:
            return kind is CapacityKind.ON_DEMAND
        return kind in (CapacityKind.SPOT, CapacityKind.PREEMPTIBLE)


class Cleanup(_Model):
    """Which image versions of a repository go; what a keep rule names stays whatever its age."""

    delete_older_than: Age
    keep_newest: Annotated[KeepCount | None, WRITTEN] = None
    keep_tag_prefixes: tuple[TagPrefix, ...] = ()


class Repository(_Model):
    """A Docker repository, in every region of the registries."""

    name: ResourceName
    description: StrictStr = ""
    cleanup: Annotated[Cleanup | None, WRITTEN] = None


class Registries(_Model):
    """Docker repositories, each in each region."""

    regions: tuple[RepositoryRegion, ...]
    repositories: tuple[Repository, ...]


class MirrorCleanup(_Model):
    """What a mirror forgets. Never a keep rule: it would pin mutable tags of the upstream for ever."""

    delete_older_than: Age


class Mirror(_Model):
    """A pull-through copy of a public registry."""

    name: ResourceName
    upstream: Upstream
    locations: tuple[MirrorLocation, ...]
    cleanup: Annotated[MirrorCleanup | None, WRITTEN] = None


class SecretDecl(_Model):
    """A container in Secret Manager and who may read it; never a value."""

    name: SecretName
    readers: tuple[Reader, ...]


class RunMakers(_Model):
    """Workflows of one repository, by file, that make TPU VMs for single runs, all as one pool of the project.

    pool: of any stack; they act as an account that may give VMs this pool's account and no other.
    """

    repository: GitHubRepository
    repository_id: Annotated[RepositoryId | None, WRITTEN] = None
    pool: ResourceName
    workflows: tuple[WorkflowFile, ...]


class GitHub(_Model):
    """The repository whose workflows preview and apply this stack's project, and where they may apply.

    environments: GitHub environments that let their jobs act as the deploying account, on the main branch alone.
    run_makers: workflows, of other repositories too, that make VMs; on their main branch alone, and each repository
        and pool as an account of its own.
    """

    repository: GitHubRepository
    repository_id: Annotated[RepositoryId | None, WRITTEN] = None
    environments: tuple[EnvironmentName, ...]
    run_makers: tuple[RunMakers, ...] = ()


class SourceConnection(_Model):
    """How Cloud Build reaches one source repository: an installation of its GitHub app and the token to use it with.

    Without the two it is not connected yet, and hears of no push. token_secret is a version in Secret Manager.
    private: builds fetch it with a token to read that the connection gives them for an hour.
    """

    repository: GitHubRepository
    installation: Annotated[InstallationId | None, WRITTEN] = None
    token_secret: Annotated[SecretVersion | None, WRITTEN] = None
    private: IsPrivate = False

    @property
    def access(self) -> tuple[int, str] | None:
        """The installation and the version of the token's secret; None while the repository is not connected."""
        if self.installation is None or self.token_secret is None:
            return None
        return self.installation, self.token_secret


class Builds(_Model):
    """How this stack's images are built by Cloud Build; which images is said in images/images.yaml.

    region: where builds run and images are pushed first. timeout: seconds. severity: the scan's findings from which on
    an image is refused. keep_logs_days: after that its log goes.
    """

    region: RepositoryRegion
    machine_type: BuildMachine
    disk_gb: DiskGb
    timeout: BuildTimeout
    severity: Severity
    keep_logs_days: LogDays
    connections: tuple[SourceConnection, ...]


class Bucket(_Model):
    """Where the stack's fleet records live: the manifest and the start-up bundles."""

    name: BucketName
    location: BucketLocation


class App(_Model):
    """The GitHub App that registers runners. key_secret: a container of `secrets` that holds its private key."""

    id: AppId
    installation: InstallationId
    key_secret: SecretName


class Runners(_Model):
    """How runners are registered, and how long one may take.

    app: None while there is none; nobody registers runners then. groups: the organisation's runner group by trust, None
    where runners are a repository's own. boot_minutes: from READY to a runner online. job_minutes: what a drain waits.
    """

    app: Annotated[App | None, WRITTEN] = None
    groups: Annotated[Mapping[Trust, RunnerGroup] | None, BY_KEY, WRITTEN] = None
    boot_minutes: BootMinutes = 20
    job_minutes: JobMinutes = 120


class Controller(_Model):
    """How often and how boldly the fleet is kept, and where the broker and the controller run.

    replacements_per_hour: of one pool. grace_minutes: before what is not declared is deleted. share: of a pool that a
    rollout has in work at once. image: what both run, None while there is none; neither is declared then.
    """

    region: Annotated[ServiceRegion | None, WRITTEN] = None
    image: Annotated[ServiceImage | None, WRITTEN] = None
    every_minutes: EveryMinutes = 2
    replacements_per_hour: Replacements = 6
    grace_minutes: GraceMinutes = 10
    share: Share = 0.34
    notify: tuple[EmailAddress, ...] = ()


class FreezeOverride(_Model):
    """Why changes may pass during a freeze, and the last day on which they may."""

    until: Day
    reason: Reason


# `from` is a word of Python, so this field cannot be written as the others are.
_Window: Any = create_model("_Window", __base__=_Model, **{"from": (Moment, ...), "to": (Moment, ...)})


class Freeze(_Window):
    """A time in which the fleet is not changed; `to` is its last day or moment."""

    name: ResourceName
    time_zone: TimeZone
    override: Annotated[FreezeOverride | None, WRITTEN] = None

    @property
    def start(self) -> date | datetime:
        return getattr(self, "from")

    @property
    def end(self) -> date | datetime:
        return self.to


class Budget(_Model):
    """What the stack may cost by list prices; reserved chips are paid already and count for nothing here."""

    usd_per_month: Dollars


class RuleException(_Model):
    """One finding of one rule that is accepted, why, and the last day on which it is."""

    rule: RuleId
    subject: Subject
    reason: Reason
    expires: Day


class StackConfig(_Model):
    """Everything that one stack declares."""

    stack: ResourceName
    project: ProjectId
    owner: Owner
    bucket: Bucket
    vm_labels: Annotated[Mapping[LabelKey, LabelValue], BY_KEY] = Field(default_factory=dict)
    pools: tuple[Pool, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    quotas: tuple[Quota, ...] = ()
    registries: Annotated[Registries | None, WRITTEN] = None
    registry_stack: Annotated[StackReferenceName | None, WRITTEN] = None
    mirrors: tuple[Mirror, ...] = ()
    builds: Annotated[Builds | None, WRITTEN] = None
    secrets: tuple[SecretDecl, ...] = ()
    github: Annotated[GitHub | None, WRITTEN] = None
    runners: Annotated[Runners, WRITTEN] = Field(default_factory=Runners)
    controller: Annotated[Controller, WRITTEN] = Field(default_factory=Controller)
    freezes: tuple[Freeze, ...] = ()
    budget: Annotated[Budget | None, WRITTEN] = None
    exceptions: tuple[RuleException, ...] = ()

    def pool(self, name: str) -> Pool:
        """The pool of that name; KeyError where there is none."""
        for pool in self.pools:
            if pool.name == name:
                return pool
        raise KeyError(name)
