"""One at a time: what two commands of one home must not do at once.

Owns the lock, a file that the kernel lets go of when its holder ends in any way. Leaves what it guards to callers.
"""

from __future__ import annotations

import fcntl
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_at_a_time(path: Path) -> Generator[None]:
    """Hold the lock at `path`, waiting for whoever has it; its folder is made if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock at `path` at this moment."""
    try:
        with path.open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
