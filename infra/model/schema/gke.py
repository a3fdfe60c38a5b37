"""The sections of a GKE cluster: the cluster with its system and CPU pools, and the TPU slices in it."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Annotated

from pydantic import Field, PlainValidator

from infra.model.catalogue import region_of
from infra.model.fields.common import WRITTEN, Reason, ResourceName, Written, some
from infra.model.fields.fleet import Accelerator, Count, Zone
from infra.model.fields.gke import (
    ClusterName,
    ExclusionScope,
    Flag,
    GkeVersion,
    NodeCount,
    NodeMachine,
    NodeZone,
    Range,
    Region,
    ReleaseChannel,
    SliceCapacityChoice,
    SystemNodes,
    WallClock,
    Weekday,
    WindowHours,
)
from infra.model.refusals import refuse
from infra.model.schema.base import Section, Span


def _no_windows(_: object) -> None:
    refuse("slices of a cluster have no windows: GKE makes them when pods ask, and takes them away after", _BUFFER)


_BUFFER = "buffer: 0 and a maximum, and jobs at the hours that a window would have"


class SystemPool(Section):
    """The nodes of what runs the cluster itself, in every zone of the cluster. nodes: in each of them."""

    machine_type: NodeMachine
    nodes: SystemNodes = 1


class CpuPool(Section):
    """Nodes without chips, for batch work. minimum, maximum: nodes in each zone; the cluster scales between them."""

    name: ClusterName
    machine_type: NodeMachine
    zones: Annotated[tuple[NodeZone, ...], some("no zone is named", "such as us-central2-b")]
    minimum: NodeCount = 0
    maximum: NodeCount
    spot: Flag = False


class ClusterRanges(Section):
    """Addresses of the cluster's own network: of its nodes, its pods and its services."""

    nodes: Range = IPv4Network("10.0.0.0/16")
    pods: Range = IPv4Network("10.64.0.0/11")
    services: Range = IPv4Network("10.32.0.0/20")


class Exclusion(Span):
    """A time in which GKE does not maintain, and what of its work it leaves out; both ends in UTC."""

    name: ResourceName
    scope: ExclusionScope = "no-minor-or-node-upgrades"


class Maintenance(Section):
    """When GKE may maintain the cluster: on those days, from `start` in UTC, for so many hours."""

    days: Annotated[tuple[Weekday, ...], some("no day is named", "one or more of MO to SU")]
    start: WallClock
    hours: WindowHours
    exclusions: tuple[Exclusion, ...] = ()


class Cluster(Section):
    """A regional GKE Standard cluster. zones: where its system pool is; its other pools say their own.

    minimum_version: the control plane is at least that. deletion_protection: Google deletes it only once this is false.
    """

    name: ClusterName
    region: Region
    zones: Annotated[tuple[NodeZone, ...], some("no zone is named", "such as us-central2-b")]
    release_channel: ReleaseChannel = "regular"
    minimum_version: Annotated[GkeVersion | None, WRITTEN] = None
    maintenance: Maintenance
    system: SystemPool
    cpu_pools: tuple[CpuPool, ...] = ()
    ranges: ClusterRanges = Field(default_factory=ClusterRanges)
    deletion_protection: Flag = True


class Slices(Section):
    """Slices that are alike: one accelerator type in one zone, obtained in one way.

    number: that many, always standing. buffer, maximum: that many always, more when pods ask, never over the maximum.
    unlisted_zone: why it is used although Google's list does not name it.
    """

    accelerator: Accelerator
    zone: Zone
    capacity: SliceCapacityChoice
    number: Annotated[Count | None, WRITTEN] = None
    buffer: Annotated[Count | None, WRITTEN] = None
    maximum: Annotated[Count | None, WRITTEN] = None
    unlisted_zone: Annotated[Reason | None, WRITTEN] = None
    windows: Annotated[None, PlainValidator(_no_windows), Written(lambda: {"not": {}})] = None

    @property
    def name(self) -> str:
        """What people call them, beside their zone: `v4-32-spot`."""
        return f"{self.accelerator}-{self.capacity.kind.value}"

    @property
    def region(self) -> str:
        return region_of(self.zone)

    @property
    def least(self) -> int:
        """Slices that always stand."""
        return (self.number if self.number is not None else self.buffer) or 0

    @property
    def slices(self) -> int:
        """The most slices, which limits and money count."""
        return (self.number if self.number is not None else self.maximum) or 0

    @property
    def zones(self) -> Mapping[str, int]:
        """The most slices by zone, as pools of TPU VMs say theirs."""
        return {self.zone: self.slices}
