"""What a change of files rebuilds: the files that are named, or those that differ from a commit of the checkout.

Owns what git is asked. What follows of a change is `infra.model.images.rebuilds`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from infra.model.errors import ConfigError
from infra.model.images.pins import PINS_FILE, Pins, parse_pins
from infra.model.images.reading import WrittenFile, parsed
from infra.model.images.rebuilds import Before, Change, Rebuild, rebuilds
from infra.model.images.spec import SPEC_FILE, ImageSpec
from infra.operations.errors import Refusal
from infra.operations.images.lab import Lab


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilds:
    """What a change of these files of a repository rebuilds, parents before children.

    elsewhere: where nothing is rebuilt, other repositories in which such a change would rebuild something.
    """

    repository: str
    files: tuple[str, ...]
    images: tuple[Rebuild, ...]
    elsewhere: tuple[str, ...] = ()

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(each) for each in self.images]


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
        raise Refusal(f"{base!r} is no commit that this checkout has in common with HEAD; a clone of depth 1 lacks it")
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
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            check=False, capture_output=True, text=True, errors="replace",  # the name of a file is bytes
        )  # fmt: skip
    except FileNotFoundError:
        raise Refusal("git is not installed; name files by --changed") from None
    return done.stdout if done.returncode == 0 else None
