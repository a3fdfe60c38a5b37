"""The guests of the local cloud's VMs, let live by whichever command looks at the fleet.

Owns that one command at a time does so, and the broker that they register with. What a guest does is
`infra.local.guests`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.local.guests.guests import Guests, Look
from infra.local.guests.surroundings import GuestControl
from infra.operations.local.broker import Brokers
from infra.tools.turns import one_at_a_time


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalGuests:
    """Those of one local cloud. home: its home folder. url: its root."""

    home: Path
    url: str

    def settle(self) -> Look:
        """Let every guest do what it had time for."""
        with self.turn() as guests:
            return guests.settle()

    def advance(self, seconds: float) -> None:
        """Move the cloud's clock, and let the guests live meanwhile."""
        with self.turn() as guests:
            guests.advance(seconds)

    @contextmanager
    def turn(self) -> Generator[Guests]:
        """The guests, for this command alone; their brokers are served for as long."""
        brokers = Brokers(self.url)
        with one_at_a_time(self.home / "cloud" / "guests.lock"):
            try:
                yield Guests(GuestControl(self.url), brokers.address)
            finally:
                brokers.close()
