"""The committed listing of another repository's files, by which path filters are checked without a working copy."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from infra.model.images.listings import filters, listing_file, listing_text, load_listing, sample
from infra.model.images.load import load_images
from infra.model.stack import load_stack, stack_names
from infra.operations.errors import Refusal
from infra.operations.workspace import workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class NewListing:
    """Of each path filter over a repository some files that it names. root: the checkout that has it committed."""

    root: Path
    repository: str
    commit: str
    paths: tuple[str, ...]

    @property
    def file(self) -> str:
        """Where it is committed, from the checkout's top."""
        return listing_file(self.repository)

    def is_committed(self) -> bool:
        """Whether the committed listing has the same files. Raises ConfigError where it cannot be read."""
        known = load_listing(self.root, self.repository)
        return known is not None and known.paths == self.paths

    def write(self) -> None:
        path = self.root / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        day = datetime.now(UTC).date().isoformat()
        path.write_text(listing_text(self.repository, self.paths, commit=self.commit, day=day))


def listing(repository: str, checkout: Path) -> NewListing:
    """The listing by a working copy's commit. Refusal where no image reads the repository, or that is no copy.

    ConfigError for a filter that names none of its files.
    """
    root = workspace().root
    stacks = {name: load_stack(root, name) for name in stack_names(root)}
    spec = load_images(root, stacks, checkouts={repository: checkout})
    patterns = filters(spec, repository)
    if not patterns or repository.lower() == spec.recipes.lower():
        others = {image.context.repository for image in spec.images} - {spec.recipes}
        raise Refusal(f"no image reads {repository}; listings are of {', '.join(sorted(others)) or 'no repository'}")
    commit = _git(checkout, "rev-parse", "HEAD").strip()
    files = _git(checkout, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")
    paths = sample((path for path in files if path), patterns)
    return NewListing(root=root, repository=repository, commit=commit, paths=paths)


def _git(checkout: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(checkout), *arguments], check=False, capture_output=True, text=True)
    except FileNotFoundError:
        raise Refusal("git is not installed; it lists the files of a working copy") from None
    if done.returncode != 0:
        raise Refusal(f"{checkout} is no working copy with a commit: {done.stderr.strip()}")
    return done.stdout
