"""What a repository's workflows were before, as data with its source: `workflows/inventory/NAME.yaml`.

Owns the document's shape. What is computed of it is `workflows.inventory.figures`'s.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from infra.model import yamlfile
from infra.model.errors import ConfigError, Problem
from infra.model.images.reading import Written

FOLDER: Final = Path("workflows/inventory")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OldFile(_Model):
    """One file. becomes: what is generated in its place, None where it stays. What was not read is None."""

    file: str
    becomes: str | None = None
    jobs: int | None = None
    lines: int | None = None
    steps: int | None = None
    repeated: int | None = None


class PullRequest(_Model):
    """What one run of a pull request did on TPUs."""

    vms: int
    jax_versions: int


class Assumption(_Model):
    """A value that no file says."""

    value: float
    why: str


class Assumed(_Model):
    """All of them; minutes are of one leg."""

    merged_a_week: Assumption
    runs_each: Assumption
    image_builds_a_week: Assumption
    vm_start_minutes: Assumption
    runner_start_minutes: Assumption
    test_minutes: Assumption


class Before(_Model):
    """The whole of it."""

    version: int
    source: str
    read: str
    files: tuple[OldFile, ...]
    pull_request: PullRequest
    vm_runs: tuple[str, ...]
    assumed: Assumed


def load_before(root: Path, name: str) -> Before | None:
    """What a specification's repository had, None where nobody wrote it down; ConfigError where it cannot be read."""
    path, source = root / FOLDER / f"{name}.yaml", f"{FOLDER}/{name}.yaml"
    return read_before(yamlfile.decoded(path.read_bytes(), source), source) if path.is_file() else None


def read_before(text: str, source: str) -> Before:
    """The same from its text."""
    written = Written.read(text, source)
    problems = list(written.problems)
    try:
        if not problems:
            return Before.model_validate(written.data)
    except ValidationError as error:
        for each in error.errors(include_url=False, include_input=False):
            rule = "the file says what was, with a reason for each assumption"
            problems.append(Problem(written.subject(tuple(each["loc"])), each["msg"], rule, "as its first lines say"))
    raise ConfigError(problems)
