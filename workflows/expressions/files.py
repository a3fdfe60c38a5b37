"""hashFiles over a checkout."""

from __future__ import annotations

import hashlib
from pathlib import Path

from wcmatch import glob

_FLAGS = glob.GLOBSTAR | glob.DOTGLOB | glob.NEGATE | glob.NODIR | glob.NOUNIQUE


def hash_files(root: Path, patterns: tuple[str, ...]) -> str:
    """One SHA-256 over those of all files below `root` that match, in the order of their paths; empty for none.

    A pattern with `!` first takes files away again; a `/` first means the root.
    """
    anchored = [
        ("!" if pattern.startswith("!") else "") + pattern.removeprefix("!").lstrip("/") for pattern in patterns
    ]
    found = sorted(set(glob.glob(anchored, root_dir=root, flags=_FLAGS)))
    if not found:
        return ""
    whole = hashlib.sha256()
    for path in found:
        whole.update(hashlib.sha256((root / path).read_bytes()).digest())
    return whole.hexdigest()
