"""What the commands about workflow files work with: what is generated here or for a checkout, and what stands there.

Owns reading and writing files. What they are is `workflows`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from infra.model.demand import FILE as DEMAND_FILE
from infra.model.errors import ConfigError, Problem
from infra.operations.errors import Failure
from infra.operations.workspace import workspace
from workflows import labels
from workflows.generate import Generated, generate
from workflows.legacy import COMPARISON, comparison
from workflows.outputs import COPIES, Outputs, outputs
from workflows.own import generate_own
from workflows.spec import Spec, load_spec, spec_names
from workflows.world import ACTIONS, World, load_world

FOLDER = ".github/workflows"
WRITE = "./tidepool workflows --write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """This checkout, and all that is generated of it."""

    root: Path
    world: World
    outputs: Outputs

    def generated(self) -> Iterator[tuple[Spec | None, tuple[Generated, ...]]]:
        """The files of every specification that they can be made of, and this repository's own, of no specification.

        What keeps the others from being made is in the outputs.
        """
        for name in spec_names(self.root):
            with suppress(ConfigError):
                spec = load_spec(self.root, name, self.world)
                yield spec, generate(spec, self.world)
        with suppress(ConfigError):
            yield None, generate_own(self.world)


def scene() -> Scene:
    """What this checkout gives; ConfigError with mistakes in stacks, images or actions."""
    root = workspace().root
    world = load_world(root)
    return Scene(root=root, world=world, outputs=outputs(root, world))


def refuse_problems(scene: Scene) -> None:
    """ConfigError with all that keeps a file from being generated."""
    problems: list[Problem] = []
    for name in spec_names(scene.root):
        try:
            generate(load_spec(scene.root, name, scene.world), scene.world)
        except ConfigError as error:
            problems += error.problems
    try:
        generate_own(scene.world)
    except ConfigError as error:
        problems += error.problems
    if problems:
        raise ConfigError(problems)


def for_checkout(spec: Spec, world: World, *, legacy: bool) -> tuple[tuple[Generated, ...], dict[str, str]]:
    """The files of a specification as its repository gets them, and all their texts by path."""
    files = generate(spec, world)
    if legacy:
        files = (*files, comparison(spec, world, files))
    return files, {each.path: each.text for each in files} | labels.files(spec.declared.repository, world)


def standing_here(root: Path) -> dict[str, str]:
    """Every file of this checkout in the folders that generated ones are in."""
    found = _workflows(root, root)
    copies = root / COPIES
    for path in sorted(copies.rglob("*")) if copies.is_dir() else ():
        if path.is_file():
            found[path.relative_to(root).as_posix()] = text(path)
    for path in sorted((root / ACTIONS).glob("*/*")):
        found[path.relative_to(root).as_posix()] = text(path)
    for name in (DEMAND_FILE, labels.FILE):
        if (root / name).is_file():
            found[name] = text(root / name)
    return found


def standing_there(target: Path) -> dict[str, str]:
    """The same of a consumer's checkout."""
    found = _workflows(target, target)
    if (target / labels.FILE).is_file():
        found[labels.FILE] = text(target / labels.FILE)
    return found


def has_legacy(stands: Mapping[str, str]) -> bool:
    """Whether old files stand beside the new ones."""
    return f"{FOLDER}/{COMPARISON}" in stands


def put(root: Path, wanted: Mapping[str, str]) -> list[str]:
    """Write what is not there as it should be, each file whole or not at all; gives the paths that were written."""
    written: list[str] = []
    for name, content in sorted(wanted.items()):
        path = root / name
        if path.is_file() and not path.is_symlink() and path.read_bytes() == content.encode():
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.parent.resolve().is_relative_to(root.resolve()):
                raise Failure(f"{path} cannot be written: its folder is a link to {path.parent.resolve()}, elsewhere")
            _replace(path, content)
        except OSError as error:
            raise Failure(f"{path} cannot be written: {error.strerror or error}") from None
        written.append(name)
    return written


def _replace(path: Path, content: str) -> None:
    """The whole text or, where that fails, what stood; a link is replaced, and what it leads to stays."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_bytes(content.encode())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def text(path: Path) -> str:
    """A file's text; what is no text compares with nothing."""
    return path.read_bytes().decode("utf-8", errors="replace")


def _workflows(folder: Path, root: Path) -> dict[str, str]:
    base = folder / FOLDER
    names = sorted(base.iterdir()) if base.is_dir() else []
    return {
        path.relative_to(root).as_posix(): text(path)
        for path in names
        if path.is_file() and path.suffix in {".yaml", ".yml"}
    }
