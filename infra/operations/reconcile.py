"""Bring a fleet to its manifest, as its controller does: one sweep, or one after another.

Owns how many sweeps there are, and when they end. What a sweep does is `infra.fleet.controller`. One sweep:

    fleet = open_fleet("ci")
    for swept in reconcile("ci", fleet.place, guests=guests_at(fleet.place.endpoint)):
        print(swept)
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from infra.fleet.controller.act import CALL_SECONDS
from infra.fleet.controller.actions import Held, Waiting, subject, verb
from infra.fleet.controller.events import Result
from infra.fleet.controller.outcomes import ActionOutcome
from infra.fleet.controller.sweep import NO_SWEEP, Sweeper, Swept, summary
from infra.fleet.google import clients
from infra.fleet.place import FleetPlace
from infra.fleet.sweep_log import SweepLog
from infra.operations.errors import Failure
from infra.preview.words import due

__all__ = (
    "EVERY", "ActionOutcome", "Held", "Result", "Swept", "UnsettledError", "Unswept", "Waiting", "reconcile", "subject",
    "summary", "sweeps", "verb",
)  # fmt: skip

MOST_SWEEPS: Final = 500
"""After so many on the local cloud, something never ends."""

_SHOWN: Final = 10
"""Lines of what is left, so that a fleet that is held as a whole still fits a screen."""
EVERY: Final = 120.0
"""Seconds between two sweeps."""


class Guests(Protocol):
    """The simulated guests of a local cloud's VMs, which live only while somebody lets them."""

    def settle(self) -> object:
        """Let every guest do what it had time for."""

    def advance(self, seconds: float) -> None:
        """Move the cloud's clock, and let the guests live meanwhile."""


@dataclass(frozen=True, slots=True)
class Unswept:
    """A sweep that could not begin, or could not go on."""

    reason: str


class UnsettledError(Failure):
    """More sweeps would settle nothing. swept: the last one that there was, in which all that is left stands."""

    def __init__(self, said: str, swept: Swept | None) -> None:
        self.swept = swept
        super().__init__(said)


def reconcile(
    stack: str,
    place: FleetPlace,
    *,
    watch: bool = False,
    until_settled: bool = False,
    retry: bool = False,
    every: float = EVERY,
    guests: Guests | None = None,
    log: Callable[[str], None] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[Swept | Unswept]:
    """The sweeps over a stack at its place, each as it ends. The other keywords are those of `sweeps`.

    guests: on a local cloud, whose clock is moved where `until_settled` waits. log: gets each line of the sweeps' log.
    environ: says which version the app's key is, of which the log tells.

    Raises GoogleError without credentials, and as `sweeps` does.
    """
    pause = guests.advance if guests and until_settled else time.sleep
    with clients(place.project, place.endpoint, hurried=True, seconds=CALL_SECONDS) as google:
        lines = SweepLog.told(stack, place, google, environ, log) if log else None
        sweeper = place.sweeper(stack, google, pause=pause)
        for each in sweeps(
            sweeper, watch=watch, until_settled=until_settled, retry=retry, every=every, guests=guests, pause=pause
        ):
            if lines:
                if isinstance(each, Unswept):
                    lines.unswept(each.reason)
                else:
                    lines.swept(each)
            yield each


def sweeps(
    sweeper: Sweeper,
    *,
    watch: bool = False,
    until_settled: bool = False,
    retry: bool = False,
    every: float = EVERY,
    guests: Guests | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[Swept | Unswept]:
    """One sweep, or sweeps `every` so many seconds.

    watch: sweep until interrupted; a sweep that cannot begin ends nothing then, and else it raises its error after it
    was yielded. until_settled: sweep until nothing is left to do. retry: the first sweep that can begin makes again
    what could not be made, though it has to wait. pause: waits so many seconds.

    Raises UnsettledError, and as `Sweeper.sweep` does.
    """
    for number in itertools.count(1):
        if guests:
            guests.settle()
        swept = None
        try:
            swept = sweeper.sweep(retry=retry)
        except NO_SWEEP as error:
            yield Unswept(str(error))
            if not watch:
                raise
        if swept is not None:
            retry = False
            yield swept
        if not (watch or until_settled) or (until_settled and swept is not None and swept.settled):
            return
        if until_settled:
            _check_that_sweeps_help(swept, number if guests else 0)
        pause(every)


def _check_that_sweeps_help(swept: Swept | None, number: int) -> None:
    if swept is not None and swept.decision.at_rest:
        raise UnsettledError("more sweeps change nothing; a person or time does", swept)
    if number >= MOST_SWEEPS:
        raise UnsettledError(f"the fleet is not settled after {number} sweeps", swept)


def unsettled(error: UnsettledError) -> str:
    """Why it ends, and all that is left."""
    if error.swept is None:
        return str(error)
    lines = left(error.swept)
    more = [f"and {len(lines) - _SHOWN} more (--json has all)"] if len(lines) > _SHOWN else []
    return "\n  ".join([f"{error}; what is left:", *lines[:_SHOWN], *more])


def left(swept: Swept) -> list[str]:
    """What keeps a fleet from being settled, a line for each thing; what cannot be asked comes first."""
    decision, now = swept.decision, swept.at
    unknown = [f"{each.subject} is unknown: {each.reason}" for each in decision.findings if each.rule == "unknown"]
    return [
        *unknown,
        *(held_words(each, now) for each in decision.held),
        *(waiting_words(each, now) for each in decision.waiting),
    ]


def outcome_words(outcome: ActionOutcome) -> str:
    """What an action came to. Google's own words on a create are long, and belong to the VM's story."""
    subject_ = subject(outcome.action)
    came_to = "; begun, and not made yet" if outcome.is_begun else ""
    if outcome.result is not Result.DONE:
        why = f"{outcome.trouble.value} (`./tidepool why {subject_}`)" if outcome.trouble else outcome.text
        came_to = f"; {outcome.result.value}: {why}"
    return f"{verb(outcome.action)} {subject_}: {outcome.action.reason}{came_to}"


def held_words(held: Held, now: datetime) -> str:
    until = f" until {due(held.until, now)}" if held.until else ""
    return f"{verb(held.action)} {subject(held.action)}: {held.why}{until}; {held.action.reason}"


def waiting_words(waiting: Waiting, now: datetime) -> str:
    until = f" (until {due(waiting.until, now)})" if waiting.until else ""
    return f"{waiting.subject}: {waiting.reason}{until}"
