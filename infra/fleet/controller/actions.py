"""What a sweep may do, as data: each action with the rule that asks for it and the reason that people read.

Owns the shapes. Does not own doing them (`infra.fleet.controller.act`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any, TypeAlias

from infra.fleet.controller.desired import SlotPlace
from infra.fleet.controller.events import Verb
from infra.fleet.controller.memory import Memory
from infra.fleet.controller.observed import NodeSeen
from infra.fleet.controller.rules import Judgement
from infra.fleet.versions import AssignedVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class _Action:
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Create(_Action):
    """Make a slot's VM at a place. passed: silent zones that surely have none of it, so that no answer will do.

    stuck: VMs of its name at other places, which may stand there as they were seen.
    """

    slot: str
    place: SlotPlace
    passed: frozenset[str] = frozenset()
    stuck: tuple[NodeSeen, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recreate(_Action):
    """Delete a slot's VM, if it still is as it was seen, and once it is gone make it again at `place`.

    place: in the zone of the node; None where a later sweep has to find one. passed, stuck: as of `Create`.
    """

    slot: str
    node: NodeSeen
    place: SlotPlace | None
    passed: frozenset[str] = frozenset()
    stuck: tuple[NodeSeen, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(_Action):
    """Delete a node, if it still is as it was seen."""

    node: NodeSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(_Action):
    """Ask a VM's supervisor to start its loop again; it obeys each number once."""

    vm: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveRunner(_Action):
    """Remove an offline runner from GitHub."""

    scope: str
    id: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign(_Action):
    """Say what a VM runs from its next job on.

    region: where it is taken to stand. image: the reference that it pulls, None where it is to run none. first: it
    had no orders that are known, and so runs that already. Then drained says whether it takes jobs too: old orders of a
    VM of that name may say otherwise.
    """

    vm: str
    region: str
    image: str | None
    bundle: str | None
    first: bool = False
    drained: bool = False

    @property
    def version(self) -> AssignedVersion:
        return AssignedVersion(self.image or "", self.bundle or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain(_Action):
    """Say whether a VM takes jobs."""

    vm: str
    on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(_Action):
    """Tell people, once for as long as it stands."""

    subject: str


Action: TypeAlias = Create | Recreate | Delete | Restart | RemoveRunner | Assign | Drain | Report


def subject(action: Action) -> str:
    """What an action is about: a VM, a runner or a limit."""
    match action:
        case Create() | Recreate():
            return action.slot
        case Delete():
            return action.node.name
        case Restart() | Assign() | Drain():
            return action.vm
        case RemoveRunner():
            return action.name
        case Report():
            return action.subject


class Urgency(IntEnum):
    """Which proposals are looked at first: of what is dead, missing, to change, and in nobody's way."""

    HEAL = 0
    MAKE = 1
    CHANGE = 2
    TIDY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An action before the limits are asked.

    pool: whose replacements and serving runners it draws on, empty for none. deletes: whether the fuse stops it: it
    deletes a VM that may live, or is the first step to that. replaces: whether it is a replacement of a declared VM
    that may live. takes: the VM whose serving runner it takes away, empty for none. patience: from when it may take a
    pool's last one, None for never. freeze: whether it is done in a freeze window. urgency: lower ones are looked at
    first.
    """

    action: Action
    pool: str = ""
    deletes: bool = False
    replaces: bool = False
    takes: str = ""
    patience: datetime | None = None
    freeze: bool = True
    urgency: Urgency = Urgency.TIDY


def verb(action: Action) -> Verb:
    match action:
        case RemoveRunner():
            return Verb.REMOVE
        case Drain(on=False):
            return Verb.END_DRAIN
        case _:
            return Verb(type(action).__name__.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An action that was asked for and not done, why, and until when where that is known.

    stands: nothing that the fleet does by itself ends it soon: a person does, or a time that is far.
    """

    action: Action
    why: str
    until: datetime | None = None
    stands: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What is waited for: a subject, its rule, and until when if a limit is set. stands: as of what is held."""

    subject: str
    rule: str
    reason: str
    until: datetime | None = None
    stands: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FleetFinding:
    """Something that people should know for as long as it stands.

    costs: whether a declared VM is missing from its place meanwhile, or nobody can say whether it is there.
    """

    subject: str
    rule: str
    reason: str
    since: datetime
    costs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFigures:
    """One pool in numbers. unhealthy: declared VMs that do not serve, by name; booting: those that
    do not serve yet, and still have time to."""

    desired: int
    ready: int
    online: int
    busy: int
    away: int
    unhealthy: Mapping[str, Judgement] = field(default_factory=dict, hash=False)
    booting: Mapping[str, Judgement] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one sweep came to. memory: what to remember, written before anything is done."""

    actions: tuple[Action, ...]
    held: tuple[Held, ...]
    waiting: tuple[Waiting, ...]
    findings: tuple[FleetFinding, ...]
    pools: Mapping[str, PoolFigures]
    memory: Memory
    fuse_blown: bool = False
    frozen: str = ""

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do or to wait for."""
        return not (self.actions or self.held or self.waiting)

    @property
    def at_rest(self) -> bool:
        """Whether something is left, and further sweeps would leave all of it as it is."""
        left = (*self.held, *self.waiting)
        return not self.actions and bool(left) and all(each.stands for each in left)

    @property
    def next(self) -> Waiting | None:
        """What comes next if nothing changes: the wait that ends first."""
        limited = [each for each in self.waiting if each.until is not None]
        return min(limited, key=lambda each: (each.until, each.subject), default=None)


def described(action: Action) -> dict[str, Any]:
    """An action as records and `--json` have it."""
    body: dict[str, Any] = {"do": type(action).__name__.lower(), "subject": subject(action)}
    match action:
        case Create():
            body |= {"zone": action.place.zone, "capacity": action.place.capacity.value}
        case Recreate() | Delete():
            body |= {"zone": action.node.zone, "state": action.node.state}
        case Restart():
            body |= {"number": action.number}
        case RemoveRunner():
            body |= {"scope": action.scope, "id": action.id}
        case Assign():
            body |= {"image": action.image, "bundle": action.bundle}
        case Drain():
            body |= {"on": action.on}
        case Report():
            pass
    return body | {"rule": action.rule, "reason": action.reason}
