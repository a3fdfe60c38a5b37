"""Holding the lease on a stack's fleet while a command changes it, so that the controller does not act meanwhile.

Owns waiting for a sweep that is under way, renewing while the command works, and knowing which commands of this home
have ended: each locks a file, which the kernel lets go of however it ends, so that nobody waits for one that was
killed. The lease itself is `infra.fleet.controller.lease`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from infra.fleet.controller.lease import UP_TIME, Lease, LeaseKind, LeaseTakenError, this_process
from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Records
from infra.model.clock import Clock
from infra.model.errors import OutsideError
from infra.model.schema import StackConfig
from infra.operations.errors import Failure
from infra.operations.session import CloudSession
from infra.operations.workspace import workspace
from infra.tools.processes import is_held, one_at_a_time

PATIENCE: Final = UP_TIME.total_seconds() + 60
"""Seconds for which another holder is waited for: longer than one that died holds it."""
NOTHING_CHANGED: Final = "nothing was changed"
_PAUSE: Final = 5.0
_RENEW: Final = UP_TIME / 6
_MISSING: Final = 404


@contextmanager
def leased(
    config: StackConfig,
    session: CloudSession,
    kind: LeaseKind,
    *,
    patience: float = PATIENCE,
    state: str = NOTHING_CHANGED,
) -> Generator[None]:
    """The lease, for as long as the block lasts.

    state: what the command has done so far, for what is said.

    A stack that is not up has no bucket and so no controller: there is nothing to hold. Raises Failure where another
    holds it for longer than `patience`, or where the bucket does not answer.
    """
    holder = this_process()
    workspace().make_home()
    mark = _mark(holder)
    with one_at_a_time(mark):
        try:
            yield from _held(config, session, kind, holder, patience, state)
        finally:
            mark.unlink(missing_ok=True)


def _held(
    config: StackConfig, session: CloudSession, kind: LeaseKind, holder: str, patience: float, state: str
) -> Generator[None]:
    if not _taken(config, session, kind, holder, patience, state):
        try:
            yield
        finally:
            _end(config, session, kind, holder)
        return
    over = threading.Event()
    renewing = threading.Thread(target=_renewed, args=(config, session, kind, holder, over), daemon=True)
    renewing.start()
    try:
        yield
    finally:
        over.set()
        renewing.join()


def _taken(
    config: StackConfig, session: CloudSession, kind: LeaseKind, holder: str, patience: float, state: str
) -> bool:
    """Take it; False where there is no bucket to hold it in."""
    until = time.monotonic() + patience
    told = False
    with clients(config.project, session.endpoint) as google:
        lease = _lease(config, Records(google=google, bucket=config.bucket.name), kind, holder, session.clock)
        while True:
            try:
                lease.take()
            except LeaseTakenError as error:
                if time.monotonic() >= until:
                    raise Failure(f"{state}: {error}; run the same command again then") from None
                if not told:
                    session.say(f"waiting: {error}")
                told = True
                time.sleep(_PAUSE)
            except GoogleError as error:
                if error.status == _MISSING:
                    return False
                raise Failure(f"{state}: cannot take the lease on the fleet: {error}") from None
            else:
                _forget_ended()
                return True


def _end(config: StackConfig, session: CloudSession, kind: LeaseKind, holder: str) -> None:
    """Say of a command that made the bucket that it has ended: the controller waits for nobody then."""
    with suppress(GoogleError, LeaseTakenError), clients(config.project, session.endpoint) as google:
        lease = _lease(config, Records(google=google, bucket=config.bucket.name), kind, holder, session.clock)
        lease.take()
        lease.give_back()


def _renewed(config: StackConfig, session: CloudSession, kind: LeaseKind, holder: str, over: threading.Event) -> None:
    """Renew until it is over, then give it back. It has connections of its own: they are not shared between threads."""
    with suppress(OutsideError), clients(config.project, session.endpoint) as google:
        lease = _lease(config, Records(google=google, bucket=config.bucket.name), kind, holder, session.clock)
        while not over.wait(_PAUSE):
            # The local cloud's clock may be moved meanwhile.
            if not lease.is_older_than(_RENEW):
                continue
            with suppress(GoogleError, LeaseTakenError):
                lease.take()
        lease.give_back()


def _lease(config: StackConfig, records: Records, kind: LeaseKind, holder: str, clock: Clock) -> Lease:
    return Lease(records=records, stack=config.stack, kind=kind, holder=holder, time=UP_TIME, clock=clock, ended=_ended)


def _marks() -> Path:
    return workspace().home / "leases"


def _mark(holder: str) -> Path:
    """The file that a holder of this home locks for as long as it lives."""
    return _marks() / holder.rpartition("/")[2]


def _ended(holder: str) -> bool:
    """Whether this was a command of this home that was killed: it took its lock, and holds it no longer."""
    mark = _mark(holder)
    return mark.is_file() and not is_held(mark)


def _forget_ended() -> None:
    """Remove the files of killed commands: none of them can hold the lease any more."""
    for mark in _marks().iterdir():
        if not is_held(mark):
            mark.unlink(missing_ok=True)
