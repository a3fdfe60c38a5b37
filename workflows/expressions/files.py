"""hashFiles over a checkout."""

from __future__ import annotations

import hashlib
from pathlib import Path

from wcmatch import glob

_FLAGS = glob.GLOBSTAR | glob.DOTGLOB


def hash_files(root: Path, patterns: tuple[str, ...]) -> str:
    """One SHA-256 over those of all files below `root` that match, in the order of their paths; empty for none.

    As in https://github.com/actions/toolkit/tree/main/packages/glob (read 2026-11-21): patterns count from left to
    right, one with `!` first takes away, a `/` first means the root, and a folder means all below it.
    """
    found: set[str] = set()
    for pattern in patterns:
        anchored = pattern.removeprefix("!").strip("/")
        matched = set(glob.glob([anchored, f"{anchored}/**"], root_dir=root, flags=_FLAGS))
        found = found - matched if pattern.startswith("!") else found | matched
    files = [root / path for path in sorted(found) if (root / path).is_file()]
    if not files:
        return ""
    whole = hashlib.sha256()
    for file in files:
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()
