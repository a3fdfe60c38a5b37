"""What the controller remembers between sweeps: one JSON document, version 1, of bounded size.

Owns its shape and its round trip. Everything in it can be lost: a controller with an empty memory waits
longer, and goes by the word of VMs whose pool left, since it knows no more where their runners are. Does not own where
it is kept (sweep) nor what is concluded from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from infra.fleet.controller.observed import NodeKey, Target, Trouble
from infra.model.catalogue import CapacityKind

VERSION: Final = 1
LAG: Final = timedelta(minutes=10)
"""For how long a create that was asked for is believed while no list shows it."""


class UnreadableMemoryError(ValueError):
    """A memory that cannot be read."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class NodeMemory(_Part):
    """One node as it was last listed. since: when state and health were first seen as they are.

    missing: sweeps in a row in which its zone answered without it. asked: when it was first seen, the time of the
    create that had last been asked for there: it tells a later create from its own. unserved: since when it is READY
    without a runner online, anew after an outage of GitHub. restarted: when its supervisor was last asked to start its
    loop again. proved: whether it once proved a report, and so is able to.
    """

    state: str
    health: str = ""
    created: str = ""
    accelerator: str
    capacity: CapacityKind
    ours: bool
    first_seen: datetime
    since: datetime
    seen: datetime
    missing: int = 0
    asked: datetime | None = None
    unserved: datetime | None = None
    restarted: datetime | None = None
    proved: bool = False


class VmMemory(_Part):
    """What belongs to a slot's name, whichever node bears it.

    restart: the last number of a restart order. tried, refused: by zone, when a create was last asked for, and when one
    was last answered by a stockout. lacked: by zone, since when its lists lack it, each of them, where it may be.
    assigned: the key of what its orders say. region: where it stood for them. drained: since when its orders say to
    take no job. unsure: changes of its orders that a sweep was about to write, and did not say that it had. attempts:
    creates and replacements since a runner of it was last online.
    remade, remade_at, remade_before: how often in a row it was replaced though Google had not taken it, when last, and
    when the time before.
    """

    restart: int = 0
    attempts: int = 0
    remade: int = 0
    remade_at: datetime | None = None
    remade_before: datetime | None = None
    tried: Mapping[str, datetime] = Field(default_factory=dict)
    refused: Mapping[str, datetime] = Field(default_factory=dict)
    lacked: Mapping[str, datetime] = Field(default_factory=dict)
    assigned: str | None = None
    region: str = ""
    assigned_at: datetime | None = None
    drained: datetime | None = None
    unsure: int = 0
    seen: datetime


class Creating(_Part):
    """A create that was asked for and whose node was not listed yet. operation: its name, once the service gave one.

    before: when one in that zone was asked for last before it.
    """

    zone: str
    capacity: CapacityKind
    at: datetime
    operation: str = ""
    before: datetime | None = None


class Listing(_Part):
    """When a zone was last listed whole, and in which epoch (`Observed.epoch`).

    failed, silent: how many lists failed since, and when the first of them did.
    """

    at: datetime
    epoch: str = ""
    failed: int = 0
    silent: datetime | None = None


class Suspect(_Part):
    """Something without an owner: since when, and in how many sweeps in a row. drained: since when, if it was asked."""

    since: datetime
    sweeps: int = 1
    drained: datetime | None = None


class Backoff(_Part):
    """Failures in a row for one zone, accelerator and kind of capacity, and when the next try may be.

    since: when the first of them was; None in a memory that was written before this was kept.
    """

    failures: int
    trouble: Trouble
    last: datetime
    until: datetime
    since: datetime | None = None
    text: str = ""


class Fuse(_Part):
    """Blown since when, and for how many sweeps in a row."""

    since: datetime
    sweeps: int = 1


class TargetMemory(_Part):
    """A target, kept whole so that one can go back to it when nobody names it any more."""

    images: Mapping[str, str] = Field(default_factory=dict)
    bundle: str | None = None

    @classmethod
    def of(cls, target: Target) -> TargetMemory:
        return cls(images=dict(target.images), bundle=target.bundle)

    def target(self) -> Target:
        return Target(images=self.images, bundle=self.bundle)


Stage = Literal["steady", "canary", "rolling", "failed", "undone"]


class Returning(_Part):
    """A VM that was told to go back. before: the key of its orders until then."""

    since: datetime
    before: str


class Rollout(_Part):
    """One pool's way from what it runs to what it shall run.

    stable: what is proved. target: what is rolled out, equal to stable once it is everywhere. waiting: VMs that are to
    prove it, with the time from which they are waited for. proved: VMs that ran it. returning: VMs on their way back to
    what is proved. bad: parts that went back by themselves. obeyed: times of the undos that were obeyed. held: what
    keeps it from going on.
    """

    stable: TargetMemory
    target: TargetMemory
    previous: TargetMemory | None = None
    stage: Stage = "steady"
    since: datetime
    waiting: Mapping[str, datetime] = Field(default_factory=dict)
    proved: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    returning: Mapping[str, Returning] = Field(default_factory=dict)
    bad: tuple[str, ...] = ()
    obeyed: tuple[datetime, ...] = ()
    held: tuple[str, ...] = ()
    why: str = ""


class Event(_Part):
    """One thing that happened, for people. subject: a VM, pool, runner or limit."""

    at: datetime
    subject: str
    what: str


class ScopeMemory(_Part):
    """What runners of a pool are or were registered with. until: when that may have been done last.

    declared: whether it was, by the manifest of the last sweep.
    """

    until: datetime
    declared: bool = False


class Memory(_Part):
    """Everything that is remembered. Maps are by node key, slot, pool, backoff key or subject, as their types say.

    zones: zones that were ours once, with the sweep's time at which they last had to be watched. pools: names of pools
    that were declared once. listed: how each zone was listed last. scopes: by pool what its runners are or were
    registered with at GitHub; of a pool that it lacks, nobody knows. reported: findings that were told already, by
    `rule subject`, with since when they stand. unheard: since when a scope that is declared cannot be asked.
    """

    version: Literal[1] = VERSION
    sweeps: int = 0
    last: datetime | None = None
    nodes: Mapping[NodeKey, NodeMemory] = Field(default_factory=dict)
    vms: Mapping[str, VmMemory] = Field(default_factory=dict)
    creating: Mapping[str, Creating] = Field(default_factory=dict)
    suspects: Mapping[str, Suspect] = Field(default_factory=dict)
    replacements: Mapping[str, tuple[datetime, ...]] = Field(default_factory=dict)
    backoff: Mapping[str, Backoff] = Field(default_factory=dict)
    rollouts: Mapping[str, Rollout] = Field(default_factory=dict)
    zones: Mapping[str, datetime] = Field(default_factory=dict)
    pools: Mapping[str, datetime] = Field(default_factory=dict)
    listed: Mapping[str, Listing] = Field(default_factory=dict)
    scopes: Mapping[str, Mapping[str, ScopeMemory]] = Field(default_factory=dict)
    reported: Mapping[str, datetime] = Field(default_factory=dict)
    unheard: Mapping[str, datetime] = Field(default_factory=dict)
    fuse: Fuse | None = None
    events: tuple[Event, ...] = ()

    def without_waits(self) -> Memory:
        """Every create may be tried again now: somebody freed quota, mended what was refused, or knows of capacity."""
        over = {key: each.model_copy(update={"until": each.last}) for key, each in self.backoff.items()}
        return self.model_copy(update={"backoff": over})

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True) | {"version": self.version}


EMPTY: Final = Memory()


def read(document: Mapping[str, Any] | None) -> Memory:
    """The memory of a document, empty where there is none. UnreadableMemoryError for another version, or damage."""
    if document is None:
        return EMPTY
    try:
        return Memory.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UnreadableMemoryError(f"the controller's memory cannot be read at {where}: {first['msg']}") from None
