"""Committed listings of other repositories' files, by which path filters are checked where no working copy is at hand.

A listing is small: of each path filter at most three files that it names, each with a commit in which it stands. It is
made by `./tidepool images listing`; the pure part is here. The file: `images/listings/<owner>.<name>.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.model import yamlfile
from infra.model.errors import ConfigError, Problem, shown
from infra.model.images.globs import matches
from infra.model.images.spec import ImageSpec

SAMPLE = 3
"""How many files of a filter a listing keeps: enough to see that it names what it should."""

_LINE = re.compile(r"(?P<path>\S+) (?P<commit>[0-9a-f]{40})")
_SOURCE = re.compile(r"# source: https://\S+")


@dataclass(frozen=True, slots=True)
class FileListing:
    """Files of a repository, each with a commit in which it stands."""

    commits: Mapping[str, str]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted(self.commits))


def listing_file(repository: str) -> str:
    """Where a repository's listing stands, from the top of this project."""
    return f"images/listings/{repository.lower().replace('/', '.')}.txt"


def command(repository: str) -> str:
    """The one command that makes a repository's listing anew."""
    return f"./tidepool images listing {repository} --checkout DIR"


def load_listing(root: Path, repository: str) -> FileListing | None:
    """A repository's listing; None where there is none, ConfigError with every line that is not right."""
    name = listing_file(repository)
    if not (root / name).is_file():
        return None
    return parse_listing(yamlfile.decoded((root / name).read_bytes(), name), repository)


def parse_listing(text: str, repository: str) -> FileListing:
    """The listing that `text` is; ConfigError with every line that is not right."""
    source, fix = listing_file(repository), command(repository)
    problems: list[Problem] = []
    commits: dict[str, str] = {}
    lines = text.splitlines()
    if not any(_SOURCE.fullmatch(line) for line in lines):
        problems.append(Problem(source, "", "the listing names no public source, an https URL", fix))
    for number, line in enumerate(lines, start=1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None or match["path"] in commits:
            rule = "not a path and a commit in which it stands, each path once"
            problems.append(Problem(f"{source}:{number}", shown(line), rule, fix))
        else:
            commits[match["path"]] = match["commit"]
    if problems:
        raise ConfigError(problems)
    return FileListing(commits)


def filters(spec: ImageSpec, repository: str) -> tuple[str, ...]:
    """Every path filter over that repository, sorted."""
    contexts = (image.context for image in spec.images if image.context.repository.lower() == repository.lower())
    return tuple(sorted({pattern for context in contexts for pattern in context.paths}))


def sample(files: Iterable[str], patterns: Iterable[str]) -> tuple[str, ...]:
    """Of each filter the first files that it names, at most SAMPLE of them; sorted."""
    files = sorted(files)
    chosen: set[str] = set()
    for pattern in patterns:
        named = [path for path in files if matches(path, pattern)]
        chosen.update(named[:SAMPLE])
    return tuple(sorted(chosen))


def listing_text(repository: str, paths: Iterable[str], *, commit: str, day: str) -> str:
    """The file of a listing that was made from a working copy at `commit` on `day` (YYYY-MM-DD)."""
    url = f"https://github.com/{repository}"
    head = (
        f"# Files of {repository} that path filters of images/images.yaml name, at most {SAMPLE} of each filter.",
        f"# source: {url}/tree/{commit}",
        f"# read: {day}, from a working copy at that commit.",
        f"# anew: {command(repository)}",
        f"# A line is a path and a commit in which it stands: {url}/blob/COMMIT/PATH",
    )
    return "\n".join((*head, *(f"{path} {commit}" for path in sorted(paths)))) + "\n"
