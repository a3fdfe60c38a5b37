"""The cloud itself: everything a handler may reach, and the rule by which time passes in it.

Owns the assembly of store, clock, timeline, operations, limits and faults, and the settling of due events before a
request. Leaves HTTP to `server` and each API to `services`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from infra.local.cloud.clock import Clock
from infra.local.cloud.faults import Faults
from infra.local.cloud.limits import Limits
from infra.local.cloud.operations import Operations
from infra.local.cloud.registry import REACTIONS, JsonObject
from infra.local.cloud.requestlog import LOGGER
from infra.local.cloud.store import Store
from infra.local.cloud.timeline import Timeline

# A TPU create of two minutes takes an eighth of a second.
DEFAULT_COMPRESSION = 1000.0


@dataclass(frozen=True, slots=True)
class Project:
    """id: `my-lab`. number: twelve digits made from the id, the same on every machine."""

    id: str
    number: int


class Cloud:
    """wall: the source of real seconds; tests hand in their own. The clock's offset is the store's."""

    def __init__(self, store: Store, *, wall: Callable[[], float] = time.time) -> None:
        self.store = store
        self.clock = Clock(offset=store.setting("clock-offset", 0.0), wall=wall)
        self.now = self.clock.read()
        self.timeline = Timeline(store)
        self.operations = Operations(self)
        self.limits = Limits(store)
        self.faults = Faults(store)

    @contextmanager
    def request(self) -> Generator[None]:
        """One transaction at one moment: what was due has happened first, also when the request itself is refused."""
        with self.store.transaction():
            self.settle()
        with self.store.transaction():
            yield

    def settle(self) -> None:
        """Let everything due by now happen, in order; `now` is each event's own time while it happens.

        An event that fails changes nothing and is set aside: kept due, it would fail every request there is.
        """
        present = self.clock.read()
        while (event := self.timeline.take(present)) is not None:
            self.now = event.due
            try:
                with self.store.attempt():
                    REACTIONS[event.kind](self, event)
            except Exception as defect:  # noqa: BLE001 - whatever it is, the next request must be answered
                LOGGER.exception("set aside: %s of %s", event.kind, event.subject)
                self.timeline.set_aside(event, f"{type(defect).__name__}: {defect}")
        self.now = present

    # Time

    @property
    def compression(self) -> float:
        """By how much operation delays (and only they) are shorter than in the real cloud."""
        return float(self.store.setting("compression", DEFAULT_COMPRESSION))

    @compression.setter
    def compression(self, factor: float) -> None:
        self.store.set_setting("compression", factor)

    def advance(self, seconds: float) -> None:
        """Move cloud time forward, durably, and let happen what becomes due."""
        self.clock.advance(seconds)
        self.store.set_setting("clock-offset", self.clock.offset)
        self.settle()

    def compressed(self, seconds: float) -> float:
        """A realistic operation delay as it is here."""
        return seconds / self.compression

    def after(self, seconds: float, kind: str, subject: str, data: JsonObject | None = None) -> None:
        """Plan an event at the end of an operation of `seconds` realistic seconds."""
        self.timeline.add(self.now + self.compressed(seconds), kind, subject, data)

    # Projects

    def project(self, id_or_number: str) -> Project:
        """Both names of a project. Any id is a project; a number is known once its id was seen in a request."""
        if id_or_number.isdigit():
            known = self.store.setting(f"project-number/{id_or_number}")
            return Project(known or id_or_number, int(id_or_number))
        number = 10**11 + int.from_bytes(hashlib.sha256(id_or_number.encode()).digest()[:8], "big") % (9 * 10**11)
        if self.store.setting(f"project-number/{number}") is None:
            self.store.set_setting(f"project-number/{number}", id_or_number)
        return Project(id_or_number, number)
