"""A consumer's checkout as files and packages, for what a specification names of it. Owns reading it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from workflows.existing import PROJECT, Checkout, project

_NOT_ITS = frozenset((".git", ".venv", "node_modules", "__pycache__"))


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
