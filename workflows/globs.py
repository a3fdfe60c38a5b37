"""Filters of branches, tags and paths.

Owns GitHub's pattern language, which is no shell's: `?` and `+` repeat the sign before them. It is the cheat sheet of
https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax (read 2026-11-21).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache


class PatternError(ValueError):
    """A pattern that means nothing; says which and why."""


def included(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name is let through: the last pattern that matches decides, and one with `!` first takes away."""
    decided = False
    for pattern in patterns:
        if _regex(pattern.removeprefix("!")).fullmatch(name):
            decided = not pattern.startswith("!")
    return decided


def any_included(names: Iterable[str], patterns: Sequence[str]) -> bool:
    """`paths`: whether one of the names is let through."""
    return any(included(name, patterns) for name in names)


def any_kept(names: Iterable[str], ignored: Sequence[str]) -> bool:
    """`paths-ignore`: whether one of the names is not ignored."""
    return any(not included(name, ignored) for name in names)


@lru_cache(maxsize=1024)
def _regex(pattern: str) -> re.Pattern[str]:
    pieces: list[str] = []
    offset = 0
    while offset < len(pattern):
        rest = pattern[offset:]
        if rest.startswith("**/") and (not offset or pattern[offset - 1] == "/"):
            piece, length = "(?:.*/)?", 3  # any folders, and none
        elif rest.startswith("**"):
            piece, length = ".*", 2
        elif rest[0] == "*":
            piece, length = "[^/]*", 1
        elif rest[0] in "?+":
            if not pieces:
                raise PatternError(f"{pattern}: {rest[0]} repeats the sign before it, and there is none")
            piece, length = f"(?:{pieces.pop()}){rest[0]}", 1
        elif rest[0] == "[":
            end = rest.find("]")
            if end < 2:
                raise PatternError(f"{pattern}: [ opens a list of signs that ] closes")
            piece, length = f"[{re.sub(r'[^A-Za-z0-9-]', lambda sign: re.escape(sign[0]), rest[1:end])}]", end + 1
        elif rest[0] == "\\" and len(rest) > 1:
            piece, length = re.escape(rest[1]), 2
        else:
            piece, length = re.escape(rest[0]), 1
        pieces.append(piece)
        offset += length
    return re.compile("".join(pieces), re.DOTALL)
