"""What keeps an action from being done now: freeze windows, the fuse, caps that grow with a pool, the last runner.

Owns the limits and the order in which they are asked. Chips are counted before (`placing`). Each refusal names its
limit. What Google took back is dead by its word, and is looked up by name before it is deleted: fuse and hourly cap are
for what may still live.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from infra.fleet.controller.actions import (
    Delete,
    Drain,
    Held,
    Proposal,
    RemoveRunner,
    subject,
)
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.memory import Fuse, Memory
from infra.model import freezes, healing

HOUR: Final = timedelta(hours=1)
FUSE_MINUTES: Final = 15
FUSE_SWEEPS: Final = 3
"""How long, and in how many sweeps in a row, a blown fuse must see the same before it lets deletions trickle."""
A_SWEEP: Final[Mapping[type, int]] = {Delete: 25, RemoveRunner: 10}
"""How many actions of a kind one sweep does at most. Each asks GitHub once more, which counts calls by the hour, and a
broker grants so many removals a minute (`infra.fleet.broker.bindings.REMOVALS`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """How much of the fleet looks lost in one sweep, beside what Google took back.

    dead: of so many `slots`, which are declared. orphans: of so many `listed`, which are ours.
    """

    dead: int
    slots: int
    orphans: int
    listed: int

    @property
    def blow(self) -> bool:
        """More than a third, and more than one: one of two VMs is a loss that happens."""
        return self.costs or _too_many(self.orphans, self.listed)

    @property
    def costs(self) -> bool:
        """Whether it is the declared fleet of which too much looks lost."""
        return _too_many(self.dead, self.slots)

    def __str__(self) -> str:
        return (
            f"{self.dead} of {self.slots} declared VMs look lost, {self.orphans} of {self.listed} would go as orphans"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limited:
    """What may be done, and what is held."""

    allowed: tuple[Proposal, ...]
    held: tuple[Held, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hold:
    """What `Held` says beside the action."""

    why: str
    until: datetime | None = None
    stands: bool = False


def frozen(desired: Desired, now: datetime) -> str:
    """The freeze window that holds now, empty where none does."""
    return next((each.freeze.name for each in freezes.standing(desired.freezes, now) if not each.overridden), "")


def is_far(until: datetime, now: datetime) -> bool:
    """Whether nobody would wait for it at a terminal."""
    return until - now > HOUR


def fuse(before: Fuse | None, losses: Losses, now: datetime) -> Fuse | None:
    """The fuse after a sweep: blown for as long as too much looks lost."""
    if not losses.blow:
        return None
    return replace(before, sweeps=before.sweeps + 1) if before else Fuse(since=now)


def trickles(blown: Fuse, now: datetime) -> bool:
    """Whether the picture has stood long enough to be true: then one VM a pool and sweep is dealt with."""
    return now - blown.since >= timedelta(minutes=FUSE_MINUTES) and blown.sweeps >= FUSE_SWEEPS


def limited(
    proposals: Sequence[Proposal],
    *,
    desired: Desired,
    memory: Memory,
    serving: Mapping[str, frozenset[str]],
    blown: Fuse | None,
    now: datetime,
) -> Limited:
    """Ask every limit of every proposal, urgent ones first, and of those what was tried least.

    serving: by pool, VMs that take jobs now.
    """
    window = frozen(desired, now)
    replaced = Counter({pool: _within_hour(times, now) for pool, times in memory.replacements.items()})
    vms = Counter(slot.pool for slot in desired.slots)
    dealt: Counter[str] = Counter()
    done: Counter[type] = Counter()
    taken: dict[str, set[str]] = {}
    allowed, held = [], []
    for proposal in sorted(proposals, key=lambda each: _turn(each, memory)):
        pool = proposal.pool
        hold, kind = None, type(proposal.action)
        if window and not proposal.freeze:
            thaw = freezes.thaws(desired.freezes, now)
            hold = _Hold(why=f"freeze window {window}", until=thaw, stands=is_far(thaw, now))
        elif blown and proposal.deletes and not trickles(blown, now):
            why = f"the fuse is blown since {blown.since:%H:%M}: more than a third of the fleet looks lost at once"
            hold = _Hold(why=why)
        elif blown and proposal.deletes and dealt[pool]:
            hold = _Hold(why="the fuse is blown: one VM a pool and sweep")
        elif done[kind] >= A_SWEEP.get(kind, len(proposals)):
            hold = _Hold(why=f"this sweep has done {done[kind]} of this kind; the next goes on")
        elif proposal.replaces and replaced[pool] >= healing.replaced_an_hour(vms[pool], desired.settings.replacements):
            why = f"pool {pool} has reached its limit of {replaced[pool]} replacements an hour"
            hold = _Hold(why=why, until=_next_replacement(memory.replacements.get(pool, ()), now))
        elif proposal.takes and _takes_the_last(proposal, serving, taken, now):
            patience = proposal.patience if not taken.get(pool) else None
            stands = proposal.patience is None and not taken.get(pool)
            hold = _Hold(why=f"no other VM of pool {pool} serves", until=patience, stands=stands)
        if hold:
            held.append(Held(action=proposal.action, why=hold.why, until=hold.until, stands=hold.stands))
            continue
        allowed.append(proposal)
        dealt[pool] += proposal.deletes
        done[kind] += 1
        replaced[pool] += proposal.replaces
        if proposal.takes:
            taken.setdefault(pool, set()).add(proposal.takes)
    return Limited(allowed=tuple(allowed), held=tuple(held))


def _turn(proposal: Proposal, memory: Memory) -> tuple[int, int, str, str, bool]:
    """What fails each time must not take every other one's turn.

    Replacements are counted. Of deletes that one sweep does only so many of, another lot is drawn in every sweep, from
    its number and the subject alone. What a VM shall run is told before whether it is drained: the first may say that
    too, as it was.
    """
    about = subject(proposal.action)
    known = memory.vms.get(about)
    lot = f"{memory.sweeps} {about}" if type(proposal.action) in A_SWEEP else ""
    drawn = hashlib.sha256(lot.encode()).hexdigest() if lot else ""
    return proposal.urgency, known.attempts if known else 0, drawn, about, isinstance(proposal.action, Drain)


def replacements(
    before: Mapping[str, tuple[datetime, ...]], done: Iterable[Proposal], now: datetime
) -> dict[str, tuple[datetime, ...]]:
    """The times of replacements by pool, with this sweep's."""
    times = {pool: tuple(at for at in each if now - at < HOUR) for pool, each in before.items()}
    for proposal in done:
        if proposal.replaces:
            times[proposal.pool] = (*times.get(proposal.pool, ()), now)
    return times


def _takes_the_last(
    proposal: Proposal, serving: Mapping[str, frozenset[str]], taken: Mapping[str, set[str]], now: datetime
) -> bool:
    """Whether nobody would serve after it. It waits until its patience ends, and never where others go now too."""
    gone = taken.get(proposal.pool, set())
    left = serving.get(proposal.pool, frozenset()) - gone - {proposal.takes}
    if left:
        return False
    return bool(gone) or proposal.patience is None or now < proposal.patience


def _next_replacement(times: Iterable[datetime], now: datetime) -> datetime | None:
    """When the oldest of the hour no longer counts; None where all of them are of this sweep."""
    return min((at + HOUR for at in times if now - at < HOUR), default=None)


def _within_hour(times: Iterable[datetime], now: datetime) -> int:
    return sum(now - at < HOUR for at in times)


def _too_many(lost: int, all_of_them: int) -> bool:
    return lost > 1 and 3 * lost > all_of_them
