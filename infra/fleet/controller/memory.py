"""What the controller remembers between sweeps: one JSON document, version 1, of bounded size (`decide`).

Owns its shape and its round trip. Everything in it can be lost, the whole or any entry: a controller that forgot waits
longer, and goes by the word of VMs where it knows no more where their runners are. So an entry with a value of a later
controller counts as forgotten. Does not own where it is kept (`remembered`) nor what is concluded from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from infra.fleet.controller.events import FleetEvent
from infra.fleet.controller.keys import (
    FindingKey,
    KeptBackoffKey,
    KeptFindingKey,
    KeptNodeKey,
    KeptSuspectKey,
    SourceKind,
    SourceName,
)
from infra.fleet.controller.observed import Observed, Trouble
from infra.fleet.versions import KeptVersion, Rollout
from infra.model.catalogue import CapacityKind

VERSION: Final = 1
"""A later version adds only what the one before may ignore: each reads what the one before and after it wrote."""
_BEGINS: Final = f'{{"version":{VERSION},"written_by":'.encode()
"""How a record of this version begins. It is read in one pass, and entry by entry where that fails."""
ANY_POOL: Final = "*"
LAG: Final = timedelta(minutes=10)
"""For how long a create that was asked for is believed while no list shows it."""
SILENT: Final = timedelta(minutes=10)
"""For how long without a break a zone that people gave up must not answer before its VMs count as gone."""


class UnreadableMemoryError(ValueError):
    """A memory that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMemory:
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
    first_seen: AwareDatetime
    since: AwareDatetime
    seen: AwareDatetime
    missing: int = 0
    asked: AwareDatetime | None = None
    unserved: AwareDatetime | None = None
    restarted: AwareDatetime | None = None
    proved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VmMemory:
    """What belongs to a slot's name, whichever node bears it.

    restart: the last number of a restart order. tried, refused: by zone, when a create was last asked for, and when one
    was last answered by a stockout. lacked: by zone, since when its lists lack it, each of them, where it may be.
    assigned: what its orders say. region: where it stood for them. drained: since when its orders say to
    take no job. own_drain: whether no person asked for that. unsure: changes of its orders that a sweep was about to
    write, and did not say that it had. attempts: creates and replacements since a runner of it was last online.
    remade, remade_at, remade_before: how often in a row it was replaced though Google had not taken it, when last, and
    when the time before.
    """

    restart: int = 0
    attempts: int = 0
    remade: int = 0
    remade_at: AwareDatetime | None = None
    remade_before: AwareDatetime | None = None
    tried: Mapping[str, AwareDatetime] = field(default_factory=dict)
    refused: Mapping[str, AwareDatetime] = field(default_factory=dict)
    lacked: Mapping[str, AwareDatetime] = field(default_factory=dict)
    assigned: KeptVersion | None = None
    region: str = ""
    assigned_at: AwareDatetime | None = None
    drained: AwareDatetime | None = None
    own_drain: bool = False
    unsure: int = 0
    seen: AwareDatetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Creating:
    """A create that was asked for and whose node was not listed yet. operation: its name, once the service gave one.

    before: when one in that zone was asked for last before it.
    """

    zone: str
    capacity: CapacityKind
    at: AwareDatetime
    operation: str = ""
    before: AwareDatetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneListing:
    """When a zone was last listed whole, and in which epoch (`Observed.epoch`).

    failed, silent: how many lists failed since, and when the first of them did.
    """

    at: AwareDatetime
    epoch: str = ""
    failed: int = 0
    silent: AwareDatetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """Something without an owner: since when, and in how many sweeps in a row. drained: since when, if it was asked."""

    since: AwareDatetime
    sweeps: int = 1
    drained: AwareDatetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Failures in a row for one zone, accelerator and kind of capacity, and when the next try may be.

    since: when the first of them was; None in a memory that was written before this was kept.
    """

    failures: int
    trouble: Trouble
    last: AwareDatetime
    until: AwareDatetime
    since: AwareDatetime | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuse:
    """Blown since when, and for how many sweeps in a row."""

    since: AwareDatetime
    sweeps: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeMemory:
    """What runners of a pool are or were registered with. until: when that may have been done last.

    declared: whether it was, by the manifest of the last sweep.
    """

    until: AwareDatetime
    declared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Everything that is remembered. Maps are by slot, pool, zone or scope where their types do not say it.

    zones: zones that were ours once, with the sweep's time at which they last had to be watched. pools: names of pools
    that were declared once. listed: how each zone was listed last. scopes: by pool what its runners are or were
    registered with at GitHub; of a pool that it lacks, nobody knows. ANY_POOL has what the broker knew when that was
    forgotten. reported: findings that were told already, with
    since when they stand. unheard: since when a scope that is declared cannot be asked. starts: by pool, the minutes
    that its last VMs took from their create to a runner online. forgot: when all or a part was forgotten,
    or nothing was known yet: runners of VMs made before may be where nobody looks.
    """

    sweeps: int = 0
    last: AwareDatetime | None = None
    nodes: Mapping[KeptNodeKey, NodeMemory] = field(default_factory=dict)
    vms: Mapping[str, VmMemory] = field(default_factory=dict)
    creating: Mapping[str, Creating] = field(default_factory=dict)
    suspects: Mapping[KeptSuspectKey, Suspect] = field(default_factory=dict)
    replacements: Mapping[str, tuple[AwareDatetime, ...]] = field(default_factory=dict)
    backoff: Mapping[KeptBackoffKey, Backoff] = field(default_factory=dict)
    rollouts: Mapping[str, Rollout] = field(default_factory=dict)
    zones: Mapping[str, AwareDatetime] = field(default_factory=dict)
    pools: Mapping[str, AwareDatetime] = field(default_factory=dict)
    listed: Mapping[str, ZoneListing] = field(default_factory=dict)
    scopes: Mapping[str, Mapping[str, ScopeMemory]] = field(default_factory=dict)
    reported: Mapping[KeptFindingKey, AwareDatetime] = field(default_factory=dict)
    unheard: Mapping[str, AwareDatetime] = field(default_factory=dict)
    starts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    forgot: AwareDatetime | None = None
    fuse: Fuse | None = None
    events: tuple[FleetEvent, ...] = ()

    def vm(self, name: str, now: datetime) -> VmMemory:
        """What is remembered of a VM; of one that is new here, nothing."""
        return self.vms.get(name) or VmMemory(seen=now)

    def with_vm(self, name: str, vm: VmMemory) -> Memory:
        return replace(self, vms={**self.vms, name: vm})

    def with_event(self, event: FleetEvent) -> Memory:
        return replace(self, events=(*self.events, event))

    def without_waits(self) -> Memory:
        """Every create may be tried again now: somebody freed quota, mended what was refused, or knows of capacity."""
        return replace(self, backoff={key: replace(each, until=each.last) for key, each in self.backoff.items()})

    def is_given_up(self, zone: str, observed: Observed, now: datetime) -> bool:
        """Whether people gave up a zone that has not answered for a while: then its VMs count as gone, by their word.

        One list that fails is no lost zone, though somebody feared it and its VMs work on.
        """
        silent = self.reported.get(FindingKey.unknown(SourceName(SourceKind.ZONE, zone)), now)
        return zone in observed.requests.lost and not observed.zone_known(zone) and now - silent >= SILENT

    def encoded(self, written_by: str) -> bytes:
        """The record's content. written_by: the holder of the lease that writes it."""
        kept = _STORED.dump_json(self, exclude_defaults=True).removeprefix(b"{")
        return _BEGINS + json.dumps(written_by).encode() + (kept if self == EMPTY else b"," + kept)


EMPTY: Final = Memory()
_STORED: Final = TypeAdapter(Memory)


def read(content: bytes | None) -> Memory:
    """The memory that a record's content says, empty where there is none. UnreadableMemoryError where it says none."""
    return salvaged(content)[0]


def salvaged(content: bytes | None) -> tuple[Memory, tuple[str, ...]]:
    """As `read`, with the places of entries that could not be read, which count as forgotten."""
    if content is None:
        return EMPTY, ()
    if content.startswith(_BEGINS):
        with suppress(ValidationError):
            return _STORED.validate_json(content), ()
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableMemoryError(f"it is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise UnreadableMemoryError("it is not a JSON object")
    version = document.get("version", VERSION)
    if version not in (VERSION - 1, VERSION, VERSION + 1):
        raise UnreadableMemoryError(
            f"it has version {version!r}, and this controller reads {VERSION} and {VERSION + 1}"
        )
    memory, skipped = _read_leniently(document)
    # What is not in it may have been: of a memory that never swept, nothing follows from what it lacks.
    return replace(memory, sweeps=0) if skipped else memory, skipped


def _read_leniently(document: Mapping[str, Any]) -> tuple[Memory, tuple[str, ...]]:
    """What a document says without the entries that its reader does not understand, and the places of those.

    An entry is one of a map or list of the document, else a key of it: it counts as if it had never been written. So
    every key of the document has a default, and an entry that is missing must never allow more than one that is there.
    """
    left = {key: each.copy() if isinstance(each, dict | list) else each for key, each in document.items()}
    skipped: list[str] = []
    while True:
        try:
            return _STORED.validate_python(left), tuple(skipped)
        except ValidationError as error:
            wrong = {each["loc"][:2]: each for each in error.errors(include_url=False)}
        # Of a list the last first: what comes before keeps its place.
        for loc in sorted(
            wrong, key=lambda loc: (str(loc[0]), loc[1] if isinstance(loc[-1], int) else 0), reverse=True
        ):
            key, within = str(loc[0]), left.get(str(loc[0]))
            if len(loc) > 1 and (isinstance(within, list) or (isinstance(within, dict) and loc[1] in within)):
                del within[loc[1]]
            else:
                left.pop(key, None)
            skipped.append(f"{'.'.join(map(str, wrong[loc]['loc']))}: {wrong[loc]['msg']}")
