"""By what a sweep remembers things: values in Python, and one text each in a record.

Owns both forms. Does not own what is kept under them (`memory`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, NamedTuple, Self, TypeAlias

from infra.fleet.versions import AsText
from infra.model.catalogue import CapacityKind


class OwnRule(StrEnum):
    """Rules that are no rows of the table (`rules.yaml`)."""

    CREATE_FRUITLESS = "create-fruitless"
    CREATE_QUOTA = "create-quota"
    CREATE_REFUSED = "create-refused"
    DRAIN_FORGOTTEN = "drain-forgotten"
    DRAIN_LATE = "drain-late"
    DRAIN_OVER = "drain-over"
    DRAIN_REQUESTED = "drain-wished"
    FUSE = "fuse"
    ROLLOUT = "rollout"
    ROLLOUT_FAILED = "rollout-failed"
    SLOT_REMADE = "slot-remade"
    UNKNOWN = "unknown"
    """A source does not answer."""
    UNREADABLE = "record-unreadable"


class NodeKey(NamedTuple):
    """Two zones may have nodes of one name."""

    zone: str
    name: str

    def __str__(self) -> str:
        return f"{self.zone}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> Self:
        zone, _, name = text.partition("/")
        return cls(zone, name)


class OrphanKey(NamedTuple):
    """A VM without owner: one made again under its name is another. created: as its API says it."""

    node: NodeKey
    created: str

    def __str__(self) -> str:
        return f"node {self.node} {self.created}"


class RunnerKey(NamedTuple):
    """scope: what it is registered with."""

    scope: str
    id: int

    def __str__(self) -> str:
        return f"runner {self.scope}/{self.id}"


SuspectKey: TypeAlias = OrphanKey | RunnerKey


def suspect_key(text: str) -> SuspectKey:
    """The key of a text in a record. ValueError where it is none."""
    kind, _, rest = text.partition(" ")
    if kind == "runner":
        scope, _, number = rest.rpartition("/")
        return RunnerKey(scope, int(number))
    node, _, created = rest.partition(" ")
    return OrphanKey(NodeKey.parse(node), created)


class BackoffKey(NamedTuple):
    """Where creates fail: a stockout is one of a zone, an accelerator and a kind of capacity."""

    zone: str
    accelerator: str
    capacity: CapacityKind

    def __str__(self) -> str:
        return "/".join(self)

    @classmethod
    def parse(cls, text: str) -> Self:
        zone, accelerator, capacity = text.split("/")
        return cls(zone, accelerator, CapacityKind(capacity))


class SourceKind(StrEnum):
    GITHUB = "github"
    OPERATIONS = "operations"
    ORDERS = "orders"
    POINTER = "pointer"
    REPORTS = "reports"
    REQUESTS = "wishes"
    ZONE = "zone"


class SourceName(NamedTuple):
    """A source as people and records name it. of: the zone or the scope that is asked, empty for all."""

    kind: SourceKind
    of: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.of}".rstrip()


class FindingKey(NamedTuple):
    """subject: as people are told it."""

    rule: str
    subject: str

    def __str__(self) -> str:
        return f"{self.rule} {self.subject}"

    @classmethod
    def parse(cls, text: str) -> Self:
        rule, _, subject = text.partition(" ")
        return cls(rule, subject)

    @classmethod
    def unknown(cls, source: SourceName) -> Self:
        """Of a source that does not answer."""
        return cls(OwnRule.UNKNOWN, str(source))


KeptNodeKey: TypeAlias = Annotated[NodeKey, AsText(NodeKey.parse)]
KeptSuspectKey: TypeAlias = Annotated[SuspectKey, AsText(suspect_key)]
KeptBackoffKey: TypeAlias = Annotated[BackoffKey, AsText(BackoffKey.parse)]
KeptFindingKey: TypeAlias = Annotated[FindingKey, AsText(FindingKey.parse)]
