"""Writing every generated file, here or in a consumer's checkout."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.model.errors import ConfigError, Problem
from infra.operations.errors import Refusal
from infra.operations.workflows.scene import (
    for_checkout,
    has_legacy,
    put,
    refuse_problems,
    scene,
    spec_of,
    standing_here,
    standing_there,
)
from workflows.legacy import back, keep
from workflows.outputs import COPIES
from workflows.spec import spec_names
from workflows.standing import GENERATED, FileState, compare


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """made_folder: whether `root` was not there. written, removed: paths. same: how many were as they should be."""

    root: Path
    made_folder: bool
    written: list[str]
    removed: list[str]
    same: int


def write_here(spec: str | None, root: Path | None = None) -> Wrote:
    """The copies of every specification and this repository's own files, or the copies of one alone.

    root: another copy of this project than the one that the command works in.
    """
    here = scene(root)
    refuse_problems(here)
    if spec is not None and spec not in spec_names(here.root):
        raise Refusal(f"there is no specification named {spec}; there are {', '.join(spec_names(here.root))}")
    prefix = "" if spec is None else f"{COPIES}/{spec}/"
    wanted = {path: text for path, text in here.outputs.texts.items() if path.startswith(prefix)}
    stands = {path: text for path, text in standing_here(here.root).items() if path.startswith(prefix)}
    return _write(here.root, wanted, _orphans(wanted, stands))


def write_checkout(target: Path, name: str | None, *, legacy: bool) -> Wrote:
    """The files of a specification into its repository. legacy: the old ones are kept beside them."""
    here = scene()
    spec = spec_of(here.root, here.world, name)
    stands = standing_there(target)
    kept = legacy or (has_legacy(stands) and spec.declared.legacy is not None)
    _, wanted = for_checkout(spec, here.world, legacy=kept)
    removed = _orphans(wanted, stands)
    moved: set[str] = set()
    if kept and spec.declared.legacy is not None:
        edits = keep(stands, spec.declared.legacy)
        moved = set(edits.removes)
        wanted = {**edits.writes, **wanted}
        removed = [*removed, *(path for path in edits.removes if path not in wanted)]
    by_hand = [path for path in wanted if path in stands and not stands[path].startswith(GENERATED)]
    refuse_unsaved(target, [path for path in by_hand if path not in moved and stands[path] != wanted[path]])
    return _write(target, wanted, removed)


def write_back(target: Path, name: str | None) -> Wrote:
    """The old files of a checkout in the place of the new ones."""
    here = scene()
    spec = spec_of(here.root, here.world, name)
    if spec.declared.legacy is None:
        rule = "the specification does not say which old workflows are kept, and up to which day"
        raise ConfigError([Problem(spec.file, "", rule, "a section `legacy`")])
    edits = back(standing_there(target), spec.declared.legacy)
    return _write(target, edits.writes, edits.removes)


def _orphans(wanted: Mapping[str, str], stands: Mapping[str, str]) -> list[str]:
    """Generated files that nothing makes any more; git has what somebody edited."""
    found = compare(wanted, stands, write="")
    return [each.path for each in found if each.state is FileState.ORPHAN]


def _write(root: Path, wanted: Mapping[str, str], removed: Iterable[str]) -> Wrote:
    made_folder, gone = not root.exists(), sorted(set(removed))
    written = put(root, wanted)
    for path in gone:
        (root / path).unlink(missing_ok=True)
    return Wrote(root=root, made_folder=made_folder, written=written, removed=gone, same=len(wanted) - len(written))


def refuse_unsaved(checkout: Path, paths: Collection[str]) -> None:
    """Refusal with every path whose text git has not: of no repository, untracked, ignored, or edited since."""
    if lost := sorted(set(paths) & _unsaved(checkout, paths)):
        raise Refusal(
            f"{checkout} has files by hand in the place of generated ones, and git has no copy of them:"
            f" {', '.join(lost)}; commit them, or take --legacy, which keeps old workflows beside the new"
        )


def _unsaved(checkout: Path, paths: Collection[str]) -> set[str]:
    if not paths:
        return set()
    asked = ("status", "--porcelain", "-z", "--no-renames", "--ignored", "--untracked-files=all", "--", *paths)
    try:
        top = _git(checkout, "rev-parse", "--show-prefix").strip("\n")
        entries = _git(checkout, *asked).split("\0")
    except (OSError, subprocess.CalledProcessError):
        return set(paths)
    return {entry[3:].removeprefix(top) for entry in entries if entry}


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "--literal-pathspecs", "-C", str(checkout), *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", errors="replace").stdout
