"""What an operation is handed by whoever asks for it: somebody to tell while it works.

Its result is what it returns; what it says meanwhile is for people alone. Engine, cloud and records are in its session
(`infra.operations.session`).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, Protocol

from infra.engines.protocol import CloudName


class Tone(Enum):
    """How a line is meant; how that looks is for whoever shows it."""

    PLAIN = auto()
    QUIET = auto()
    WORKING = auto()
    GOOD = auto()
    WARNING = auto()
    PROBLEM = auto()


class Teller(Protocol):
    """Hears what an operation says while it works."""

    def say(self, line: str, tone: Tone = Tone.PLAIN) -> None:
        """One line of text."""
        ...

    def works_on(self, cloud: CloudName, said: str) -> None:
        """Which cloud was chosen, before anything is asked of it. said: that and why, as a line."""
        ...


class Silent:
    """A teller that nobody hears."""

    def say(self, line: str, tone: Tone = Tone.PLAIN) -> None:
        """Nothing."""

    def works_on(self, cloud: CloudName, said: str) -> None:
        """Nothing."""


SILENT: Final = Silent()
