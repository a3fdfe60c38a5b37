"""What goes wrong on purpose: rules that say which requests fail, how, how often and until when.

Owns matching and counting of rules; a rule is data, kept in the store. The gateway acts on `error`, `slow` and
`lost` for every method; `services.tpu_*` act on `stockout`, `operation` and `preempt`, guests of VMs on the rest.
Chance is seeded: the n-th request that a rule matches always has the same fate.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from infra.local.cloud.errors import CANONICAL, invalid, not_found
from infra.local.cloud.registry import JsonObject
from infra.local.cloud.store import Store

Kind = Literal["error", "slow", "lost", "stockout", "operation", "preempt", "mute", "slow-boot", "unfit", "broken"]
_KIND = "fault"


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about; empty where it names none. running: the image or bundle that a guest is about to run."""

    method: str
    project: str = ""
    zone: str = ""
    accelerator: str = ""
    name: str = ""
    running: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One fault.

    kind: `error` refuses with HTTP `code`; `slow` answers `seconds` (of real time) late; `lost` does what was asked and
        breaks off in the middle of the answer; `stockout` lets a TPU create or start fail in its operation for want of
        capacity; `operation` lets any TPU operation fail with `status`; `preempt` takes preemptible and spot nodes away
        at `per_hour` (chance per hour of cloud time, each node on its own). Of guests, once a making of a node: `mute`
        boots and never asks for a registration; `slow-boot` boots `seconds` (of cloud time) longer; `unfit` fails the
        check before a job, for `message`; `broken` is what a guest comes to whenever it is about to run such an image
        (unfit) or has booted with such a bundle (halted).
    method, project, zone, accelerator, name, running: patterns with `*`; all must match.
    count: how often it fires before it goes; None for ever. probability: chance to fire, drawn from `seed`.
    until: cloud time in epoch seconds when it goes; None for never. seen: matching requests so far.
    """

    kind: Kind
    id: int = 0
    method: str = "*"
    project: str = "*"
    zone: str = "*"
    accelerator: str = "*"
    name: str = "*"
    running: str = "*"
    code: int = 503
    status: str = "UNAVAILABLE"
    message: str = ""
    seconds: float = 0.0
    per_hour: float = 0.0
    count: int | None = None
    probability: float = 1.0
    seed: int = 0
    until: float | None = None
    seen: int = 0

    def matches(self, target: Target) -> bool:
        return all(
            fnmatchcase(getattr(target, part), getattr(self, part))
            for part in ("method", "project", "zone", "accelerator", "name", "running")
        )

    @classmethod
    def from_json(cls, body: JsonObject) -> Rule:
        """Raises 400 that names the field."""
        known = {field.name: field for field in fields(cls)}
        for key, value in body.items():
            if key not in known:
                raise invalid(f"A fault has no field {key!r}; it has: {', '.join(known)}.", field=key)
            _check(key, value)
        if body.get("kind") not in get_args(Kind):
            raise invalid(f"kind is one of {', '.join(get_args(Kind))}, not {body.get('kind')!r}.", field="kind")
        if body["kind"] == "preempt" and "per_hour" not in body:
            raise invalid("preempt needs a rate: per_hour, the chance per VM and hour.", field="per_hour")
        return cls(**body)

    def to_json(self) -> JsonObject:
        return asdict(self)


class Faults:
    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, rule: Rule, *, now: float) -> Rule:
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

    def each(self, now: float) -> list[Rule]:
        """Every rule that still holds, oldest first."""
        return [rule for rule in self._all() if rule.until is None or rule.until > now]

    @property
    def any(self) -> bool:
        """Whether there is any rule at all."""
        return self._store.count(_KIND) > 0

    def spend(self, number: int, now: float) -> bool:
        """Whether a rule still holds; counts one use of it."""
        found = self._store.find(_KIND, _name(number))
        rule = Rule(**found.body) if found else None
        return rule is not None and (rule.until is None or rule.until > now) and self._fires(rule, now)

    def strike(self, kind: Kind, target: Target, now: float) -> Rule | None:
        """The first rule of a kind that fires for this request; counts it."""
        for rule in self.each(now):
            if rule.kind == kind and rule.matches(target) and self._fires(rule, now):
                return rule
        return None

    def _fires(self, rule: Rule, now: float) -> bool:
        # No secret hangs on this chance, and it must be the same every time.
        draw = random.Random(f"{rule.seed} {rule.seen}").random()  # noqa: S311
        fires = draw < rule.probability
        left = rule.count - 1 if fires and rule.count is not None else rule.count
        if left == 0:
            self.remove(rule.id)
        else:
            stored = self._store.get(_KIND, _name(rule.id))
            self._store.replace(stored, replace(rule, seen=rule.seen + 1, count=left).to_json(), now=now)
        return fires

    def _all(self) -> Iterator[Rule]:
        return (Rule(**found.body) for found in list(self._store.each(_KIND)))


def _name(number: int) -> str:
    return f"{number:09d}"


def _check(key: str, value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    whole = number and isinstance(value, int)
    right = {
        "code": whole and 400 <= value <= 599,
        "count": value is None or (whole and value > 0),
        "probability": number and 0 <= value <= 1,
        "seconds": number and value >= 0,
        "per_hour": number and value >= 0,
        "until": value is None or number,
        "seed": whole,
        "id": whole,
        "seen": whole,
        "status": value in CANONICAL,
    }.get(key, isinstance(value, str))
    if not right:
        raise invalid(f"{value!r} is no value for a fault's {key}.", field=key)
