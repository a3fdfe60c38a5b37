"""What the unprivileged job hands to the one that posts: the comment's markdown and its labels, as one JSON file.

Owns the file's shape and how little of it is believed. Whoever opens a pull request can write this file, so its size is
limited before it is parsed, its shape is checked, and its markdown goes through `harmless`. It does not say where it
belongs: neither a pull request nor a commit has a place in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from infra.github.labels import Label
from infra.github.sticky import LONGEST

MOST_BYTES = 1 << 20


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
        raise UntrustedError(f"{path.name} is no plain file")
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
