"""A fleet on the local cloud: how it is reached, and the guests of its VMs, let live by whoever looks at it.

Owns that one process at a time lets them live, and the broker that they register with. What a guest does is
`infra.local.guests`.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.fleet.place import BROKER, Place, named_broker
from infra.local.guests.control import GuestControl
from infra.local.guests.guests import Guests, Look
from infra.model.schema import StackConfig
from infra.operations.local.broker import Brokers
from infra.operations.local.cloud import cloud_clock
from infra.operations.local.github import local_github
from infra.tools.turns import one_at_a_time


def local_place(config: StackConfig, url: str) -> Place:
    """The place of a stack file on the local cloud, whose clock may be ahead of the wall's."""
    return Place(
        project=config.project,
        bucket=config.bucket.name,
        github=local_github(config, url, named_broker(os.environ) if os.environ.get(BROKER) else None),
        endpoint=url,
        clock=cloud_clock(url),
        builds=config.builds is not None,
    )


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
        """The guests, for this process alone; their brokers are served for as long."""
        brokers = Brokers(self.url)
        with one_at_a_time(self.home / "cloud" / "guests.lock"):
            try:
                yield Guests(GuestControl(self.url), brokers.address)
            finally:
                brokers.close()
