"""Characters of a text file that nobody sees, or that end a line to one reader and not to the next.

Owns which they are. What a person reviews must be what every program reads: a reader that ends a line at such a
character finds keys in what others take for a comment.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from infra.model.errors import Problem

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
            rule = "a line ends with a line feed; readers of YAML differ on what else ends one"
        elif unicodedata.category(character) in _UNSEEN and not (character == _ORDER_MARK and found.start() == 0):
            said = f"a character that is not seen (U+{ord(character):04X})"
            rule = "what stands in the file is what people see of it"
        else:
            continue
        if character == _JOINER and _joins(text, found.start()):
            continue
        line = text.count("\n", 0, found.start()) + 1
        yield Problem(f"{source}:{line}", said, rule, "remove the character")


def _joins(text: str, at: int) -> bool:
    """Whether a joiner makes one sign of its neighbours, as in emoji and Indic scripts: then people see it."""
    return at > 0 and not text[at - 1].isascii() and not text[at + 1 : at + 2].isascii()
