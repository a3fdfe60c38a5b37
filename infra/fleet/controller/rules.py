"""The table of rules (`rules.yaml`): reading it, finding the row that fits, and showing it to people.

Owns the table's shape. Does not own what a situation is (`judge`) nor what keeps an action from being done (`limits`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from infra.fleet.controller.desired import ControllerSettings
from infra.fleet.controller.observed import Trouble
from infra.model.facts import read_yaml

ABSENT: Final = "ABSENT"
"""The state of what no zone lists; no state of the API."""

DEAD: Final = frozenset({"PREEMPTED", "TERMINATED", "FAILED", "STOPPED"})
"""States in which nothing runs on a VM, whatever GitHub still believes of its runner."""

GIVEN_BACK: Final = frozenset({"PREEMPTED", "TERMINATED"})
"""States in which Google took a VM back: it is dead by Google's word, holds no chips and never runs again."""

_FILE: Final = Path(__file__).with_name("rules.yaml")


class Subject(StrEnum):
    SLOT = "slot"
    ORPHAN = "orphan"
    WINDOW = "window"
    RUN_VM = "run-vm"
    STRANGER = "stranger"
    RUNNER = "runner"


class Verdict(StrEnum):
    KEEP = "keep"
    WAIT = "wait"
    CREATE = "create"
    RECREATE = "recreate"
    MOVE = "move"
    RETURN_HOME = "return-home"
    RESTART = "restart"
    DRAIN = "drain"
    DELETE = "delete"
    REMOVE = "remove"
    REPORT = "report"


class Situation(StrEnum):
    """What a row may ask for beside state and health."""

    RUNNERLESS = "runnerless"
    SERVING = "serving"
    SERVING_AWAY = "serving-away"
    UNHEARD = "unheard"
    DRAINING = "draining"
    UNFIT = "unfit"
    UNFIT_UNPROVED = "unfit-unproved"
    AT_WORK = "at-work"
    OWN_WORD = "own-word"
    IMAGELESS = "imageless"
    RESTARTED = "restarted"
    ENGINE = "engine"
    ASKED_FOR = "asked-for"
    TAKEN = "taken"
    JUST_DECLARED = "just-declared"
    MISSED_ONCE = "missed-once"
    STUCK = "stuck"
    UNPROVED = "unproved"
    PROVED = "proved"
    UNDRAINED = "undrained"
    BUSY = "busy"
    EXPIRED = "expired"
    HOLDS_RESERVATION = "holds-reservation"
    HALF_LABELLED = "half-labelled"
    FOREIGN = "foreign"
    ONLINE = "online"


Clock = Literal["state", "unserved", "restarted", "declared", "suspect", "drained"]
Limit = Literal["boot", "grace", "job"] | Annotated[int, Field(gt=0)]


class RuleRow(BaseModel):
    """One row. Before `wait` is over since `since`, its verdict is to wait. says_state: whether `why` has the state.

    boots: whether a VM of this row, until its wait is over, is on its way and nothing is wrong with it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    subject: Subject
    states: tuple[str, ...] | Literal["any"]
    health: tuple[str, ...] = ()
    when: Situation | None = None
    wait: Limit | None = None
    since: Clock | None = None
    verdict: Verdict
    freeze: bool = False
    says_state: bool = False
    boots: bool = False
    why: str

    def fits(self, subject: Subject, state: str, health: str, situations: frozenset[Situation]) -> bool:
        return (
            self.subject is subject
            and (self.states == "any" or state in self.states)
            and (not self.health or health in self.health)
            and (self.when is None or self.when in situations)
        )

    def limit(self, settings: ControllerSettings) -> timedelta | None:
        """How long is waited before the verdict counts, None for not at all."""
        if self.wait is None:
            return None
        return timedelta(minutes=getattr(settings, self.wait) if isinstance(self.wait, str) else self.wait)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The row that fits a subject. until: when its wait ends, None where it has none or where it is over."""

    subject: str
    rule: RuleRow
    until: datetime | None = None
    detail: str = ""

    @property
    def verdict(self) -> Verdict:
        return Verdict.WAIT if self.until is not None else self.rule.verdict

    @property
    def reason(self) -> str:
        return f"{self.rule.why}: {self.detail}" if self.detail else self.rule.why


class Remakes(BaseModel):
    """What is made of a VM that never serves: minutes from one replacement to the next, which double each time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: Annotated[int, Field(gt=0)]
    most: Annotated[int, Field(gt=0)]
    told_after: Annotated[int, Field(gt=0)]

    def wait(self, remade: int) -> timedelta:
        """How long after replacement number `remade` (from 1) the next may be."""
        return timedelta(minutes=min(self.most, self.first * 2 ** min(remade - 1, 16)))


class Fallback(BaseModel):
    """After how many failures of one kind, over how many minutes, a place is left for the next."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trouble: Trouble
    failures: Annotated[int, Field(gt=0)]
    minutes: Annotated[int, Field(ge=0)]
    why: str


class Silence(BaseModel):
    """After how many lists of a zone that failed in a row, over how many minutes, it is passed over for some slots.

    lacked: for how many minutes complete lists before must have lacked a VM to prove that it is not there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    lists: Annotated[int, Field(gt=0)]
    minutes: Annotated[int, Field(gt=0)]
    lacked: Annotated[int, Field(gt=0)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1]
    remakes: Remakes
    fallbacks: tuple[Fallback, ...]
    silence: Silence
    rules: tuple[RuleRow, ...]


@cache
def _table() -> _Table:
    return _Table.model_validate(read_yaml(_FILE.read_text(encoding="utf-8")))


def remakes() -> Remakes:
    """How often a VM that never serves is replaced."""
    return _table().remakes


@cache
def fallbacks() -> Mapping[Trouble, Fallback]:
    """Which troubles of a place lead to a fallback."""
    return {each.trouble: each for each in _table().fallbacks}


def silence() -> Silence:
    """When a zone that cannot be listed leads to a fallback."""
    return _table().silence


@cache
def rules() -> tuple[RuleRow, ...]:
    """Every row, in the order in which they are tried; each subject's last fits whatever no other did."""
    table = _table().rules
    if len({rule.id for rule in table}) != len(table):
        raise ValueError(f"{_FILE.name}: two rows have one id")
    for rule in table:
        if (rule.wait is None) != (rule.since is None):
            raise ValueError(f"{_FILE.name}: {rule.id} must say both `wait` and `since`, or neither")
    return table


@lru_cache(maxsize=1024)
def find(subject: Subject, state: str, health: str, situations: frozenset[Situation]) -> RuleRow:
    """The first row that fits."""
    return next(rule for rule in rules() if rule.fits(subject, state, health, situations))


def stuck_row(state: str) -> RuleRow | None:
    """The row of a state that no call of ours ends, so that a slot moves on after its wait; None for other states."""
    found = find(Subject.SLOT, state, "", frozenset())
    return found if found.verdict is Verdict.MOVE else None


@cache
def rule(rule_id: str) -> RuleRow:
    """The row of that id; KeyError where there is none."""
    for each in rules():
        if each.id == rule_id:
            return each
    raise KeyError(rule_id)


def markdown() -> str:
    """The table as documentation shows it."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "| Rule | State, health | When | Waits | Then | In a freeze | Because |"
    yield "| -- | -- | -- | -- | -- | -- | -- |"
    for each in rules():
        states = "any" if each.states == "any" else ", ".join(each.states)
        health = f"; {', '.join(each.health)}" if each.health else ""
        waits = "" if each.wait is None else f"{_minutes(each.wait)} since {each.since}"
        freeze = "yes" if each.freeze else "held"
        cells = (f"`{each.id}`", states + health, each.when or "", waits, f"**{each.verdict}**", freeze, each.why)
        yield f"| {' | '.join(cells)} |"


def _minutes(wait: str | int) -> str:
    return f"`{wait}`" if isinstance(wait, str) else f"{wait} min"
