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
from typing import Any

from infra.model.cost import Amount
from infra.model.demand import Demands
from infra.model.phases import Phases
from infra.rules.finding import Finding

NOT_KNOWN = "not known"


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
class Counts:
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

    def to_json(self) -> dict[str, int]:
        return {"before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class Words:
    """One name before and after; None where the thing does not exist then."""

    before: str | None
    after: str | None

    def __str__(self) -> str:
        """`v6e-8`, or `v6e-4 -> v6e-8` where both exist and differ."""
        if self.before and self.after and self.before != self.after:
            return f"{self.before} -> {self.after}"
        return self.after or self.before or ""

    def to_json(self) -> dict[str, str | None]:
        return {"before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChange:
    """One key of the stack file that differs: `pools[tpu-ci].trust`. Its value is None where it does not stand."""

    key: str
    value: Words

    def __str__(self) -> str:
        return f"{self.key} = {self.value.before or 'not declared'} -> {self.value.after or 'not declared'}"

    def to_json(self) -> dict[str, Any]:
        return {"key": self.key, **self.value.to_json()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolChange:
    """One pool in one zone. `spelled` says what one slice is: `v6e-8 is 8 chips on 1 host`."""

    pool: str
    zone: str
    accelerator: Words
    capacity: Words
    spelled: str
    slices: Counts
    hosts: Counts
    chips: Counts

    @property
    def changed(self) -> bool:
        """Whether capacity differs: in number, or in what it is."""
        pairs = (self.accelerator, self.capacity, self.slices)
        return any(pair.before != pair.after for pair in pairs)

    def to_json(self) -> dict[str, Any]:
        return {
            "pool": self.pool,
            "zone": self.zone,
            "accelerator": self.accelerator.to_json(),
            "capacity": self.capacity.to_json(),
            "spelled": self.spelled,
            "slices": self.slices.to_json(),
            "hosts": self.hosts.to_json(),
            "chips": self.chips.to_json(),
            "changed": self.changed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """Chips of one generation in one zone against one limit, or against none (`limit` is then `all pools`).

    chips: all that draws on the limit, `held_elsewhere` and sibling stacks included; of a line without a limit, the
    chips of this stack's pools. size_before, size_after: the limit itself, None on a side that does not declare it.
    """

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
            since = "newly declared" if before is None else "no longer declared"
            return f"{line} of {before or after or 0:,} chips ({since})"
        return f"{line} of {after:,} chips" if before == after else f"{line} of {Counts(before, after)} chips"

    def to_json(self) -> dict[str, Any]:
        return {
            "zone": self.zone,
            "generation": self.generation,
            "limit": self.limit,
            "kind": self.kind,
            "project": self.project,
            "chips": self.chips.to_json(),
            "heldElsewhere": self.held_elsewhere.to_json(),
            "size": {"before": self.size_before, "after": self.size_after} if self.limited else None,
            "remaining": self.remaining,
            "line": str(self),
        }


def _dollars(amount: Amount) -> dict[str, float]:
    return {"usdPerHour": float(round(amount.hour, 4)), "usdPerMonth": float(round(amount.month, 2))}


class Priced(StrEnum):
    """What is known of the price of a pool's VMs on one side of an edit."""

    NONE = "none"
    """No VMs, so nothing to pay."""
    LISTED = "listed"
    SUNK = "sunk"
    """Reserved: paid by contract whether used or not, so the edit moves no money."""
    UNPRICED = "unpriced"
    """No published price: never counted as 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What one pool in one zone costs on one side. `amount` is None unless the price is listed or there is no VM."""

    priced: Priced
    capacity: str | None
    amount: Amount | None

    def to_json(self) -> dict[str, Any]:
        body = {"priced": self.priced.value, "capacity": self.capacity}
        return body | ({"usdPerHour": None, "usdPerMonth": None} if self.amount is None else _dollars(self.amount))


@dataclass(frozen=True, slots=True, kw_only=True)
class MoneyLine:
    """One pool in one zone, before and after. hours: those of a month in which the pool stands."""

    pool: str
    zone: str
    before: Bill
    after: Bill
    hours: Decimal

    @property
    def changed(self) -> bool:
        return self.before != self.after

    def to_json(self) -> dict[str, Any]:
        return {
            "pool": self.pool,
            "zone": self.zone,
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "hoursPerMonth": float(self.hours),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Listed prices summed over all pools, of one kind of capacity or of all."""

    before: Amount
    after: Amount

    def to_json(self) -> dict[str, Any]:
        return {
            "before": _dollars(self.before),
            "after": _dollars(self.after),
            "delta": _dollars(self.after - self.before),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """Every pool's line, the totals by kind of capacity, and how much of the fleet they cover.

    estimated, sunk, unpriced: names of the pools (after the edit, or before it where they go). budget: what the stack
    allows itself a month. windows_known: whether anybody said which pools do not stand around the clock.
    """

    lines: tuple[MoneyLine, ...]
    by_kind: Mapping[str, Total]
    total: Total
    estimated: tuple[str, ...]
    sunk: tuple[str, ...]
    unpriced: tuple[str, ...]
    as_of: str
    source: str
    hours_per_month: int
    windows_known: bool
    budget: Decimal | None

    def to_json(self) -> dict[str, Any]:
        return {
            "lines": [line.to_json() for line in self.lines],
            "byKind": {kind: total.to_json() for kind, total in sorted(self.by_kind.items())},
            "total": self.total.to_json(),
            "estimated": list(self.estimated),
            "sunk": list(self.sunk),
            "unpriced": list(self.unpriced),
            "asOf": self.as_of,
            "source": self.source,
            "hoursPerMonth": self.hours_per_month,
            "windowsKnown": self.windows_known,
            "budgetUsdPerMonth": None if self.budget is None else float(self.budget),
        }


class RiskKind(StrEnum):
    """What may go wrong, the worst first; also the order in which risks are told."""

    UNAPPLIABLE = "unappliable"
    FREEZE = "freeze"
    PROTECTION = "protection"
    TRUST = "trust"
    REPLACE = "replace"
    DELETE = "delete"
    LABELS = "labels"
    IN_PLACE = "in-place"
    NOT_KNOWN = "not-known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """One thing to look at before merging.

    subject: the pool, label, freeze or resource that it is about. says: the sentence. names: the VMs or other things
    concerned, by name. forced_by: for a replacement, the properties that force it.
    """

    kind: RiskKind
    subject: str
    says: str
    names: tuple[str, ...] = ()
    forced_by: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind.value,
            "subject": self.subject,
            "says": self.says,
            "names": list(self.names),
            "forcedBy": list(self.forced_by),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """All that an edit means.

    base, head: whether the stack exists before and after. sections: the keys of the stack file that differ. keys: the
    same down to single values; none where the stack is new or removed, nor of Pulumi's own settings.
    stale: None where nobody could say. waits: how long jobs wait for a runner where the edit changes that, and who
    leaves room for whom; None where nobody said what workflows ask.
    """

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

    @property
    def changed(self) -> bool:
        """Whether the two versions declare different things; a comment or an order of lines is no change."""
        return bool(self.sections)

    @property
    def stops(self) -> bool:
        """Whether a finding holds the apply."""
        return any(finding.stops for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        return {
            "stack": self.stack,
            "changed": self.changed,
            "sections": list(self.sections),
            "keys": [each.to_json() for each in self.keys],
            "pools": [pool.to_json() for pool in self.pools],
            "ledger": [line.to_json() for line in self.ledger],
            "money": self.money.to_json(),
            "risks": [risk.to_json() for risk in self.risks],
            "order": self.order.to_json(),
            "stale": None if self.stale is None else list(self.stale),
            "waits": None if self.waits is None else list(self.waits),
            "findings": [finding.to_json() for finding in self.findings],
        }
