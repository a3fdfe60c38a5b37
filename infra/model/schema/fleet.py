"""The sections that say what stands: pools of TPU VMs, and the reservations and quotas that they draw on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from infra.model.calendar import length_of
from infra.model.catalogue import CapacityKind
from infra.model.fields.common import BY_KEY, WRITTEN, Day, ProjectId, Reason, ResourceName, TimeZone, some
from infra.model.fields.fleet import (
    Accelerator,
    CapacityChoice,
    Chips,
    Count,
    DiskPath,
    GitHubRepository,
    RoutingLabel,
    RunnerLabel,
    RuntimeVersion,
    TpuGeneration,
    WindowLength,
    WindowStart,
    Zone,
)
from infra.model.schema.base import Section


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
    """The two quotas of a generation; spot, preemptible and flex-start slices draw on `preemptible`."""

    ON_DEMAND = "on-demand"
    PREEMPTIBLE = "preemptible"


class RuntimeOverride(Section):
    """A runtime version other than the catalogue's, and why."""

    version: RuntimeVersion
    reason: Reason


class DataDisk(Section):
    """A persistent disk that every VM of a pool attaches."""

    source_disk: DiskPath
    mode: DiskMode = DiskMode.READ_ONLY

    @property
    def zone(self) -> str:
        return self.source_disk.split("/")[3]


class Fallback(Section):
    """Where a slot's VM may be made while its own zone is out of capacity, and how it is obtained there."""

    zone: Zone
    capacity: CapacityChoice


class Window(Section):
    """Hours that come round, in which a pool has more VMs than its `zones` say.

    start: when it opens, on the wall clock of its time zone. adds: VMs more, by zone; windows that are open together
    add up. days_off: days in that time zone on which it does not open. until: the last day on which it does.
    """

    name: ResourceName
    start: WindowStart
    duration: WindowLength
    time_zone: TimeZone
    adds: Annotated[Mapping[Zone, Count], some("the window adds nothing", "zone: VMs"), BY_KEY]
    days_off: tuple[Day, ...] = ()
    until: Annotated[Day | None, WRITTEN] = None

    @property
    def length(self) -> timedelta:
        return length_of(self.duration)


class Pool(Section):
    """TPU VMs that are alike, in one or more zones.

    name: also the start of its VMs' names. zones: count of slices by zone. capacity: how slices are obtained. label:
    routing label, unique to the pool, its name where not said. labels: further runner labels, which pools may share.
    serves: GitHub repositories whose jobs it takes. unlisted_zone: by zone, why it is used although Google's list does
    not name it. runtime_override: where the catalogue's runtime is not wanted. fallback: other places, tried in turn
    where a zone has no capacity.
    """

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
    windows: tuple[Window, ...] = ()

    @property
    def reach(self) -> tuple[str, ...]:
        """Every zone in which the pool may have a VM: its own, then those of its fallbacks."""
        return tuple(dict.fromkeys((*self.zones, *(each.zone for each in self.fallback))))

    @property
    def slices(self) -> int:
        """VMs of the pool in all its zones, outside its windows."""
        return sum(self.zones.values())

    @property
    def most(self) -> int:
        """VMs of the pool in all its zones were all its windows open together."""
        return self.slices + sum(self.added.values())

    @property
    def added(self) -> Mapping[str, int]:
        """By zone, the VMs of all its windows together."""
        found: dict[str, int] = {}
        for window in self.windows:
            for zone, count in window.adds.items():
                found[zone] = found.get(zone, 0) + count
        return found

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


class Reservation(Section):
    """Chips that Google holds for one project, zone and generation. held_elsewhere: chips of it that others use."""

    name: ResourceName
    project: ProjectId
    zone: Zone
    generation: TpuGeneration
    chips: Chips
    held_elsewhere: Chips = 0


class Quota(Section):
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
        return kind in (CapacityKind.SPOT, CapacityKind.PREEMPTIBLE, CapacityKind.FLEX_START)
