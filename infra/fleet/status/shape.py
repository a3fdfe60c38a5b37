"""How a fleet stands, as frozen shapes and as JSON. What is not known is None and never a number.

Owns the JSON of `status` (docs/json.md). Does not own how it is derived (`derive`) nor how it looks (the commands).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from typing import Any

from infra.fleet.controller.observed import Source
from infra.fleet.status.queue import Queue, Unserved
from infra.fleet.wishes import DrainWish
from infra.model.grants import StrangeGrant
from infra.model.unapplied import Unapplied


def moment(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def as_json(value: Any, *, without: Collection[str] = ()) -> Any:
    """A frozen shape, or a part of one, as JSON has it. without: fields that it does not tell."""
    if is_dataclass(value):
        return {each.name: as_json(getattr(value, each.name)) for each in fields(value) if each.name not in without}
    if isinstance(value, tuple):
        return [as_json(each) for each in value]
    return moment(value) if isinstance(value, datetime) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetIssue:
    """One thing that is not as it should be. since: None where it is not known since when."""

    subject: str
    reason: str
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStatus:
    """One pool. ready: VMs that the TPU API calls READY. away: VMs at a fallback.

    ready, away, online and busy are None where a source that counts them did not answer. has_runners: whether its VMs
    are to have runners; those of a pool that serves no repository have none.
    """

    pool: str
    desired: int
    ready: int | None
    online: int | None
    busy: int | None
    away: int | None
    queue: Queue
    unhealthy: tuple[FleetIssue, ...] = ()
    drained: tuple[str, ...] = ()
    has_runners: bool = True

    @property
    def known(self) -> bool:
        return self.ready is not None and self.online is not None

    @property
    def well(self) -> bool:
        """Whether every declared VM serves, or is kept from it by somebody's wish."""
        serving = self.desired - len(self.drained)
        online = serving if not self.has_runners else self.online or 0
        return self.known and not self.unhealthy and (self.ready or 0) >= serving and online >= serving

    def to_json(self) -> dict[str, Any]:
        return as_json(self, without=["has_runners"])


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSweep:
    """What the controller's last sweep says of itself. failed: actions of it that failed, as sentences.

    done, deferred, changed, left: how many came to what `infra.fleet.controller.outcomes.Result` says.
    """

    at: datetime
    settled: bool
    fuse: bool = False
    freeze: str = ""
    engine: str = ""
    done: int = 0
    deferred: int = 0
    changed: int = 0
    left: int = 0
    failed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return as_json(self) | {"freeze": self.freeze or None, "engine": self.engine or None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """What the controller would do. at: when a wait ends; None for its next sweep, or for no known time if it waits."""

    subject: str
    what: str
    waits: bool = False
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutStatus:
    """One pool's rollout. stable, target: what is proved, and what is rolled out, in short.

    waiting, returning: VMs in work, forward and back. held: what keeps it from going on. wanted: what the pool shall
    run where that is another one; empty where it is not. coming: what of it the next sweep begins. taken_back: whether
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
    wanted: str = ""
    coming: tuple[str, ...] = ()
    not_tried: tuple[str, ...] = ()
    taken_back: bool = False

    @property
    def under_way(self) -> bool:
        return self.stage in ("canary", "rolling")

    def to_json(self) -> dict[str, Any]:
        return as_json(self, without=["coming"]) | {"wanted": self.wanted or None}


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetStatus:
    """One stack. orphan_vms: of ours and not declared; orphan_runners: without a VM. findings: what people should know.

    strangers: what is found of VMs that are not ours; unserved: jobs that no pool takes. Both are told, and nothing is
    wrong with the fleet. unapplied: how the stack file differs from what is published, None where that is not known.
    grants: in policies of what the stack declares, that no stack does; unread: of what no policy could be read, which
    is nobody's fault: who looks may not be let to. lost: zones that somebody gave up, and who.
    """

    stack: str
    at: datetime
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
    drains: tuple[DrainWish, ...] = ()
    lost: dict[str, str] = field(default_factory=dict, hash=False)
    rollouts: tuple[RolloutStatus, ...] = ()
    sweep: LastSweep | None = None
    next: tuple[Next, ...] = ()
    sources: dict[str, Source] = field(default_factory=dict, hash=False)
    problems: tuple[str, ...] = ()

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
    def healthy(self) -> bool | None:
        """Whether the fleet is as the stack file says, serves, and nothing of ours is left over; None where that is not
        known."""
        faults = self.orphans or self.findings or self.unapplied or self.grants
        if faults or any(pool.known and not pool.well for pool in self.pools):
            return False
        known = not self.problems and not self.unknown and all(pool.known for pool in self.pools)
        return True if known else None

    def to_json(self) -> dict[str, Any]:
        return {
            "stack": self.stack,
            "at": self.at.isoformat(),
            "healthy": self.healthy,
            "problems": list(self.problems),
            "unapplied": None if self.unapplied is None else self.unapplied.to_json(),
            "pools": [pool.to_json() for pool in self.pools],
            "orphans": {"vms": as_json(self.orphan_vms), "runners": as_json(self.orphan_runners)},
            "findings": as_json(self.findings),
            "strangers": as_json(self.strangers),
            "unserved": as_json(self.unserved),
            "grants": {"strange": [each.to_json() for each in self.grants], "unread": list(self.unread)},
            "sources": {name: as_json(source) for name, source in sorted(self.sources.items())},
            "drains": [as_json(wish, without=["until"]) for wish in self.drains],
            "lost": [{"zone": zone, "by": by} for zone, by in sorted(self.lost.items())],
            "rollouts": [each.to_json() for each in self.rollouts],
            "sweep": self.sweep.to_json() if self.sweep else None,
            "next": as_json(self.next),
        }
