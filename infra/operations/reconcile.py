"""Bring a fleet to its manifest, as its controller does: one sweep, or one after another.

Owns how many sweeps there are, and when they end. What a sweep does is `infra.fleet.controller`, what is told of it
`infra.operations.sweep_words`. One sweep:

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
from typing import Final

from infra.engines.bench import Guests
from infra.fleet.controller.act import CALL_SECONDS
from infra.fleet.controller.lookout import Lookout
from infra.fleet.controller.sweep import NO_SWEEP, Sweeper, Swept
from infra.fleet.google import clients
from infra.fleet.place import FleetPlace
from infra.fleet.sweep_log import SweepLog
from infra.operations.errors import Failure
from infra.operations.ports import SWEEP_SECONDS
from infra.tools import collector

MOST_SWEEPS: Final = 500
"""After so many on the local cloud, something never ends."""


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
    every: float = SWEEP_SECONDS,
    guests: Guests | None = None,
    log: Callable[[str], None] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[Swept | Unswept]:
    """The sweeps over a stack at its place, each as it ends. The other keywords are those of `sweeps`.

    every: seconds between two sweeps, unless a look between them sees that a VM is dead or a delete has ended.
    guests: on a local cloud, whose clock is moved where `until_settled` waits. log: gets each line of the sweeps' log.
    environ: says which version the app's key is, of which the log tells.

    Raises GoogleError without credentials, and as `sweeps` does.
    """
    pause = guests.advance if guests and until_settled else time.sleep
    with clients(place.project, place.endpoint, hurried=True, seconds=CALL_SECONDS) as google:
        lines = SweepLog.told(stack, place, google, environ, log) if log else None
        sweeper = place.sweeper(stack, google, pause=pause)

        def rest(swept: Swept | None) -> None:
            # Where the clock is moved, nobody waits for anything.
            Lookout(google=google, swept=swept if pause is time.sleep else None).waits(every, pause)

        for each in sweeps(sweeper, watch=watch, until_settled=until_settled, retry=retry, guests=guests, rest=rest):
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
    guests: Guests | None = None,
    rest: Callable[[Swept | None], None] = lambda _: None,
) -> Iterator[Swept | Unswept]:
    """One sweep, or one after another.

    watch: sweep until interrupted; a sweep that cannot begin ends nothing then, and else it raises its error after it
    was yielded. until_settled: sweep until nothing is left to do. retry: the first sweep that can begin makes again
    what could not be made, though it has to wait. rest: waits between two, having the one before, None where that could
    not begin.

    Raises UnsettledError, and as `Sweeper.sweep` does.
    """
    if watch or until_settled:
        collector.as_usual()
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
        rest(swept)


def _check_that_sweeps_help(swept: Swept | None, number: int) -> None:
    if swept is not None and swept.decision.at_rest:
        raise UnsettledError("more sweeps change nothing; a person or time does", swept)
    if number >= MOST_SWEEPS:
        raise UnsettledError(f"the fleet is not settled after {number} sweeps", swept)
