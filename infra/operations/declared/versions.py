"""Versions of stack files: at a git reference, in a file, or in the working tree.

Owns where bytes come from. Nothing of a version is checked out, imported or run: git hands over blobs and that is all.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from infra.model import names, yamlfile
from infra.model.schema import StackConfig
from infra.model.stack import Reading, parse_stack, read_sibling, read_stack
from infra.operations.errors import Refusal

_FOLDER = "stacks"
_PREFIX, _SUFFIX = "Pulumi.", ".yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """The stack files of one version by stack; source: how people call the one that is asked for.

    commit: of whose tree everything else is read; None for the working tree.
    """

    source: str
    files: Mapping[str, bytes]
    root: Path
    commit: str | None = None

    def reading(self, stack: str) -> Reading | None:
        """What it says of one stack, None where it has no file of it; ConfigError where that cannot be read."""
        if stack not in self.files:
            return None
        others = (read_sibling(text, stack=name) for name, text in sorted(self.files.items()) if name != stack)
        siblings = tuple(other for other in others if other is not None)
        return read_stack(self.files[stack], stack=stack, source=self.source, siblings=siblings)

    def stacks(self) -> dict[str, StackConfig]:
        """Every stack of it by name; ConfigError where one is not right."""
        read = {name: read_sibling(text, stack=name) for name, text in self.files.items()}
        found: dict[str, StackConfig] = {}
        for name, text in sorted(self.files.items()):
            others = [each for other, each in sorted(read.items()) if other != name and each is not None]
            path = _path(name)
            found[name] = parse_stack(yamlfile.decoded(text, path), stack=name, source=path, siblings=others)
        return found

    def content(self, path: str) -> bytes | None:
        """Another file of it, by its path in the repository; None where there is none."""
        if self.commit is None:
            file = self.root / path
            return _read(file) if file.is_file() else None
        blob = _git(self.root, "cat-file", "blob", f"{self.commit}:./{path}")
        return blob.stdout if blob.returncode == 0 else None

    def edited(self, *paths: str) -> bool:
        """Whether these differ from the last commit, of the working tree alone; not where git cannot say it."""
        if self.commit is not None:
            return False
        with suppress(Refusal):
            return _git(self.root, "diff", "--quiet", "HEAD", "--", *(f"./{each}" for each in paths)).returncode == 1
        return False

    def blobs(self, *folders: str) -> Mapping[str, str]:
        """The files below some folders with the names that git gives to their contents, of a commit alone."""
        if self.commit is None:
            raise ValueError("the working tree's files have no names yet")
        listed = _git(self.root, "ls-tree", "-r", "-z", self.commit, "--", *(f"./{folder}" for folder in folders))
        entries = (entry.partition(b"\t") for entry in listed.stdout.split(b"\0") if entry)
        return {path.decode(errors="replace"): head.split()[2].decode() for head, _, path in entries}


def version(root: Path, stack: str, where: str | None) -> Version:
    """The version that a command line names: a file, a git reference, or (None) the working tree.

    What ends in .yaml or .yml, or starts like a path, is a file. A file's siblings are those of the working tree.
    """
    if not names.is_resource_name(stack):
        raise Refusal(f"{stack!r} is not the name of a stack, which has {names.RESOURCE_NAME_RULE}")
    here = _working_tree(root)
    if where is None:
        return Version(source=_path(stack), files=here, root=root)
    if where.endswith((".yaml", ".yml")) or where.startswith((".", "/", "~")):
        return Version(source=where, files=here | {stack: _read(Path(where).expanduser())}, root=root)
    commit = _commit(root, where)
    if commit is not None:
        return Version(source=f"{where}:{_path(stack)}", files=_at(root, commit), root=root, commit=commit)
    if Path(where).is_file():
        return Version(source=where, files=here | {stack: _read(Path(where))}, root=root)
    raise Refusal(f"{where!r} is neither a file nor a git reference of {root}; a clone of depth 1 lacks other commits")


def stacks_of(root: Path, *references: str | None) -> tuple[str, ...]:
    """The stacks of which any of these git references, or (None) the working tree, has a file, by name."""
    anyone = "all"
    return tuple(sorted(set().union(*(version(root, anyone, reference).files for reference in references))))


def _path(stack: str) -> str:
    return f"{_FOLDER}/{_PREFIX}{stack}{_SUFFIX}"


def _working_tree(root: Path) -> dict[str, bytes]:
    files = sorted((root / _FOLDER).glob(f"{_PREFIX}*{_SUFFIX}"))
    return {_stack_of(file.name): _read(file) for file in files}


def _stack_of(name: str) -> str:
    return name.removeprefix(_PREFIX).removesuffix(_SUFFIX)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror or error}") from None


def _commit(root: Path, reference: str) -> str | None:
    asked = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}")
    return asked.stdout.decode().strip() if asked.returncode == 0 else None


def _at(root: Path, commit: str) -> dict[str, bytes]:
    """The stack files of a commit; a folder or a link of such a name is none."""
    listed = _git(root, "ls-tree", "-z", commit, f"./{_FOLDER}/")
    found: dict[str, bytes] = {}
    for entry in listed.stdout.split(b"\0"):
        head, _, path = entry.partition(b"\t")
        name = path.decode(errors="replace").rpartition("/")[2]
        if head.startswith(b"100") and name.startswith(_PREFIX) and name.endswith(_SUFFIX):
            blob = _git(root, "cat-file", "blob", head.split()[2].decode())
            if blob.returncode != 0:
                raise Refusal(f"git cannot read {name} of {commit}: {blob.stderr.decode(errors='replace').strip()}")
            found[_stack_of(name)] = blob.stdout
    return found


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", "-C", root, *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise Refusal("git is not installed, so a version can only be named as a file") from None
