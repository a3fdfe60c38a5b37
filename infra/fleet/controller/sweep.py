"""One sweep: take the lease, read, look, decide, remember, act, remember again, and say what it came to.

Owns the order and the records. Does not own looking (`observe`), deciding (`decide`) nor doing (`act`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from infra.fleet.controller import by_hour, manifests
from infra.fleet.controller.act import Actor
from infra.fleet.controller.actions import Decision, FleetFinding, Waiting, described, verb
from infra.fleet.controller.books import Books
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.events import Result
from infra.fleet.controller.lease import SWEEP_TIME, Lease, LeaseKind, LeaseTakenError, epoch, held
from infra.fleet.controller.observe import Observer
from infra.fleet.controller.observed import Observed
from infra.fleet.controller.outcomes import ActionOutcome
from infra.fleet.controller.remembered import Lessons, Remembered, SweepError
from infra.fleet.google import GoogleError
from infra.fleet.records import JSON, Records, encode
from infra.model import bucket_names

VERSION: Final = 1
NO_SWEEP: Final = (LeaseTakenError, SweepError, GoogleError)
"""What `Sweeper.sweep` raises where a sweep cannot begin, or must not go on."""

_RENEWED: Final = SWEEP_TIME / 15
"""A lease this old is renewed before the next call: one action may take minutes where a service is slow."""


class CutOffError(KeyboardInterrupt):
    """Ctrl-C or SIGTERM in a sweep; its text says what has become of it."""

    def __init__(self) -> None:
        super().__init__(
            "Interrupted in a sweep: what it had asked of Google and GitHub goes on there, and the rest was not done. "
            "The next sweep looks at all of it anew."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep saw, decided and did. desired: the manifest that it kept the fleet to."""

    at: datetime
    desired: Desired
    observed: Observed
    decision: Decision
    outcomes: tuple[ActionOutcome, ...]

    @property
    def settled(self) -> bool:
        """Whether nothing was done, nothing failed and nothing is waited for."""
        return self.decision.settled

    @property
    def failed(self) -> bool:
        """Whether something that it did came to nothing."""
        return any(outcome.result is Result.FAILED for outcome in self.outcomes)

    @property
    def serving(self) -> frozenset[str] | None:
        """Declared VMs that take jobs; None where a source that says so did not answer."""
        observed = self.observed
        if not (observed.hears(self.desired.scopes) and all(source.known for source in observed.zones.values())):
            return None
        ready = {node.name for node in observed.nodes if node.state == "READY"}
        online = {runner.vm for runner in observed.runners if runner.online}
        return frozenset(slot.name for slot in self.desired.slots if slot.name in ready & online)

    def to_json(self) -> dict[str, Any]:
        """As `control/STACK/sweep.json` and `--json` have it."""
        upcoming = self.decision.next
        sources = self.observed.sources
        return {
            "version": VERSION,
            "at": self.at.isoformat(),
            "settled": self.settled,
            "fuse": self.decision.fuse_blown,
            "freeze": self.decision.frozen or None,
            "engine": self.observed.engine or None,
            "sources": {
                str(name): {"known": source.known, "reason": source.reason} for name, source in sorted(sources.items())
            },
            "pools": {
                pool: {key: getattr(figures, key) for key in ("desired", "ready", "online", "busy", "away")}
                | {"unhealthy": {vm: each.reason for vm, each in figures.unhealthy.items()}}
                | {"booting": {vm: each.reason for vm, each in figures.booting.items()}}
                for pool, figures in self.decision.pools.items()
            },
            "actions": [
                described(each.action) | {"result": each.result.value, "text": each.text} for each in self.outcomes
            ],
            "held": [
                described(each.action) | {"held": each.why, "until": each.until and each.until.isoformat()}
                for each in self.decision.held
            ],
            "waiting": [_told(each, until=each.until) for each in self.decision.waiting],
            "findings": [_told(each, since=each.since) for each in self.decision.findings],
            "next": {"subject": upcoming.subject, "reason": upcoming.reason, "at": upcoming.until.isoformat()}
            if upcoming and upcoming.until
            else None,
        }


def _told(of: Waiting | FleetFinding, **at: datetime | None) -> dict[str, str | None]:
    times = {key: moment.isoformat() if moment else None for key, moment in at.items()}
    return {"subject": of.subject, "rule": of.rule, "reason": of.reason, **times}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweeper:
    """Sweeps over one stack. clock: of the cloud, with a time zone; a sweep decides by one reading of it."""

    stack: str
    records: Records
    observer: Observer
    actor: Callable[[Desired], Actor]
    clock: Callable[[], datetime]

    def sweep(self, *, retry: bool = False) -> Swept:
        """One sweep under the lease; retry: creates that failed are tried again though they have to wait.

        Raises LeaseTakenError, SweepError, GoogleError; CutOffError where it is interrupted.
        """
        try:
            return self._swept(retry=retry)
        except KeyboardInterrupt:
            raise CutOffError from None

    def _swept(self, *, retry: bool) -> Swept:
        with held(self.records, self.stack, LeaseKind.CONTROLLER, self.clock, SWEEP_TIME) as lease:
            desired, generation, updated = self._desired()
            remembered = Remembered.read(self.records, self.stack, lease.holder, self.clock())
            memory = remembered.memory
            now = self.clock()
            desired = by_hour.at(desired, now, memory)
            observed = self.observer.observe(desired, memory)
            observed = replace(observed, epoch=epoch(generation, lease.commanded))
            if generation != lease.applied:
                observed = replace(observed, declared=updated)
            decision = decide(desired, observed, memory.without_waits() if retry else memory, now)
            books = Books(records=self.records, stack=self.stack, last=memory.last)
            remembered.write(decision.memory, acts=bool(decision.actions))
            books.keep(observed, decision.memory, now)
            left = desired.but({zone for zone in desired.zones if memory.is_given_up(zone, observed, now)})
            actor = replace(self.actor(left), seen=observed, memory=decision.memory)
            outcomes = self._act(actor, decision, lease, remembered)
            swept = Swept(at=now, desired=desired, observed=observed, decision=decision, outcomes=outcomes)
            # Whatever stands there: nothing is decided by it.
            content = encode(swept.to_json())
            self.records.update_content(bucket_names.sweep_object(self.stack), lambda _: content, JSON)
            return swept

    def _desired(self) -> tuple[Desired, int, datetime]:
        """The fleet of the manifest, its generation, and when it was written. Raises SweepError."""
        name = bucket_names.manifest_object(self.stack)
        record = self.records.read(name)
        if record is None:
            raise SweepError(f"gs://{self.records.bucket}/{name} does not exist; `./tidepool up {self.stack}` makes it")
        try:
            desired = manifests.read_for(self.stack, self.observer.project, record.body)
        except manifests.ManifestError as error:
            raise SweepError(f"gs://{self.records.bucket}/{name}: {error}; nothing was done") from None
        return desired, record.generation, record.updated

    def _act(self, actor: Actor, decision: Decision, lease: Lease, remembered: Remembered) -> tuple[ActionOutcome, ...]:
        """Do it all, renewing the lease on the way; what is left when it cannot be renewed is not done.

        What is learned is remembered on the way.
        """
        lessons = Lessons(
            desired=actor.desired,
            memory=decision.memory,
            write=remembered.write,
            clock=self.clock,
            last=self.clock(),
        )
        for outcome in actor.all(decision.actions, _Holding(lease).lost):
            lessons.hear(outcome)
        lessons.close()
        turns = {id(action): turn for turn, action in enumerate(decision.actions)}
        return tuple(sorted(lessons.outcomes, key=lambda outcome: turns[id(outcome.action)]))


@dataclass(slots=True)
class _Holding:
    """A lease that is renewed while its holder acts. why: since when it could not be, for good."""

    lease: Lease
    why: str = ""

    def lost(self) -> str:
        """Why nothing more may be done, empty while it may."""
        if not self.why and self.lease.is_older_than(_RENEWED):
            try:
                self.lease.take()
            except (GoogleError, LeaseTakenError) as error:
                self.why = f"the lease was lost: {error}"
            else:
                if self.lease.is_older_than(self.lease.time):  # What was written was over by then.
                    self.why = "the lease was lost: renewing it took longer than it lasts"
        return self.why


def summary(swept: Swept) -> str:
    """One line on a sweep."""
    done = Counter(
        f"{verb(each.action)} begun" if each.is_begun else str(verb(each.action))
        for each in swept.outcomes
        if each.result is Result.DONE
    )
    undone = Counter(each.result for each in swept.outcomes if each.result is not Result.DONE)
    said = [f"{count} {what}" for what, count in sorted(done.items())]
    said += [f"{undone[result]} {result}" for result in Result if undone[result]]
    said += [f"{len(swept.decision.held)} held"] if swept.decision.held else []
    said += [f"{len(swept.decision.waiting)} waiting"] if swept.decision.waiting else []
    return ", ".join(said) or "nothing to do"
