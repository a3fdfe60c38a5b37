"""What one sweep saw, as frozen shapes. Asking for it is `infra.fleet.controller.observe`.

A source that did not answer in time, or answered in part, is unknown. Nothing is concluded from what it left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from typing import Final

from infra.fleet.controller.keys import NodeKey, OrphanKey, RunnerKey, SourceKind, SourceName
from infra.fleet.operator_requests import OperatorRequests
from infra.fleet.reports import ReportSeen
from infra.fleet.versions import AssignedVersion, PoolVersion
from infra.model import runner_names
from infra.model.catalogue import CapacityKind


@dataclass(frozen=True, slots=True)
class Source:
    """Whether a source is known, and where not, why."""

    known: bool
    reason: str = ""


KNOWN: Final = Source(known=True)


def unknown(reason: str) -> Source:
    return Source(known=False, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen:
    """A TPU node as its API lists it. created: the API's own text, which changes when a node is made again.

    reserved_name: of the reservation, where the API says it.
    """

    name: str
    zone: str
    state: str
    accelerator: str
    capacity: CapacityKind
    health: str = ""
    health_text: str = ""
    created: str = ""
    reserved_name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> NodeKey:
        return NodeKey(self.zone, self.name)

    @property
    def orphan_key(self) -> OrphanKey:
        """What it is remembered by where it has no owner."""
        return OrphanKey(self.key, self.created)

    @property
    def made(self) -> datetime | None:
        """When it was made, None where its API says no time."""
        try:
            moment = datetime.fromisoformat(self.created)
        except ValueError:
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSeen:
    """A runner as GitHub lists it. scope: what it is registered with, `orgs/NAME` or `repos/OWNER/NAME`.

    left: whether nothing that is declared is registered there any more.
    """

    id: int
    name: str
    scope: str
    online: bool
    busy: bool
    left: bool = False

    @property
    def key(self) -> RunnerKey:
        return RunnerKey(self.scope, self.id)

    @property
    def vm(self) -> str | None:
        """The VM that its name is made of, None where it is not made by our rule."""
        return runner_names.vm_of(self.name)

    @property
    def serves(self) -> bool:
        """Whether it takes jobs that are declared, or runs any."""
        return self.online and (self.busy or not self.left)


class Trouble(StrEnum):
    """Why a create did not come to a VM."""

    STOCKOUT = "stockout"
    """The zone has no capacity of that kind."""
    QUOTA = "quota"
    """The project may have no more."""
    OUTAGE = "outage"
    """The service did not work."""
    UNSERVED = "unserved"
    """It was taken, and in its time no VM of it came to serve."""
    REFUSED = "refused"
    """The service does not take this request, and will not the next time either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateEnded:
    """A create operation that is over. trouble: None where it made the node."""

    slot: str
    zone: str
    trouble: Trouble | None
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Everything that one sweep saw.

    zones: a source for every zone that was asked. ended: creates of ours that are over since they were last asked for.
    operations: a source for every zone whose operations were asked for.
    github: of every way to it; unknown where no scope answered. scopes: of each that is declared. left: of each that
    was declared once.
    requests: the last that can be read. unreadable: by name, records that cannot be read or that were set aside, and
    what ends that. registered: where the broker ever registered runners, asked for where memory forgot it; None where
    nobody says.
    told: by VM what its orders say, of some VMs of each pool of which no rollout is remembered.
    targets: what each pool shall run; None where that could not be read. engine: which command is at work on this
    stack, empty where none is, as in every sweep: a sweep holds the lease that commands hold. declared: when the
    manifest was written by an apply that may still be at work; None where an `up` has ended with that manifest. epoch:
    another one after each manifest and each command that may have made VMs.
    """

    zones: Mapping[str, Source]
    nodes: tuple[NodeSeen, ...] = ()
    github: Source = KNOWN
    scopes: Mapping[str, Source] = field(default_factory=dict, hash=False)
    left: Mapping[str, Source] = field(default_factory=dict, hash=False)
    runners: tuple[RunnerSeen, ...] = ()
    reports: Mapping[str, ReportSeen] = field(default_factory=dict, hash=False)
    reports_source: Source = KNOWN
    told: Mapping[str, AssignedVersion] = field(default_factory=dict, hash=False)
    told_source: Source = KNOWN
    ended: tuple[CreateEnded, ...] = ()
    operations: Mapping[str, Source] = field(default_factory=dict)
    targets: Mapping[str, PoolVersion] | None = None
    targets_source: Source = KNOWN
    requests: OperatorRequests = field(default_factory=OperatorRequests)
    requests_source: Source = KNOWN
    unreadable: Mapping[str, str] = field(default_factory=dict)
    registered: frozenset[str] | None = None
    engine: str = ""
    declared: datetime | None = None
    epoch: str = ""

    @property
    def sources(self) -> Mapping[SourceName, Source]:
        return (
            {SourceName(SourceKind.OPERATIONS, zone): source for zone, source in self.operations.items()}
            | {SourceName(SourceKind.ZONE, zone): source for zone, source in self.zones.items()}
            | {
                SourceName(SourceKind.GITHUB): self.github,
                SourceName(SourceKind.REPORTS): self.reports_source,
                SourceName(SourceKind.REQUESTS): self.requests_source,
                SourceName(SourceKind.POINTER): self.targets_source,
            }
            | {SourceName(SourceKind.GITHUB, scope): source for scope, source in self.left.items()}
            | {SourceName(SourceKind.GITHUB, scope): each for scope, each in self.scopes.items() if self.github.known}
            | ({} if self.told_source.known else {SourceName(SourceKind.ORDERS): self.told_source})
        )

    def scope(self, scope: str) -> Source:
        """The source of runners that are registered with a scope."""
        of_its_own = self.scopes.get(scope) or self.left.get(scope) or KNOWN
        return of_its_own if self.github.known else self.github

    def hears(self, scopes: Iterable[str]) -> bool:
        """Whether every runner that is registered with one of these scopes is known."""
        return self.github.known and all(self.scope(scope).known for scope in scopes)

    @property
    def hears_runners(self) -> bool:
        """Whether every runner of ours is known, wherever it may be registered."""
        return self.hears((*self.scopes, *self.left))

    def zone_known(self, zone: str) -> bool:
        return zone in self.zones and self.zones[zone].known

    def nodes_of(self, vm: str) -> tuple[NodeSeen, ...]:
        """All of that name, in whichever zones."""
        return self._by_name.get(vm, ())

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[NodeSeen, ...]]:
        found: dict[str, tuple[NodeSeen, ...]] = {}
        for node in self.nodes:
            found[node.name] = (*found.get(node.name, ()), node)
        return found

    def runners_of(self, vm: str) -> tuple[RunnerSeen, ...]:
        return self._by_vm.get(vm, ())

    @cached_property
    def _by_vm(self) -> Mapping[str, tuple[RunnerSeen, ...]]:
        found: dict[str, tuple[RunnerSeen, ...]] = {}
        for runner in self.runners:
            if runner.vm is not None:
                found[runner.vm] = (*found.get(runner.vm, ()), runner)
        return found
