"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: str | bytes, *, mode: int = 0o666) -> None:
    """The whole file or, where that fails, what stood, so that nobody reads half of it; a power loss may undo it.

    A link is replaced, and what it leads to stays. mode: of the new file, less what the process masks.
    """
    # Of this call alone: two threads may write one file, and a killed process leaves its own behind.
    fresh = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
