"""How a fleet stands, as frozen shapes and as JSON. What is not known is None and never a number.

Owns the JSON of `status` (docs/json.md). Does not own how it is derived (`derive`) nor how it looks (the commands).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from infra.fleet.controller.observed import Source
from infra.fleet.operator_requests import DrainRequest
from infra.fleet.status.queue import Queue, Unserved
from infra.model.cluster_state import ClusterNow
from infra.model.grants import StrangeGrant
from infra.model.json_shape import JsonShape, plain
from infra.model.unapplied import Unapplied


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetIssue:
    """One thing that is not as it should be. since: None where it is not known since when."""

    subject: str
    reason: str
    since: datetime | None = None


class FleetState(StrEnum):
    """A fleet in one word."""

    HEALTHY = "healthy"
    BOOTING = "booting"
    """Some VMs do not serve yet, and each still has time to."""
    NOT_DEPLOYED = "not-deployed"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class BootingVm:
    """A declared VM that does not serve yet. since: when it was created or asked for, None where nobody knows.

    until: when it counts as unhealthy if it does not serve by then; None while its create or an `up` is under way.
    """

    vm: str
    reason: str
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStatus(JsonShape):
    """One pool. ready: VMs that the TPU API calls READY. away: VMs at a fallback.

    ready, away, online and busy are None where a source that counts them did not answer. has_runners: whether its VMs
    are to have runners; those of a pool that serves no repository have none.
    """

    JSON = ("pool", "desired", "ready", "online", "busy", "away", "queue", "unhealthy", "booting", "drained")

    pool: str
    desired: int
    ready: int | None
    online: int | None
    busy: int | None
    away: int | None
    queue: Queue
    unhealthy: tuple[FleetIssue, ...] = ()
    booting: tuple[BootingVm, ...] = ()
    drained: tuple[str, ...] = ()
    has_runners: bool = True

    @property
    def known(self) -> bool:
        return self.ready is not None and self.online is not None

    @property
    def well(self) -> bool:
        """Whether every declared VM serves, or is kept from it by somebody's request."""
        serving = self.desired - len(self.drained)
        online = serving if not self.has_runners else self.online or 0
        return self.known and not self.unhealthy and (self.ready or 0) >= serving and online >= serving


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSweep(JsonShape):
    """What the controller's last sweep says of itself. failed: actions of it that failed, as sentences.

    done, deferred, changed, left: how many came to what `infra.fleet.controller.outcomes.Result` says.
    """

    at: datetime
    settled: bool
    fuse: bool = False
    freeze: str | None = None
    engine: str | None = None
    done: int = 0
    deferred: int = 0
    changed: int = 0
    left: int = 0
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """What the controller would do. at: when a wait ends; None for its next sweep, or for no known time if it waits."""

    subject: str
    what: str
    waits: bool = False
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutStatus(JsonShape):
    """One pool's rollout. stable, target: what is proved, and what is rolled out, in short.

    waiting, returning: VMs in work, forward and back. held: what keeps it from going on. wanted: what the pool shall
    run where that is another one. coming: what of it the next sweep begins. taken_back: whether
    something of it went back, by itself or by people; not_tried: what of that is on its way nowhere.
    """

    pool: str
    stage: str
    since: datetime
    stable: str
    target: str
    paused: bool
    vms: int
    proved: int
    waiting: tuple[str, ...] = ()
    returning: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    why: str = ""
    held: tuple[str, ...] = ()
    wanted: str | None = None
    not_tried: tuple[str, ...] = ()
    taken_back: bool = False
    coming: tuple[str, ...] = ()

    JSON = (
        *("pool", "stage", "since", "stable", "target", "paused", "vms", "proved", "waiting", "returning"),
        *("failed", "why", "held", "wanted", "not_tried", "taken_back"),
    )

    @property
    def under_way(self) -> bool:
        return self.stage in ("canary", "rolling")


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetStatus(JsonShape):
    """One stack. orphan_vms: of ours and not declared; orphan_runners: without a VM. findings: what people should know.

    strangers: what is found of VMs that are not ours; unserved: jobs that no pool takes. Both are told, and nothing is
    wrong with the fleet. unapplied: how the stack file differs from what is published, None where that is not known.
    grants: in policies of what the stack declares, that no stack does; unread: of what no policy could be read, which
    is nobody's fault: who looks may not be let to. lost: zones that somebody gave up, and who.
    cluster: None where none is declared. deployed: False where nothing of the stack is published.
    """

    stack: str
    at: datetime
    deployed: bool = True
    unapplied: Unapplied | None = None
    pools: tuple[PoolStatus, ...] = ()
    orphan_vms: tuple[FleetIssue, ...] = ()
    orphan_runners: tuple[FleetIssue, ...] = ()
    findings: tuple[FleetIssue, ...] = ()
    strangers: tuple[FleetIssue, ...] = ()
    unserved: tuple[Unserved, ...] = ()
    unknown: tuple[FleetIssue, ...] = ()
    grants: tuple[StrangeGrant, ...] = ()
    unread: tuple[str, ...] = ()
    drains: tuple[DrainRequest, ...] = ()
    lost: dict[str, str] = field(default_factory=dict, hash=False)
    rollouts: tuple[RolloutStatus, ...] = ()
    sweep: LastSweep | None = None
    next: tuple[Next, ...] = ()
    sources: dict[str, Source] = field(default_factory=dict, hash=False)
    problems: tuple[str, ...] = ()
    cluster: ClusterNow | None = None

    @property
    def desired(self) -> int:
        """Declared VMs."""
        return sum(pool.desired for pool in self.pools)

    @property
    def unhealthy(self) -> tuple[FleetIssue, ...]:
        """Declared VMs that do not serve, pool by pool."""
        return tuple(each for pool in self.pools for each in pool.unhealthy)

    @property
    def orphans(self) -> tuple[FleetIssue, ...]:
        """What is ours and has no owner: VMs, then runners."""
        return (*self.orphan_vms, *self.orphan_runners)

    @property
    def booting(self) -> tuple[BootingVm, ...]:
        """Declared VMs that do not serve yet, pool by pool."""
        return tuple(each for pool in self.pools for each in pool.booting)

    @property
    def state(self) -> FleetState:
        """What is wrong counts before what is not known, and that before what is on its way."""
        faults = self.orphans or self.findings or self.grants or self.unhealthy
        faults = faults or (self.deployed and (self.unapplied or (self.cluster and self.cluster.troubles)))
        if faults or any(pool.known and not pool.well and not pool.booting for pool in self.pools):
            return FleetState.UNHEALTHY
        if not self.deployed:
            return FleetState.NOT_DEPLOYED
        known = not self.problems and not self.unknown and all(pool.known for pool in self.pools)
        if not known or (self.cluster is not None and not self.cluster.known):
            return FleetState.UNKNOWN
        return FleetState.BOOTING if self.booting else FleetState.HEALTHY

    @property
    def healthy(self) -> bool | None:
        """Whether the fleet is as the stack file says, serves, and nothing of ours is left over; None where that is not
        known yet."""
        return {FleetState.HEALTHY: True, FleetState.UNHEALTHY: False}.get(self.state)

    def to_json(self) -> dict[str, Any]:
        return plain(
            {
                "stack": self.stack,
                "at": self.at,
                "state": self.state,
                "healthy": self.healthy,
                "problems": self.problems,
                "unapplied": self.unapplied,
                "pools": self.pools,
                "cluster": self.cluster,
                "orphans": {"vms": self.orphan_vms, "runners": self.orphan_runners},
                "findings": self.findings,
                "strangers": self.strangers,
                "unserved": self.unserved,
                "grants": {"strange": self.grants, "unread": self.unread},
                "sources": dict(sorted(self.sources.items())),
                "drains": self.drains,
                "lost": [{"zone": zone, "by": by} for zone, by in sorted(self.lost.items())],
                "rollouts": self.rollouts,
                "sweep": self.sweep,
                "next": self.next,
            }
        )
