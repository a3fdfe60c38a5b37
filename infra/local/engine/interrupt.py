"""What Ctrl-C does to an operation.

Owns the signal handler for as long as the operation lasts. Does not own what stopping means for work under way.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

    from infra.local.engine.run import Run


@contextmanager
def interruptible(run: Run) -> Generator[list[int]]:
    """Ctrl-C once: begin nothing new and wait for what is under way. Twice: stop waiting too."""
    presses: list[int] = []
    said = "stopping: nothing new is begun, what is under way is awaited; Ctrl-C again stops waiting"
    # In a thread of its own: the one that is interrupted may hold the listener's lock.
    telling = threading.Thread(target=run.say, args=("warning", said))

    def pressed(number: int, _frame: object) -> None:
        presses.append(number)
        run.stopping.set()
        run.cancel.pressed.set()
        if len(presses) > 1:
            run.cancel.set()
            return
        telling.start()

    if threading.current_thread() is not threading.main_thread():
        yield presses
        return
    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield presses
    finally:
        signal.signal(signal.SIGINT, before)
        if presses:
            telling.join()
