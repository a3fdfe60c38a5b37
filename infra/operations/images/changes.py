"""What git says of checkouts: what a change rebuilds, by its files or those that differ from a commit; and the listing
of another repository's files that is committed, so that path filters are checked without a working copy.

Owns what git is asked. What follows of a change is `infra.model.images.rebuilds`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from infra.model.clock import machine_clock  # noqa: TID251 - a committed file names a day of the world, not of a local cloud
from infra.model.errors import ConfigError
from infra.model.images.listings import filters, listing_file, listing_text, load_listing, sample
from infra.model.images.load import load_images
from infra.model.images.pins import PINS_FILE, Pins, parse_pins
from infra.model.images.reading import WrittenFile, parsed
from infra.model.images.rebuilds import Before, Change, Rebuild, rebuilds
from infra.model.images.spec import SPEC_FILE, ImageSpec
from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from infra.operations.declared.images import Lab
from infra.operations.errors import Refusal
from infra.operations.workspace import workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilds:
    """What a change of these files of a repository rebuilds, parents before children.

    elsewhere: where nothing is rebuilt, other repositories in which such a change would rebuild something.
    """

    repository: str
    files: tuple[str, ...]
    images: tuple[Rebuild, ...]
    elsewhere: tuple[str, ...] = ()


def by_files(lab: Lab, files: Sequence[str], repository: str | None = None) -> Rebuilds:
    """What a change of these files rebuilds. repository: whose they are; of the recipes where it is not said."""
    where = lab.repository(repository) if repository else lab.spec.recipes
    changes = [Change(where, file.removeprefix("./")) for file in files]
    found = rebuilds(lab.spec, changes, lab.stacks, None)
    readers = () if found or repository else sorted({each.context.repository for each in lab.spec.images})
    elsewhere = [
        each
        for each in readers
        if rebuilds(lab.spec, [replace(change, repository=each) for change in changes], lab.stacks, None)
    ]
    return Rebuilds(repository=where, files=tuple(files), images=found, elsewhere=tuple(elsewhere))


def since(lab: Lab, base: str, repository: str | None = None) -> Rebuilds:
    """What the files of this checkout rebuild that differ from a commit; its two tables are compared by entry.

    Raises Refusal where they cannot be told.
    """
    where = lab.repository(repository) if repository else lab.spec.recipes
    if where != lab.spec.recipes:
        raise Refusal(f"--base looks at this checkout, which is {lab.spec.recipes}; name files of others by --changed")
    files = _differing(lab.root, base)
    before = Before(
        spec=_spec(_at(lab.root, base, SPEC_FILE)), pins=_pins(_at(lab.root, base, PINS_FILE)), pins_now=lab.pins
    )
    found = rebuilds(lab.spec, [Change(where, file) for file in files], lab.stacks, before)
    return Rebuilds(repository=where, files=files, images=found)


def _spec(text: str | None) -> ImageSpec | None:
    """The images of the other commit, as far as this program can read what it said."""
    try:
        written = WrittenFile.read(text or "", SPEC_FILE)
    except ConfigError:
        return None
    return parsed(ImageSpec, written.data, written.subject)[0]


def _pins(text: str | None) -> Pins | None:
    try:
        return parse_pins(text or "")
    except ConfigError:
        return None


def _differing(root: Path, base: str) -> tuple[str, ...]:
    """Files of the working tree that differ from the commit where HEAD and `base` parted, new ones included."""
    parted = _parted(root, base)
    if parted is None:
        raise Refusal(
            f"{base!r} is not a commit that this checkout has in common with HEAD; a clone of depth 1 lacks it"
        )
    differing = _git(root, "diff", "--name-only", "--no-renames", "-z", parted) or ""
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z") or ""
    return tuple(sorted({each for each in f"{differing}\0{new}".split("\0") if each}))


def _at(root: Path, base: str, path: str) -> str | None:
    return _git(root, "show", f"{_parted(root, base)}:{path}")


def _parted(root: Path, base: str) -> str | None:
    """The commit where HEAD and `base` parted; None where they have none in common. No base is an option of git's."""
    parted = _git(root, "merge-base", "--end-of-options", base, "HEAD")
    return parted.strip() if parted else None


def _git(root: Path, *arguments: str) -> str | None:
    done = _asked(root, *arguments, without="name files by --changed")
    return done.stdout if done.returncode == 0 else None


def _asked(root: Path, *arguments: str, without: str) -> subprocess.CompletedProcess[str]:
    """without: what to do, or what is lacking, where git is not installed."""
    try:
        return subprocess.run(
            ["git", "-C", str(root), *arguments],
            check=False, capture_output=True, text=True, errors="replace",  # the name of a file is bytes
        )  # fmt: skip
    except FileNotFoundError:
        raise Refusal(f"git is not installed; {without}") from None


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
        day = machine_clock().date().isoformat()
        path.write_text(listing_text(self.repository, self.paths, commit=self.commit, day=day))


def listing(repository: str, checkout: Path, root: Path | None = None) -> NewListing:
    """The listing by a working copy's commit. Refusal where no image reads the repository, or that is no copy.

    root: another copy of this project than the one that the command works in. ConfigError for a filter that names none
    of the repository's files.
    """
    root = root or workspace().root
    stacks = {name: load_stack(root, name) for name in stack_names(root)}
    spec = load_images(root, stacks, checkouts={repository: checkout})
    patterns = filters(spec, repository)
    if not patterns or repository.lower() == spec.recipes.lower():
        others = {image.context.repository for image in spec.images} - {spec.recipes}
        raise Refusal(f"no image reads {repository}; listings are of {', '.join(sorted(others)) or 'no repository'}")
    commit = _told(checkout, "rev-parse", "HEAD").strip()
    files = _told(checkout, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")
    paths = sample((path for path in files if path), patterns)
    return NewListing(root=root, repository=repository, commit=commit, paths=paths)


def _told(checkout: Path, *arguments: str) -> str:
    done = _asked(checkout, *arguments, without="it lists the files of a working copy")
    if done.returncode != 0:
        raise Refusal(f"{checkout} is not a working copy with a commit: {done.stderr.strip()}")
    return done.stdout
