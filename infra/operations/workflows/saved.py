"""Files by hand in a consumer's checkout that a write would lose, since nothing else has them.

Owns the question to git. What is written is `write`'s.
"""

from __future__ import annotations

import subprocess
from collections.abc import Collection
from pathlib import Path

from infra.operations.errors import Refusal


def refuse_unsaved(checkout: Path, paths: Collection[str]) -> None:
    """Refusal with every path whose text git has not: of no repository, untracked, ignored, or edited since."""
    if lost := sorted(set(paths) & _unsaved(checkout, paths)):
        raise Refusal(
            f"{checkout} has files by hand in the place of generated ones, and git has no copy of them:"
            f" {', '.join(lost)}; commit them, or take --legacy, which keeps old workflows beside the new"
        )


def _unsaved(checkout: Path, paths: Collection[str]) -> set[str]:
    if not paths:
        return set()
    asked = ("status", "--porcelain", "-z", "--no-renames", "--ignored", "--untracked-files=all", "--", *paths)
    try:
        top = _git(checkout, "rev-parse", "--show-prefix").strip("\n")
        entries = _git(checkout, *asked).split("\0")
    except (OSError, subprocess.CalledProcessError):
        return set(paths)
    return {entry[3:].removeprefix(top) for entry in entries if entry}


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "--literal-pathspecs", "-C", str(checkout), *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", errors="replace").stdout
