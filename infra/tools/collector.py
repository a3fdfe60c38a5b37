"""How often Python looks for cycles of objects that nobody needs, for which it walks those of the process."""

from __future__ import annotations

import atexit
import gc
from typing import Final

_USUAL: Final = gc.get_threshold()


def seldom() -> None:
    """Nearly all that a command makes stays until it ends, and the end of its process frees it. So collections wait for
    a million objects, which a preview of 1,000 VMs does not reach, and the last one, at exit, has nothing to walk."""
    gc.set_threshold(1_000_000)
    atexit.register(gc.freeze)


def as_usual() -> None:
    """From here on, for what looks again and again, or serves: a look leaves megabytes of cycles behind."""
    gc.set_threshold(*_USUAL)
