"""Leases on keys with fencing tokens, and statuses that only the newest holder of a key writes. On any store.

A lock is a lease: it ends by itself, and its holder renews it. Each take has a token that is larger than every one
before. A program that was paused past its lease and goes on all the same is refused, for its token is no longer the
key's. Tokens come from the store's clock and grow with what stands, so that they also grow past a store that lost its
memory. A status stands beside its lock in one value and changes with it in one swap, so that nothing comes between.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from infra.jobs.store.entries import Entry, SharedStore, StoreError, Value

LEASE: Final = timedelta(seconds=60)
"""How long a holder that fell silent keeps a key. It renews at every third of this."""
_ATTEMPTS: Final = 8
"""Rounds of read and swap before giving up; each lost round means that another got through."""


class LockTakenError(Exception):
    """Another holds the key."""

    def __init__(self, key: str, holder: str, left: timedelta) -> None:
        self.holder, self.left = holder, left
        super().__init__(f"{key} is held by {holder}, for {left.total_seconds():.0f} s yet unless it is renewed")


class LockLostError(Exception):
    """The key is held no more: the lease ran out, or another took it since. What was to be written is not written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What stands at a key. value: as its last holder wrote it. token: that holder's. holder: empty where nobody is."""

    key: str
    value: Value
    token: int
    holder: str


def this_process() -> str:
    """A name that no other holder has."""
    return f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"


def status(store: SharedStore, key: str) -> Status | None:
    """What stands at a key, held or not; None where nothing does."""
    entry = store.read(key)
    return None if entry.value is None else _status(key, entry)


def statuses(store: SharedStore, prefix: str = "") -> Iterator[Status]:
    """What stands at each key that begins so, in order."""
    for key in store.keys(prefix):
        if (found := status(store, key)) is not None:
            yield found


@dataclass(slots=True, kw_only=True)
class Lock:
    """One holder's lease on a key. lease: how long it holds without being renewed.

    token: of the last take, 0 before the first. Hand it to whatever else the work writes to: who has seen a larger one
    refuses it. ticks: seconds of a clock that never goes back.
    """

    store: SharedStore
    key: str
    lease: timedelta = LEASE
    holder: str = field(default_factory=this_process)
    ticks: Callable[[], float] = time.monotonic
    token: int = 0
    _until: float = float("-inf")

    def take(self) -> int:
        """Take it, or renew it where it is held already; the token. LockTakenError while another holds it."""
        self._change(self._taken)
        return self.token

    def renew(self) -> None:
        """LockLostError where it is held no more."""
        self._change(self._kept)

    def write(self, value: Value) -> None:
        """Write the key's status and renew. LockLostError where it is held no more, and then nothing is written."""
        self._change(lambda entry: self._kept(entry) | {"value": dict(value)})

    def give_back(self) -> bool:
        """End it; whether it was held until then. The status stays, and the token, which the next one exceeds."""
        try:
            self._change(self._ended)
        except LockLostError:
            return False
        finally:
            self._until = float("-inf")
        return True

    @property
    def is_sure(self) -> bool:
        """Whether it is held for sure, without asking: the lease counts from before the last call that renewed it."""
        return self.ticks() < self._until

    def _change(self, decide: Callable[[Entry], Mapping[str, Any] | None]) -> None:
        """Swap in what is decided of the key as it stands, again where another write came first; nothing for None."""
        for _ in range(_ATTEMPTS):
            began = self.ticks()
            entry = self.store.read(self.key)
            wanted = decide(entry)
            if wanted is None:
                return
            if self.store.swap(self.key, entry.version, wanted):
                self.token = wanted["token"]
                self._until = began + self.lease.total_seconds()
                return
        raise StoreError(f"{self.key}: {_ATTEMPTS} writes of others came first")

    def _taken(self, entry: Entry) -> Mapping[str, Any]:
        holder = _holder(entry)
        if holder == self.holder:
            # Also after a take whose answer was lost: that token is this one's.
            return {**_body(entry), "seconds": self.lease.total_seconds()}
        if holder:
            raise LockTakenError(self.key, holder, _left(entry))
        token = max(_token(entry) + 1, _microseconds(entry.now))
        return {**_body(entry), "token": token, "holder": self.holder, "seconds": self.lease.total_seconds()}

    def _kept(self, entry: Entry) -> dict[str, Any]:
        holder = _holder(entry)
        if holder != self.holder or _token(entry) != self.token:
            self._until = float("-inf")
            why = f"{holder} holds it" if holder else "the lease ran out"
            raise LockLostError(f"{self.key}: {why}; take it again, and look at its status before going on")
        return {**_body(entry), "seconds": self.lease.total_seconds()}

    def _ended(self, entry: Entry) -> Mapping[str, Any] | None:
        if _token(entry) == self.token and _body(entry).get("holder") == "":
            return None  # by a write whose answer was lost
        return self._kept(entry) | {"holder": ""}


@contextmanager
def held(lock: Lock) -> Generator[Lock]:
    """The lock, taken and renewed by a thread for as long as the block lasts.

    LockTakenError where another holds it. LockLostError at the end of a block in which it was lost.
    """
    lock.take()
    over, lost = threading.Event(), list[LockLostError]()
    renewing = threading.Thread(target=_renew, args=(lock, over, lost), name=f"renews {lock.key}", daemon=True)
    renewing.start()
    try:
        yield lock
    finally:
        over.set()
        renewing.join()
        kept = lock.is_sure
        # It ends by itself, and what the block came to is not lost over it.
        with suppress(StoreError):
            kept = lock.give_back()
    if lost:
        raise lost[0]
    if not kept:  # and no renewal has met that: the program was paused, or the store did not answer
        raise LockLostError(f"{lock.key}: the lease ran out before the end; look at its status before going on")


def _renew(lock: Lock, over: threading.Event, lost: list[LockLostError]) -> None:
    """A store that does not answer is asked again until the lease is over; what is known to be lost is not."""
    while not over.wait(lock.lease.total_seconds() / 3):
        try:
            lock.renew()
        except LockLostError as error:
            lost.append(error)
            return
        except StoreError:
            continue


def _status(key: str, entry: Entry) -> Status:
    value = _body(entry).get("value")
    return Status(key=key, value=value if isinstance(value, dict) else {}, token=_token(entry), holder=_holder(entry))


def _body(entry: Entry) -> dict[str, Any]:
    return dict(entry.value or {})


def _token(entry: Entry) -> int:
    found = _body(entry).get("token")
    return found if isinstance(found, int) else 0


def _holder(entry: Entry) -> str:
    """Who holds the key now; empty where nobody does, or the lease ran out."""
    return str(_body(entry).get("holder") or "") if _left(entry) > timedelta() else ""


def _left(entry: Entry) -> timedelta:
    seconds = _body(entry).get("seconds")
    return timedelta(seconds=seconds if isinstance(seconds, int | float) else 0) - entry.age


def _microseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)
