"""What the commands about workflow files work with: what is generated here or for a checkout, and what stands there.

Owns reading and writing files. What they are is `workflows`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.model.demand import FILE as DEMAND_FILE
from infra.model.errors import ConfigError
from infra.model.stack_schema import FILE as SCHEMA_FILE
from infra.operations.errors import Failure, Refusal
from infra.operations.workspace import workspace
from infra.tools.files import write_whole
from workflows.composite import FOLDER
from workflows.coverage import PROJECT, Checkout, project
from workflows.generate import Generated, generate
from workflows.legacy import COMPARISON, comparison
from workflows.outputs import COPIES, LABELS, Outputs, label_file, outputs
from workflows.spec import Spec, load_spec, spec_names
from workflows.world import ACTIONS, World, load_world

DEFAULT_SPEC = "marin"
"""The monorepo's, which a checkout is of where nothing else is said and there are others beside it."""
_NOT_ITS = frozenset((".git", ".venv", "node_modules", "__pycache__"))


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedHere:
    """This checkout, and all that is generated of it."""

    root: Path
    world: World
    outputs: Outputs


def scene(root: Path | None = None) -> GeneratedHere:
    """What this checkout gives, or the one at `root`; ConfigError with mistakes in stacks, images or actions."""
    root = root or workspace().root
    world = load_world(root)
    return GeneratedHere(root=root, world=world, outputs=outputs(root, world))


def spec_of(root: Path, world: World, name: str | None) -> Spec:
    """The specification of that name; where none is named, the only one or the default. Refusal where that is none."""
    names = spec_names(root)
    chosen = name or (names[0] if len(names) == 1 else DEFAULT_SPEC)
    if not name and chosen not in names:
        there = (
            f"one of {', '.join(names)}" if names else "workflows/spec has none: write workflows/spec/NAME.yaml first"
        )
        raise Refusal(f"say which specification with --spec NAME: {there}")
    return load_spec(root, chosen, world)


def refuse_problems(scene: GeneratedHere) -> None:
    """ConfigError with all that keeps a file from being generated."""
    if scene.outputs.problems:
        raise ConfigError(each for problems in scene.outputs.problems.values() for each in problems)


def for_checkout(spec: Spec, world: World, *, legacy: bool) -> tuple[tuple[Generated, ...], dict[str, str]]:
    """The files of a specification as its repository gets them, and all their texts by path."""
    files = generate(spec, world)
    if legacy:
        files = (*files, comparison(spec, world, files))
    return files, {each.path: each.text for each in files} | label_file(spec.declared.repository, world)


def standing_here(root: Path) -> dict[str, str]:
    """Every file of this checkout in the folders that generated ones are in."""
    found = _workflows(root, root)
    copies = root / COPIES
    for path in sorted(copies.rglob("*")) if copies.is_dir() else ():
        if path.is_file():
            found[path.relative_to(root).as_posix()] = text(path)
    for path in sorted((root / ACTIONS).glob("*/*")):
        found[path.relative_to(root).as_posix()] = text(path)
    for name in (DEMAND_FILE, LABELS, SCHEMA_FILE):
        if (root / name).is_file():
            found[name] = text(root / name)
    return found


def standing_there(target: Path) -> dict[str, str]:
    """The same of a consumer's checkout."""
    found = _workflows(target, target)
    if (target / LABELS).is_file():
        found[LABELS] = text(target / LABELS)
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
            write_whole(path, content)
        except OSError as error:
            raise Failure(f"{path} cannot be written: {error.strerror or error}") from None
        written.append(name)
    return written


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


def read_files(target: Path) -> Checkout | None:
    """What is there, None of a folder without packages: it is no repository yet. ConfigError for a broken one."""
    files = frozenset(_files(target))
    found = [file for file in sorted(files) if Path(file).name == PROJECT]
    read = (project(file, (target / file).read_text(encoding="utf-8", errors="replace")) for file in found)
    projects = dict(each for each in read if each)
    return Checkout(files, projects) if projects else None


def _files(target: Path) -> Iterator[str]:
    for folder, inner, names in os.walk(target):
        inner[:] = [each for each in inner if each not in _NOT_ITS]
        yield from ((Path(folder) / name).relative_to(target).as_posix() for name in names)
