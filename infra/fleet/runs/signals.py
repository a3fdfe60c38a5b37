"""A run that somebody ends: Ctrl-C, TERM from whoever started it, and from GitHub where a job is cancelled."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from infra.fleet.runs.run import CancelledError


@contextmanager
def cancellable() -> Generator[None]:
    """Within it the first INT or TERM is a CancelledError; later ones are heard by nobody, while the VM is deleted."""
    handled = (signal.SIGINT, signal.SIGTERM)

    def cancel(_: int, __: FrameType | None) -> None:
        for each in handled:
            signal.signal(each, signal.SIG_IGN)
        raise CancelledError

    before = {each: signal.signal(each, cancel) for each in handled}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
