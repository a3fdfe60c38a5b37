"""What goes wrong on purpose: rules that say which requests fail, how, how often and until when.

Owns matching and counting of rules; a rule is data, kept in the store. The gateway acts on `error`, `rate`, `slow` and
`lost` for every method, and by `list_faults` on `unreachable`, `missing` and `lag`; `services.tpu_*` act on `stockout`,
`operation`, `hang` and `preempt`, `services.gke_*` on the first three of them, guests of VMs on the rest. Chance is
seeded: the n-th request that a rule matches always ends in the same way.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from bench.cloud.errors import CANONICAL, STRICT, ApiError, JsonObject, invalid, not_found
from bench.cloud.store import Store
from infra.model.json_shape import JsonShape

FaultKind = Literal[
    "error", "rate", "slow", "lost", "unreachable", "missing", "lag",
    "stockout", "operation", "hang", "preempt", "mute", "slow-boot", "unfit", "broken",
]  # fmt: skip
_KIND = "fault-rule"
_PARTS = ("method", "project", "zone", "accelerator", "name", "running")
# What a list is about as a whole; the other parts are matched with each of its entries.
OF_LISTS = ("method", "project")
_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class FaultTarget:
    """What a request is about; empty where it names none. running: the image or bundle that a guest is about to run."""

    method: str
    project: str = ""
    zone: str = ""
    accelerator: str = ""
    name: str = ""
    running: str = ""


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class FaultRule(JsonShape):
    """One fault.

    kind: `error` refuses with HTTP `code`; `rate` refuses what is more than `per_minute` requests of a project in a
        minute of cloud time, and, with a `zone`, of a place; `slow` answers `seconds` (of real time) late; `lost` does
        what was asked and breaks off in the middle of the answer. Of lists: `unreachable` leaves out the places that
        match and names them; `missing` leaves out entries, each by `probability`, and says nothing; `lag` leaves out
        what is younger than `seconds` of cloud time. Of TPUs and node pools: `stockout` lets what needs machines fail
        in its operation for want of capacity; `operation` lets any operation fail with `status`; `hang` lets one that
        creates, deletes, starts or stops go on for `seconds` of cloud time (for ever where none are given), or until
        the rule is lifted;
        `preempt` takes preemptible and spot nodes away at `per_hour` (chance per hour of cloud time, each node on its
        own). Of guests, once a making of a node: `mute`
        boots and never asks for a registration; `slow-boot` boots `seconds` (of cloud time) longer; `unfit` fails the
        check before a job, for `message`; with `broken` the runner of such an image ends at once, and a boot with such
        a bundle halts, for `message`.
    method, project, zone, accelerator, name, running: patterns with `*`; all must match.
    count: how often it fires before it goes; None for ever. probability: chance to fire, drawn from `seed`.
    until: cloud time in epoch seconds when it goes; None for never. seen: matching requests so far.
    used: of a rate, the requests of the present minute by that minute and whose they are.
    """

    kind: FaultKind
    id: int = 0
    method: str = "*"
    project: str = "*"
    zone: str = "*"
    accelerator: str = "*"
    name: str = "*"
    running: str = "*"
    code: int = Field(default=503, ge=400, le=599)
    status: str = Field(default="UNAVAILABLE", pattern=f"^({'|'.join(CANONICAL[1:])})$")
    message: str = ""
    seconds: float = Field(default=0.0, ge=0)
    per_hour: float = Field(default=0.0, ge=0)
    per_minute: int | None = Field(default=None, ge=0)
    count: int | None = Field(default=None, ge=0)
    probability: float = Field(default=1.0, ge=0, le=1)
    seed: int = 0
    until: float | None = None
    seen: int = 0
    used: dict[str, int] = Field(default_factory=dict)

    def matches(self, target: FaultTarget, parts: Sequence[str] = _PARTS) -> bool:
        return all(fnmatchcase(getattr(target, part), getattr(self, part)) for part in parts)

    def leaves_out(self, entry: str) -> bool:
        """Whether an entry of a list that this rule struck is among those that are missing."""
        return _draw(f"{self.seed} {self.seen} {entry}") < self.probability

    @classmethod
    def from_json(cls, body: JsonObject) -> FaultRule:
        """Raises ValidationError, or 400 for what its kind cannot do without."""
        rule = cls(**body)
        if (need := _NEEDS.get(rule.kind)) and need not in body:
            raise invalid(f"{rule.kind} needs {need}.", field=need)
        return rule

    def as_error(self) -> ApiError:
        """What an `error` answers."""
        return ApiError(self.code, self.message or "The service is currently unavailable.")


# What a rule of a kind cannot do without.
_NEEDS = {"preempt": "per_hour", "rate": "per_minute", "lag": "seconds"}


class Faults:
    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, rule: FaultRule, *, now: float) -> FaultRule:
        numbered = replace(rule, id=self._store.next_number("fault"), seen=0)
        self._store.insert(_KIND, _name(numbered.id), numbered.to_json(), now=now)
        return numbered

    def remove(self, number: int) -> None:
        """Raises 404."""
        if not self._store.delete(_KIND, _name(number)):
            raise not_found(f"fault {number}")

    def clear(self) -> None:
        for rule in list(self._all()):
            self.remove(rule.id)

    def each(self, now: float) -> list[FaultRule]:
        """Every rule that still holds, oldest first."""
        return [rule for rule in self._all() if rule.until is None or rule.until > now]

    @property
    def any(self) -> bool:
        """Whether there is any rule at all."""
        return self._store.count(_KIND) > 0

    def spend(self, number: int, now: float) -> bool:
        """Whether a rule still holds; counts one use of it."""
        found = self._store.find(_KIND, _name(number))
        rule = FaultRule(**found.body) if found else None
        return rule is not None and (rule.until is None or rule.until > now) and self._fires(rule, now)

    def strike(
        self, kind: FaultKind, target: FaultTarget, now: float, parts: Sequence[str] = _PARTS
    ) -> FaultRule | None:
        """The first rule of a kind that fires for this request; counts it. parts: what of the request is matched."""
        for rule in self.each(now):
            if rule.kind == kind and rule.count != 0 and rule.matches(target, parts) and self._fires(rule, now):
                return rule
        return None

    def of_request(self, target: FaultTarget, now: float) -> tuple[FaultRule | None, float, bool]:
        """The error in place of an answer, by how many seconds one is late, and whether one is lost."""
        if error := self.strike("error", target, now):
            return error, 0.0, False
        slow, lost = self.strike("slow", target, now), self.strike("lost", target, now)
        return None, slow.seconds if slow else 0.0, lost is not None

    def above_rate(self, target: FaultTarget, now: float) -> FaultRule | None:
        """The first rate that this request exceeds; one that it does not exceed counts it."""
        for rule in self.each(now):
            if rule.kind == "rate" and rule.matches(target):
                minute = f"{now // _MINUTE:.0f} "
                whose = minute + (target.project if rule.zone == "*" else f"{target.project} {target.zone}")
                used = {key: value for key, value in rule.used.items() if key.startswith(minute)}
                if used.get(whose, 0) >= (rule.per_minute or 0):
                    return rule
                self._keep(replace(rule, used={**used, whose: used.get(whose, 0) + 1}), now)
        return None

    def _keep(self, rule: FaultRule, now: float) -> None:
        self._store.replace(self._store.get(_KIND, _name(rule.id)), rule.to_json(), now=now)

    def _fires(self, rule: FaultRule, now: float) -> bool:
        # The probability of `missing` is that of each entry.
        fires = rule.kind == "missing" or _draw(f"{rule.seed} {rule.seen}") < rule.probability
        left = rule.count - 1 if fires and rule.count is not None else rule.count
        # What hangs by a rule is released with it, so that rule stays until it is lifted.
        if left == 0 and rule.kind != "hang":
            self.remove(rule.id)
        else:
            self._keep(replace(rule, seen=rule.seen + 1, count=left), now)
        return fires

    def _all(self) -> Iterator[FaultRule]:
        return (FaultRule(**found.body) for found in list(self._store.each(_KIND)))


def _draw(seed: str) -> float:
    # No secret hangs on this chance, and it must be the same every time.
    return random.Random(seed).random()  # noqa: S311


def _name(number: int) -> str:
    return f"{number:09d}"
