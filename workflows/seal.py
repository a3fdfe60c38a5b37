"""The last line of a generated file: a digest of all above it, by which an edit by hand is told from a stale file.

Owns the line alone. A generated file without it, or with another digest, was edited.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

_START: Final = "# Digest of the lines above: "
_DIGITS: Final = 16


def sealed(text: str) -> str:
    """The text with its digest behind it."""
    return f"{text}{_line(text)}\n"


def is_sealed(text: str) -> bool:
    """Whether the text stands as it was sealed."""
    above, _, last = text.rstrip("\n").rpartition("\n")
    return last == _line(f"{above}\n")


def unsealed(text: str) -> str:
    """The text without its digest, whatever that says."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_START))


def _line(text: str) -> str:
    return f"{_START}{sha256(text.encode()).hexdigest()[:_DIGITS]}"
