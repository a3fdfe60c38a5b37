"""Foreign text made fit to be shown: what others wrote can say anything and steer nothing.

Owns which characters hide, turn or steer what stands beside them, and how they are shown: names of jobs, labels and
runners, subjects of commits, messages of Google's and what machines print may hold escape sequences that repaint a
terminal, or characters that turn a line around. Does not own markup of a page (`infra.preview.markup`).
"""

from __future__ import annotations

import unicodedata
from typing import Any, Final

_HIDING: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, among them what begins an escape sequence; formats, surrogates, private and unassigned; line ends."""


def visible(text: str, kept: str = "") -> str:
    """The text with each such character shown by its number, as `\\u001b`; twice is the same as once.

    kept: characters that stay, such as line feeds where a text has lines.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"\\u{ord(each):04x}" if each not in kept and unicodedata.category(each) in _HIDING else each for each in text
    )


def visible_answer(body: Any) -> Any:
    """What an API answered, with every text in it visible, names of keys too. A text keeps its lines."""
    if isinstance(body, str):
        return visible(body, "\n\t")
    if isinstance(body, list):
        return [visible_answer(each) for each in body]
    if isinstance(body, dict):
        return {visible(str(key)): visible_answer(each) for key, each in body.items()}
    return body
