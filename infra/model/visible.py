"""Foreign text made fit to be shown: what others wrote can say anything and steer nothing.

Owns which characters hide, turn or steer what stands beside them, and how they are shown: names of jobs, labels and
runners, subjects of commits, messages of Google's and what machines print may hold escape sequences that repaint a
terminal, or characters that turn a line around. Does not own markup of a page (`infra.preview.markup`).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Final

from infra.model.errors import Problem

_HIDING: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, among them what begins an escape sequence; formats, surrogates, private and unassigned; line ends."""
_UNPLAIN: Final = re.compile(r"[^ -~]")
_MAY_HIDE: Final = re.compile(rb"[^\t\n\r -~]|\\")
"""In JSON that is not decoded yet: an escape, or a byte of what is not plain."""


def visible(text: str, kept: str = "") -> str:
    """The text with each such character shown by its number, as `\\u001b`; twice is the same as once.

    kept: characters that stay, such as line feeds where a text has lines.
    """
    if text.isascii() and text.isprintable():
        return text

    def shown(found: re.Match[str]) -> str:
        each = found[0]
        return f"\\u{ord(each):04x}" if each not in kept and unicodedata.category(each) in _HIDING else each

    return _UNPLAIN.sub(shown, text)


def visible_answer(body: Any) -> Any:
    """What an API answered, with every text in it visible, names of keys too. A text keeps its lines."""
    if isinstance(body, str):
        return visible(body, "\n\t")
    if isinstance(body, list):
        return [visible_answer(each) for each in body]
    if isinstance(body, dict):
        return {visible(str(key)): visible_answer(each) for key, each in body.items()}
    return body


def visible_json(data: bytes) -> Any:
    """What an API answered in JSON, as `visible_answer` has it. ValueError where it is no JSON.

    An answer in which nothing can hide is not copied: a list of runners has megabytes.
    """
    body = json.loads(data)
    return visible_answer(body) if _MAY_HIDE.search(data) else body


_LINE_ENDS: Final = {
    "\r": "a carriage return",
    "\x85": "a NEL",
    "\u2028": "a line separator",
    "\u2029": "a paragraph separator",
}
_SUSPECT: Final = re.compile("\r(?!\n)|[\x85\u2028\u2029]|[^\x00-\x7f]")
_ORDER_MARK: Final = "\ufeff"
_JOINER: Final = "\u200d"
_UNSEEN: Final = frozenset({"Cf", "Co", "Cn"})


def hidden(text: str, source: str) -> Iterator[Problem]:
    """A Problem for each; a mark of byte order that opens the file, and line ends of Windows, are what they seem."""
    for found in _SUSPECT.finditer(text):
        character = found[0]
        if character in _LINE_ENDS:
            said = f"{_LINE_ENDS[character]} (U+{ord(character):04X})"
            rule = "readers of YAML differ on whether this ends a line"
        elif unicodedata.category(character) in _UNSEEN and not (character == _ORDER_MARK and found.start() == 0):
            said = f"a character that is not seen (U+{ord(character):04X})"
            rule = "people do not see this character"
        else:
            continue
        if character == _JOINER and _joins(text, found.start()):
            continue
        line = text.count("\n", 0, found.start()) + 1
        yield Problem(f"{source}:{line}", said, rule, "remove the character")


def _joins(text: str, at: int) -> bool:
    """Whether a joiner makes one sign of its neighbours, as in emoji and Indic scripts: then people see it."""
    return at > 0 and not text[at - 1].isascii() and not text[at + 1 : at + 2].isascii()
