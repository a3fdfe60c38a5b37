"""A run that somebody ends: Ctrl-C, TERM from whoever started it or from GitHub where a job is cancelled, and HUP from
a terminal that is closed."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from infra.fleet.runs.ports import CancelledError


@contextmanager
def cancellable() -> Generator[None]:
    """Within it the first INT, TERM or HUP is a CancelledError; nobody hears later ones, while the VM is deleted.

    A HUP that was not to be heard, as under nohup, is not.
    """
    left_alone = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    handled = (signal.SIGINT, signal.SIGTERM, *(() if left_alone else (signal.SIGHUP,)))

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
