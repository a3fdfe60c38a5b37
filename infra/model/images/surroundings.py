"""What `images/images.yaml` is judged against: the stacks, the pin table and the files that path filters may name.

Owns where those come from. Does not own the rules.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra.model.images.listings import load_listing
from infra.model.images.pins import Pins
from infra.model.schema import StackConfig

# Folders that are no part of a repository: version control, environments, caches and what the launcher keeps.
_NOT_COMMITTED = frozenset(
    (".git", ".hypothesis", ".import_linter_cache", ".pytest_cache", ".ruff_cache", ".tidepool", ".venv", "__pycache__")
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """root: this project's checkout. stacks: by name. pins: None where the table cannot be read.

    checkouts: working copies of other repositories by owner/name; their committed listings count otherwise.
    """

    root: Path
    stacks: Mapping[str, StackConfig]
    pins: Pins | None
    checkouts: Mapping[str, Path] = field(default_factory=dict)

    def files(self, repository: str, recipes: str | None) -> tuple[str, ...] | None:
        """The files of a repository, or as many of them as its listing has; None where neither is there.

        recipes: the repository that `root` is a checkout of. ConfigError where a listing is not right.
        """
        if recipes is not None and repository.lower() == recipes.lower():
            return files_below(self.root)
        for name, checkout in self.checkouts.items():
            if name.lower() == repository.lower():
                return files_below(checkout)
        listing = load_listing(self.root, repository)
        return listing.paths if listing is not None else None


def files_below(root: Path) -> tuple[str, ...]:
    """Every file of a checkout as a path from its top, sorted; what is never committed is left out."""
    return tuple(sorted(_walk(root)))


def _walk(root: Path) -> Iterator[str]:
    """A folder right below the root may be lent by a link, as in the copies that engines and benchmarks work on."""
    lent = [each for each in root.iterdir() if each.is_symlink() and each.is_dir() and each.name not in _NOT_COMMITTED]
    for top in (root, *lent):
        for folder, below, names in os.walk(top):
            below[:] = [name for name in below if name not in _NOT_COMMITTED]
            for name in names:
                yield Path(folder, name).relative_to(root).as_posix()
