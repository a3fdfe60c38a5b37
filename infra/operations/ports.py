"""What an operation is handed by whoever asks for it: engine and cloud by name, and who hears and watches its work.

Its result is what it returns; what it says meanwhile is for people alone. Engine, cloud and records are in its session
(`infra.operations.session`).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from infra.model.clouds import DEFAULT_PARALLEL, CloudName, EngineName
from infra.preview.toned import Tone

if TYPE_CHECKING:  # every command loads this module, `--help` too
    from infra.engines.protocol import Listener

__all__ = (
    "DEFAULT_PARALLEL", "HISTORY_SHOWN", "RUN_SECONDS", "SILENT", "SWEEP_SECONDS", "UNWATCHED", "CloudName",
    "EngineName", "Silent", "Teller", "Tone", "Watch",
)  # fmt: skip


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
HISTORY_SHOWN: Final = 20
"""Entries of a stack's history, where nobody says how many."""
RUN_SECONDS: Final = 600
"""Time for the command of a run."""
SWEEP_SECONDS: Final = 120.0
"""Between two sweeps of a command that goes on sweeping."""

Watch: TypeAlias = "AbstractContextManager[Listener | None]"
"""Watches an engine at work: entered just before it begins, left when it has ended; gives who hears its events."""
UNWATCHED: Final[Watch] = nullcontext()
