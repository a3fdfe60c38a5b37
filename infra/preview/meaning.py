"""The shape of what an edit of a stack file means, and of the facts from other rooms that go into it.

Owns the JSON of `explain --json` (docs/json.md). Does not own how a meaning is found (explain) nor how it is shown
(text, markdown).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from infra.model.demand import Demands
from infra.model.dollars import Dollars
from infra.model.json_shape import CamelShape, JsonShape
from infra.model.phases import Phases
from infra.preview.money import Money
from infra.rules.finding import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What other rooms know, handed in as data; None is what nobody could say.

    today: the instant by which freezes and expiries are judged; it has a time zone.
    busy: VM to the job that it runs.
    stale: generated files and documents that the edit leaves behind.
    labels_used: runner label to the workflows that ask for it.
    window_hours: pool to the hours of a month in which it stands, for pools that do not stand around the clock.
    demands: what workflows ask of the fleet, by which labels_used is known too where it is not given.
    """

    today: datetime
    busy: Mapping[str, str] | None = None
    stale: tuple[str, ...] | None = None
    labels_used: Mapping[str, tuple[str, ...]] | None = None
    window_hours: Mapping[str, float] | None = None
    demands: Demands | None = None

    def __post_init__(self) -> None:
        if self.today.tzinfo is None:
            raise ValueError("Facts.today needs a time zone: a freeze window is an instant, not a wall clock")


@dataclass(frozen=True, slots=True)
class Counts(JsonShape):
    """One number before and after."""

    before: int = 0
    after: int = 0

    @property
    def delta(self) -> int:
        return self.after - self.before

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.before + other.before, self.after + other.after)

    def __str__(self) -> str:
        return f"{self.before:,} -> {self.after:,}"


@dataclass(frozen=True, slots=True)
class Words(JsonShape):
    """One name before and after; None where the thing does not exist then."""

    before: str | None
    after: str | None

    def __str__(self) -> str:
        """`v6e-8`, or `v6e-4 -> v6e-8` where both exist and differ."""
        if self.before and self.after and self.before != self.after:
            return f"{self.before} -> {self.after}"
        return self.after or self.before or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionName(JsonShape):
    """Which version of a stack file it is. ref: as it was asked for, a git reference or a file; None for the working
    tree. commit: None for a file."""

    ref: str | None
    commit: str | None

    def __str__(self) -> str:
        """`HEAD (967714230aab)`."""
        if self.ref is None or self.commit is None:
            return self.ref or "the working tree"
        return self.commit[:12] if self.commit.startswith(self.ref) else f"{self.ref} ({self.commit[:12]})"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChange(JsonShape):
    """One key of the stack file that differs: `pools[tpu-ci].trust`. Its value is None where it does not stand."""

    JSON = ("key", "value.*")

    key: str
    value: Words

    def __str__(self) -> str:
        return f"{self.key} = {self.value.before or 'not declared'} -> {self.value.after or 'not declared'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolChange(JsonShape):
    """One pool of TPU VMs in one zone, or slices of the cluster at their most.

    spelled: what one slice is, `v6e-8 is 8 chips on 1 host`. always: of a cluster's slices those that always stand;
    None for VMs, which all do. limit: the kind of limit that it draws on, as ledger lines of its zone have it.
    """

    JSON = ("pool", "zone", "accelerator", "capacity", "spelled", "slices", "always", "hosts", "chips", "changed")

    pool: str
    zone: str
    accelerator: Words
    capacity: Words
    spelled: str
    slices: Counts
    always: Counts | None = None
    hosts: Counts
    chips: Counts
    limit: str

    def draws_on(self, line: LedgerLine) -> bool:
        return (line.zone, f"{line.generation} {line.kind}") == (self.zone, self.limit)

    @property
    def changed(self) -> bool:
        """Whether capacity differs: in number, or in what it is."""
        pairs = (self.accelerator, self.capacity, self.slices)
        return any(pair.before != pair.after for pair in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine(CamelShape):
    """Chips of one generation in one zone against one limit, or against none (`limit` is then `all pools`).

    chips: all that draws on the limit, `held_elsewhere` and sibling stacks included; of a line without a limit, the
    chips of this stack's pools. size_before, size_after: the limit itself, None on a side that does not declare it.
    """

    JSON = ("zone", "generation", "limit", "kind", "project", "chips", "held_elsewhere", "size", "remaining", "line")

    zone: str
    generation: str
    limit: str
    kind: str
    project: str | None
    chips: Counts
    held_elsewhere: Counts
    size_before: int | None
    size_after: int | None

    @property
    def limited(self) -> bool:
        return self.size_before is not None or self.size_after is not None

    @property
    def size(self) -> Mapping[str, int | None] | None:
        """The limit on both sides; None where there is none."""
        return {"before": self.size_before, "after": self.size_after} if self.limited else None

    @property
    def line(self) -> str:
        return str(self)

    @property
    def remaining(self) -> int | None:
        """Chips that are left afterwards; negative where the limit is passed, None where none is declared."""
        return None if self.size_after is None else self.size_after - self.chips.after

    @property
    def changed(self) -> bool:
        return self.chips.delta != 0 or self.size_before != self.size_after

    def __str__(self) -> str:
        """`us-central1-c tpu7x reservation X: 112 -> 128 of 128 chips`."""
        line = f"{self.zone} {self.generation} {self.limit}: {self.chips}"
        before, after = self.size_before, self.size_after
        if before is None and after is None:
            return f"{line} chips"
        if before is None or after is None:
            size, since = (after, "newly declared") if before is None else (before, "no longer declared")
            return f"{line} of {size:,} chips ({since})"
        return f"{line} of {after:,} chips" if before == after else f"{line} of {Counts(before, after)} chips"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaChange(CamelShape):
    """A quota of a cluster's queue that differs. memory_gb: GB of 10^9 bytes."""

    queue: str
    flavor: str
    chips: Counts
    cpus: Counts
    memory_gb: Counts

    def __str__(self) -> str:
        """`v4-32, flavor v4-32-spot: 96 -> 112 chips, 5,760 -> 6,720 CPUs, 9,768 -> 11,396 GB of memory`."""
        sums = ((self.chips, "chips"), (self.cpus, "CPUs"), (self.memory_gb, "GB of memory"))
        said = ", ".join(f"{counts} {noun}" for counts, noun in sums if counts != Counts())
        return f"{self.queue}, flavor {self.flavor}: {said}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowWeek(JsonShape):
    """What one window of a pool adds in one zone within seven days. hours: in which its VMs stand, one by one.

    usd: of these days by list prices, 0 on a side that lacks it. starts: the first.
    """

    JSON = ("pool", "zone", "window", "openings", "hours", "chipHours=chip_hours", "usd", "starts")

    pool: str
    zone: str
    window: str
    openings: Counts
    hours: tuple[Decimal, Decimal]
    chip_hours: tuple[Decimal, Decimal]
    usd: tuple[Dollars, Dollars]
    starts: Words

    @property
    def changed(self) -> bool:
        """Whether the days differ in anything but hours that nobody pays."""
        sides = (self.hours, self.chip_hours, self.usd, (self.starts.before, self.starts.after))
        return self.openings.delta != 0 or any(before != after for before, after in sides)


class RiskKind(StrEnum):
    """What may go wrong, the worst first; also the order in which risks are told."""

    UNAPPLIABLE = "unappliable"
    FREEZE = "freeze"
    PROTECTION = "protection"
    TRUST = "trust"
    REPLACE = "replace"
    DELETE = "delete"
    RENAME = "rename"
    LABELS = "labels"
    IN_PLACE = "in-place"
    NOT_KNOWN = "not-known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk(CamelShape):
    """One thing to look at before merging.

    subject: the pool, label, freeze or resource that it is about. says: the sentence. names: the VMs or other things
    concerned, by name. forced_by: for a replacement, the properties that force it.
    """

    kind: RiskKind
    subject: str
    says: str
    names: tuple[str, ...] = ()
    forced_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning(JsonShape):
    """All that an edit means.

    base, head: whether the stack exists before and after. sections: the keys of the stack file that differ. keys: the
    same down to single values; none where the stack is new or removed, nor of Pulumi's own settings.
    stale: None where nobody could say. waits: how long jobs wait for a runner where the edit changes that, and who
    leaves room for whom; None where nobody said what workflows ask. week: what windows add in the seven days to come,
    before and after. queues: the quotas of the cluster's queues that differ. base_version, head_version: what is
    compared, None where nobody said it.
    """

    JSON = (
        "stack",
        "base=base_version",
        "head=head_version",
        "changed",
        "sections",
        "keys",
        "pools",
        "ledger",
        "queues",
        "money",
        "week",
        "risks",
        "order",
        "stale",
        "waits",
        "findings",
    )

    stack: str
    project: str
    base: bool
    head: bool
    sections: tuple[str, ...]
    pools: tuple[PoolChange, ...]
    ledger: tuple[LedgerLine, ...]
    money: Money
    risks: tuple[Risk, ...]
    order: Phases
    stale: tuple[str, ...] | None
    findings: tuple[Finding, ...] = field(default=())
    waits: tuple[str, ...] | None = None
    keys: tuple[KeyChange, ...] = ()
    week: tuple[WindowWeek, ...] = ()
    queues: tuple[QuotaChange, ...] = ()
    base_version: VersionName | None = None
    head_version: VersionName | None = None

    @property
    def changed(self) -> bool:
        """Whether the two versions declare different things; a comment or an order of lines is no change."""
        return bool(self.sections)

    @property
    def stops(self) -> bool:
        """Whether a finding holds the apply."""
        return any(finding.stops for finding in self.findings)
