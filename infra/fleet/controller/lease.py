"""The lease on a stack's fleet: who acts on it now, so that `up` and the controller, or two sweeps, never act together.

Owns taking, renewing and giving back, and which manifest an `up` has ended with: of a newer one nobody can say whether
a plain `pulumi up` still makes what it declares. A holder that died is succeeded once its time is over, or at once by
who knows that it ended. Where the record cannot be read, the version before says who holds it. Each change carries the
generation that was read, so that of two takers one is told that it lost.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from infra.fleet.google import GoogleError
from infra.fleet.records import Body, Records
from infra.model import bucket_names
from infra.model.errors import OutsideError

VERSION: Final = 1
SWEEP_TIME: Final = timedelta(minutes=5)
"""Longer than a sweep with all its deadlines; a controller that died is succeeded after it."""
UP_TIME: Final = timedelta(minutes=10)
"""A command renews its lease while it works; one whose machine died is succeeded after it."""
_AHEAD: Final = timedelta(minutes=15)
"""How far a holder's clock may be ahead: a lease that ends later than this allows is nonsense, and holds nobody."""


class LeaseKind(StrEnum):
    UP = "up"
    CONTROLLER = "controller"
    DRAIN = "drain"
    DESTROY = "destroy"


MAKERS: Final = frozenset({LeaseKind.UP, LeaseKind.DESTROY})
"""Commands that make and delete VMs."""


class LeaseTakenError(OutsideError):
    """Somebody else acts on the fleet; its text says who and until when."""

    def __init__(self, stack: str, kind: str, holder: str, until: datetime) -> None:
        self.until = until
        what = "the controller" if kind == LeaseKind.CONTROLLER else f"`./tidepool {kind}`"
        super().__init__(f"{what} ({holder}) holds the fleet of {stack} until {until:%Y-%m-%d %H:%M:%S} UTC at most")


@dataclass(slots=True, kw_only=True)
class Lease:
    """One holder's lease. clock: of the cloud, with a time zone. ended: whether another holder is known to have ended.

    last: when it was taken or renewed. applied: the generation of the manifest with which an `up` last ended, as the
    lease says; None where none has. commanded: which command that makes VMs held it last.
    """

    records: Records
    stack: str
    kind: LeaseKind
    holder: str
    time: timedelta
    clock: Callable[[], datetime]
    ended: Callable[[str], bool] = lambda _: False
    last: datetime | None = None
    applied: int | None = None
    commanded: str | None = None

    def take(self) -> None:
        """Take or renew it. Raises LeaseTakenError while another holds it, GoogleError where the bucket fails."""
        self.records.update(bucket_names.lease_object(self.stack), self._taken, mends=True)

    def is_older_than(self, time: timedelta) -> bool:
        """Whether it was taken or renewed so long ago."""
        return self.last is None or self.clock() - self.last >= time

    def give_back(self) -> None:
        """End it, if it is still ours. An `up` says which manifest stands now: it makes nothing of it any more."""
        if self.kind is LeaseKind.UP:
            # A look-up that fails must not leave the lease held: the controller then only waits a while longer.
            with suppress(GoogleError):
                self.applied = self.records.generation(bucket_names.manifest_object(self.stack)) or self.applied
        self.records.update(bucket_names.lease_object(self.stack), self._given_back, mends=True)

    def _taken(self, current: Body | None) -> Body:
        now = self.clock()
        if current is not None and current.get("holder") != self.holder:
            until, other = _until(current), str(current.get("holder"))
            if until is not None and _makes_sense(until, now) and not self.ended(other):
                raise LeaseTakenError(self.stack, str(current.get("kind")), other, until)
        self.applied = _applied(current)
        self.commanded = self.holder if self.kind in MAKERS else last_command(current)
        self.last = now
        return self._body(now + self.time)

    def _given_back(self, current: Body | None) -> Body:
        if current is not None and current.get("holder") != self.holder:
            return current
        # Another of this holder may have taken it: what that one found is in the record alone.
        self.applied = _applied(current) if self.applied is None else self.applied
        self.commanded = last_command(current)
        # Whose clock is behind must not wait for what is over.
        return self._body(self.clock() - _AHEAD)

    def _body(self, until: datetime) -> dict[str, Any]:
        return {
            "version": VERSION,
            "kind": self.kind.value,
            "holder": self.holder,
            "until": until.isoformat(),
            "applied": self.applied,
            "commanded": self.commanded,
        }


@contextmanager
def held(
    records: Records, stack: str, kind: LeaseKind, clock: Callable[[], datetime], time: timedelta
) -> Generator[Lease]:
    """The lease, for as long as the block lasts. One that cannot be given back runs out by itself."""
    lease = Lease(records=records, stack=stack, kind=kind, holder=this_process(), time=time, clock=clock)
    lease.take()
    try:
        yield lease
    finally:
        # It ends by itself, and what the block came to is not lost over it.
        with suppress(GoogleError):
            lease.give_back()


def engine_at_work(lease: Body | None, now: datetime) -> str:
    """Which command changes the stack now, as its lease says; empty where none does."""
    kind = lease.get("kind") if lease else None
    until = _until(lease) if lease else None
    if kind not in MAKERS or until is None or not _makes_sense(until, now):
        return ""
    return f"`./tidepool {kind}` is at work until {until:%H:%M:%S} UTC at most"


def this_process() -> str:
    """A name that no other holder has."""
    return f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"


def _makes_sense(until: datetime, now: datetime) -> bool:
    return now < until <= now + max(UP_TIME, SWEEP_TIME) + _AHEAD


def _applied(current: Body | None) -> int | None:
    found = current.get("applied") if current else None
    return found if isinstance(found, int) else None


def epoch(manifest: int, commanded: str | None) -> str:
    """Another one after each manifest, by its generation, and after each command that may have made VMs."""
    return f"{manifest} {commanded or ''}".rstrip()


def last_command(current: Body | None) -> str | None:
    """Which command that may have made VMs had a lease last; None where none is known."""
    found = current.get("commanded") if current else None
    return found if isinstance(found, str) else None


def _until(current: Body) -> datetime | None:
    """Until when a lease holds; one that cannot be read, or has no time zone, holds nobody back."""
    try:
        until = datetime.fromisoformat(str(current.get("until")))
    except ValueError:
        return None
    return until if until.tzinfo else None
