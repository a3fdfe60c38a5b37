"""What the unprivileged job hands to the one that posts: the comment's markdown and its labels, as one JSON file.

Owns the file's shape and how little of it is believed. Whoever opens a pull request can write this file, so its size is
limited before it is parsed, its shape is checked, and its markdown is made `harmless`: it can say anything and do
nothing. It does not say where it belongs: neither a pull request nor a commit has a place in it.

What could act on GitHub is HTML, mentions, links and images, references to issues, commands for bots, characters that
hide or turn text, blocks that are drawn. What `infra.preview` writes has none of that and comes back byte for byte (but
for an address in code font). Everything else keeps its words, broken by a zero-width space, which nobody sees, or with
its `<` and `&` shown as such. The rules look at characters and not at context, so that no context can be forged to get
around them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from infra.github.labels import Label
from infra.github.sticky import LONGEST
from infra.model.visible import visible

MOST_BYTES = 1 << 20

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
    re.compile(rf"(?<=```|~~~)(?=[^\S\n]*[^\s`~{_APART}])(?!text$)", re.MULTILINE),
)
_FOLD: Final = re.compile(r"<(?=(/?)details>)")
"""The beginning and the end of a fold."""


class UntrustedError(Exception):
    """An artifact that is not believed; the message repeats nothing of its content."""


class Artifact(BaseModel):
    """version: of this shape. labels: those that the pull request shall have of ours. markdown: the comment."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    version: Literal[1] = 1
    labels: Annotated[tuple[Label, ...], Field(max_length=4)]
    markdown: Annotated[str, Field(min_length=1, max_length=LONGEST)]


def write(path: Path, artifact: Artifact) -> None:
    """Write the artifact; equal ones give equal bytes."""
    path.write_text(artifact.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read(path: Path) -> Artifact:
    """The artifact, if it keeps the limits and the shape. Raises UntrustedError."""
    if path.is_symlink() or not path.is_file():
        raise UntrustedError(f"{path.name} is not a plain file")
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UntrustedError(f"the artifact has more than {MOST_BYTES:,} bytes")
    try:
        return Artifact.model_validate_json(data)
    except ValidationError as wrong:
        places = sorted(
            {str(error["loc"][0]) for error in wrong.errors() if error["loc"]} & Artifact.model_fields.keys()
        )
        where = f": see {', '.join(places)}" if places else ""
        raise UntrustedError(f"the artifact has not the shape that `comment write` gives it{where}") from None


def harmless(markdown: str) -> str:
    """The same words, without effect; twice is the same as once."""
    seen = visible(markdown, f"\n{_APART}")
    seen = _FOREIGN_ENTITY.sub("&amp;", seen)
    seen = _FOREIGN_TAG.sub("&lt;", seen)
    if not _folds_close(seen):
        seen = _FOLD.sub("&lt;", seen)
    for pattern in _ACTING:
        seen = pattern.sub(_APART, seen)
    return seen


def _folds_close(markdown: str) -> bool:
    """Whether every fold ends, and ends after it began: one that does not hides or opens what others write."""
    depth = 0
    for fold in _FOLD.finditer(markdown):
        depth += -1 if fold[1] else 1
        if depth < 0:
            return False
    return depth == 0


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
