"""What follows in a run: which place is tried next, whether its command has ended, and how.

Pure: no call, no clock. Times are seconds of one clock. What a refusal of Google's means is
`infra.fleet.controller.tpu_api`; here it decides what is tried next:

- stockout: the next place at once; the same one again in the next round, after a pause.
- quota: this place not again, since only somebody who deletes or raises changes it.
- request limit: the same place again once the minute is over, and no attempt is counted.
- outage: the same place again, a few times and later each time, then the next one.
- refused: nothing is tried again, since the request is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from infra.fleet.controller.rules import DEAD
from infra.fleet.runs.guest import KILLED, TIMED_OUT
from infra.model.json_shape import JsonShape

PAUSE: Final = 60.0
"""Between two rounds over all places."""
REQUEST_LIMIT: Final = 60.0
"""After which a limit of requests in a minute counts no more of ours."""
OUTAGE: Final = 10.0
"""Before the first try after an outage; twice as long before the next."""
OUTAGES: Final = 3
"""Tries in a row of a place whose service does not work."""
LEAVING: Final = frozenset({"STOPPING", "DELETING", "HIDING", "HIDDEN"})


class Obstacle(StrEnum):
    """Why one attempt gave no VM."""

    STOCKOUT = "stockout"
    QUOTA = "quota"
    REQUEST_LIMIT = "request-limit"
    OUTAGE = "outage"
    REFUSED = "refused"


class Reason(StrEnum):
    """How a run ended, as `--json` says it: by its command, or by what kept it from one."""

    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    NOT_INSTALLED = "not-installed"
    NOT_STARTED = "not-started"
    NOT_READY = "not-ready"
    UNPROVED = "unproved"
    TAKEN_BACK = "taken-back"
    STOCKOUT = "stockout"
    QUOTA = "quota"
    REQUEST_LIMIT = "request-limit"
    OUTAGE = "outage"
    REFUSED = "refused"
    CEILING = "ceiling"
    CANCELLED = "cancelled"

    @property
    def of_the_command(self) -> bool:
        """Whether the command, or what installs for it, ran and decided it."""
        return self in (Reason.DONE, Reason.FAILED, Reason.TIMED_OUT, Reason.NOT_INSTALLED)


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt that gave no VM. place: its number. at: when it was over."""

    place: int
    obstacle: Obstacle
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class TryPlace:
    """Ask for the VM at this place, not before that time."""

    place: int
    after: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No VM is to be had. says: in words, for people."""

    reason: Reason
    says: str


def next_attempt(places: int, rounds: int, tried: Sequence[Tried], *, now: float, until: float) -> TryPlace | GiveUp:
    """What follows on the attempts so far. until: when no attempt may begin any more."""
    last = tried[-1] if tried else None
    if last is not None and last.obstacle is Obstacle.REFUSED:
        return GiveUp(Reason.REFUSED, last.text)
    found = _next(places, rounds, tried, now)
    if isinstance(found, TryPlace) and found.after > until:
        return _given_up(tried, "the time for it is over")
    return found


def _next(places: int, rounds: int, tried: Sequence[Tried], now: float) -> TryPlace | GiveUp:
    counted = [each for each in tried if each.obstacle is not Obstacle.REQUEST_LIMIT]
    if tried and tried[-1].obstacle is Obstacle.REQUEST_LIMIT:
        return TryPlace(tried[-1].place, tried[-1].at + REQUEST_LIMIT)
    if counted and counted[-1].obstacle is Obstacle.OUTAGE:
        row = _in_a_row(counted)
        if row < OUTAGES:
            return TryPlace(counted[-1].place, counted[-1].at + OUTAGE * 2 ** (row - 1))
    closed = {each.place for each in counted if each.obstacle is Obstacle.QUOTA}
    times = {place: _rounds(place, counted) for place in range(places) if place not in closed}
    open_places = {place: count for place, count in times.items() if count < rounds}
    if not open_places:
        return _given_up(tried, f"{_counted(places, 'place')}, {_counted(rounds, 'round')}")
    least = min(open_places.values())
    place = min(place for place, count in open_places.items() if count == least)
    pause = (
        PAUSE if least and times and all(count >= least for count in times.values()) and _begins(place, times) else 0.0
    )
    return TryPlace(place, (tried[-1].at if tried else now) + pause)


def _begins(place: int, times: Mapping[int, int]) -> bool:
    """Whether a round begins with this place: nobody is ahead of it."""
    return all(count == times[place] for count in times.values())


def _rounds(place: int, counted: Sequence[Tried]) -> int:
    """How often a place had its turn; tries again after outages are one."""
    turns, before = 0, None
    for each in counted:
        again = before is not None and before.place == each.place and before.obstacle is Obstacle.OUTAGE
        turns += each.place == place and not again
        before = each
    return turns


def _in_a_row(counted: Sequence[Tried]) -> int:
    row = 0
    for each in reversed(counted):
        if (each.place, each.obstacle) != (counted[-1].place, Obstacle.OUTAGE):
            break
        row += 1
    return row


def _given_up(tried: Sequence[Tried], why: str) -> GiveUp:
    """A stockout somewhere is what a later try may mend, so it names the whole; else what came last."""
    obstacles = [each.obstacle for each in tried]
    obstacle = Obstacle.STOCKOUT if Obstacle.STOCKOUT in obstacles else obstacles[-1] if obstacles else Obstacle.OUTAGE
    last = next((each.text for each in reversed(tried) if each.obstacle is obstacle), "nothing was tried")
    return GiveUp(Reason(obstacle.value), f"no VM after {_counted(len(tried), 'attempt')} ({why}): {last}")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


# The VM and its command.


@dataclass(frozen=True, slots=True)
class HostStatus:
    """What a host says of itself. code: of the command, None before it has ended.

    log, results: the SHA-256 of all that it printed and of what comes back, once it has ended.
    """

    phase: str
    code: int | None = None
    why: str = ""
    log: str = ""
    results: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended. code: of its command, None where there is none."""

    reason: Reason
    says: str
    code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd(JsonShape):
    """How a run ended. vm_seconds: for how long its VM stood READY. results: what came back, below `into`.

    left: what could not be deleted, in words; the controller deletes it when its time to live is over.
    """

    JSON = (
        "run", "vm", "reason", "says", "code", "zone", "capacity", "accelerator", "vmSeconds=vm_seconds",
        "results", "left",
    )  # fmt: skip

    run: str
    vm: str
    reason: str
    says: str
    code: int | None
    zone: str
    capacity: str
    accelerator: str
    vm_seconds: int
    results: tuple[str, ...] = ()
    left: str = ""

    @property
    def done(self) -> bool:
        return self.reason == Reason.DONE and not self.left

    @property
    def vm_use(self) -> str:
        """How long its VM was READY, and where, in words."""
        if not self.vm_seconds:
            return "no VM of this run became READY"
        return f"{self.vm} was READY for {self.vm_seconds} s in {self.zone}, {self.capacity}"


def gone(state: str | None) -> bool:
    """Whether a VM in that state serves nobody any more; None for one that is not there."""
    return state is None or state in DEAD or state in LEAVING


def ended(
    state: str | None,
    hosts: Sequence[HostStatus | None],
    *,
    now: float,
    ready_by: float,
    over_by: float,
    doubts: str = "",
) -> Ended | None:
    """How the run ended, None while it goes on.

    state: of the VM, None where it is not there. hosts: what each says, None while it says nothing that is believed.
    ready_by: when all must run the command. over_by: when it must have ended. doubts: why the last report of a host is
    not believed, empty where each is.
    """
    said = [each for each in hosts if each is not None]
    if failed := next((each for each in said if each.phase in _PHASES or each.code), None):
        return _failed(failed)
    if sum(each.code is not None for each in said) == len(hosts):
        return Ended(Reason.DONE, "the command ended well", 0)
    if gone(state):
        return Ended(Reason.TAKEN_BACK, f"Google took the VM back ({state or 'it is gone'}), so there is no result")
    running = sum(each.phase in ("running", "ended") for each in said)
    if doubts and now >= (over_by if running == len(hosts) else ready_by):
        return Ended(Reason.UNPROVED, f"what the VM says has no proof that it is the VM's: {doubts}")
    if running < len(hosts) and now >= ready_by:
        return Ended(Reason.NOT_READY, f"{running} of {_counted(len(hosts), 'host')} ran the command in time")
    if now >= over_by:
        return Ended(Reason.TIMED_OUT, "the command did not end within its limit", TIMED_OUT)
    return None


_PHASES: Final = {"not-begun": Reason.NOT_STARTED, "not-installed": Reason.NOT_INSTALLED}
ENDS: Final = ("ended", *_PHASES)
"""Phases after which a host says nothing more."""


def _failed(host: HostStatus) -> Ended:
    if host.phase in _PHASES:
        return Ended(_PHASES[host.phase], f"the VM could not begin the command: {host.why}")
    if host.code in (TIMED_OUT, KILLED):
        return Ended(Reason.TIMED_OUT, "the command did not end within its limit", host.code)
    return Ended(Reason.FAILED, f"the command ended with exit code {host.code}", host.code)
