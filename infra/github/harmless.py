"""Markdown that somebody else wrote, made fit to be posted in our name: it can say anything and do nothing.

Owns what could act on GitHub: HTML, mentions, links and images, references to issues, commands for bots, characters
that hide or turn text, blocks that are drawn. What `infra.preview` writes has none of that and comes back byte for byte
(but for an address in code font). Everything else keeps its words, broken by a zero-width space, which nobody sees, or
with its `<` and `&` shown as such. The rules look at characters and not at context, so that no context can be forged
to get around them.
"""

from __future__ import annotations

import re
from typing import Final

from infra.model.visible import visible

_APART: Final = "\u200b"

# What the preview's own markup consists of; neither has attributes.
_FOREIGN_TAG: Final = re.compile(r"<(?!/?(?:details|summary|code)>|!-- -->)")
_FOREIGN_ENTITY: Final = re.compile(r"&(?!(?:amp|lt|gt|quot|#x27|#36|#124);)")
# An entity or a backslash may stand for the letter that completes a pattern.
_ACTING: Final = (
    re.compile(r"(?<=@)(?=[\w&\\])"),
    re.compile(r"(?<=(?<!&)#)(?=[\d&\\])"),
    re.compile(r"(?<=\bGH)(?=[-\\&])", re.IGNORECASE),
    re.compile(r"(?<=:)(?=[/\\&])"),
    re.compile(r"(?<=www)(?=[.\\&])", re.IGNORECASE),
    re.compile(r"(?<=\])(?=[(\[:])"),
    re.compile(r"(?<=!)(?=\[)"),
    # Commands that bots obey: /approve.
    re.compile(r"^(?=[ \t]*/)", re.MULTILINE),
    # ```mermaid and the like; a block of plain text is what the preview writes.
    re.compile(rf"(?<=```|~~~)(?=[^\s`~{_APART}])(?!text$)", re.MULTILINE),
)


def harmless(markdown: str) -> str:
    """The same words, without effect; twice is the same as once."""
    seen = visible(markdown, f"\n{_APART}")
    seen = _FOREIGN_ENTITY.sub("&amp;", seen)
    seen = _FOREIGN_TAG.sub("&lt;", seen)
    for pattern in _ACTING:
        seen = pattern.sub(_APART, seen)
    return seen


def cut(markdown: str, limit: int) -> str:
    """Whole lines from the beginning, no more than `limit` characters, and a last one that says what is missing."""
    if len(markdown) <= limit:
        return markdown
    lines, kept = markdown.split("\n"), []
    room = limit - 80
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([*kept, "", f"({len(lines) - len(kept):,} lines more did not fit)"])
