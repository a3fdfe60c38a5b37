"""Time that passes only when somebody waits."""

from __future__ import annotations

from bench.engine.provider import Cancel


class VirtualTime(Cancel):
    """A clock and a `Cancel` in one: whoever waits moves it, and nobody really waits."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0
        self.waits: list[float] = []
        self.cancelled = False
        self.impatient = False

    def now(self) -> float:
        return self.seconds

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout or 0.0)
        self.seconds += timeout or 0.0
        return self.cancelled

    def wait_to_begin(self, timeout: float | None = None) -> bool:
        return self.wait(timeout) or self.impatient
