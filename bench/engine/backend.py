"""Where states live, and who works on them: a folder in the layout of Pulumi's file backend.

Owns file names, atomic writes, and the lock by which this engine and the official CLI keep each other out. A lock whose
process is dead on this very host is taken over; one of another host never is, since nothing here can tell. Does not own
a checkpoint's content (`bench.engine.checkpoint`) nor the journal's (`bench.engine.journal`). Layout as the official
CLI 3.260 writes it, seen 2026-11-21:

    .pulumi/meta.yaml                                            version: 1
    .pulumi/stacks/<project>/<stack>.json  .json.bak             the checkpoint and the one before
    .pulumi/locks/organization/<project>/<stack>/<uuid>.json     who works on it now
"""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from infra.model.errors import EngineError
from infra.tools.processes import LockHolder


@dataclass(frozen=True, slots=True)
class Backend:
    """A file backend rooted at a folder, which need not exist yet."""

    root: Path

    @classmethod
    def from_url(cls, url: str) -> Backend:
        """The backend of a `file://` URL, as PULUMI_BACKEND_URL has it; `~` is the home folder."""
        parts = urlsplit(url)
        if parts.scheme != "file":
            raise EngineError(
                f"PULUMI_BACKEND_URL is {url}: the embedded engine reads only file:// backends; unset it, or use "
                "--engine pulumi"
            )
        path = unquote(parts.netloc + parts.path)
        return cls(Path(path).expanduser())

    def files(self, project: str, stack: str) -> StackFiles:
        """The files of one stack."""
        return StackFiles(self.root / ".pulumi", project, stack)


@dataclass(frozen=True, slots=True)
class StackFiles:
    """The files of one stack below `.pulumi`."""

    base: Path
    project: str
    stack: str

    @property
    def checkpoint(self) -> Path:
        return self.base / "stacks" / self.project / f"{self.stack}.json"

    @property
    def journals(self) -> Path:
        return self.base / "journals" / self.project / self.stack

    @property
    def locks(self) -> Path:
        return self.base / "locks" / "organization" / self.project / self.stack

    def read(self) -> bytes | None:
        """The checkpoint as it is, None where the stack has none."""
        return self.checkpoint.read_bytes() if self.checkpoint.exists() else None

    def write(self, raw: bytes) -> None:
        """Put a new checkpoint in place of the old one, which becomes `.bak`; at no moment is there none."""
        if not (meta := self.base / "meta.yaml").exists():
            write_atomically(meta, b"version: 1\n")
        if (before := self.read()) is not None:
            write_atomically(self.checkpoint.with_name(f"{self.stack}.json.bak"), before)
        write_atomically(self.checkpoint, raw)


def write_atomically(path: Path, raw: bytes) -> None:
    """Write a file whole or not at all: a new file, synced, takes the name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    with fresh.open("wb") as out:
        out.write(raw)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(path)
    _forget_attributes(path)


def _forget_attributes(path: Path) -> None:
    """Drop the checksum that the official CLI keeps beside a file: it speaks of the content before."""
    with suppress(FileNotFoundError):
        path.with_name(f"{path.name}.attrs").unlink()


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder(LockHolder):
    """path: its lock."""

    path: Path


def holders(files: StackFiles) -> tuple[Holder, ...]:
    """Everyone who holds a lock on the stack, dead ones too."""
    found = sorted(files.locks.glob("*.json")) if files.locks.is_dir() else []
    return tuple(holder for path in found if (holder := _read(path)) is not None)


def _read(path: Path) -> Holder | None:
    try:
        said = json.loads(path.read_bytes())
        return Holder(
            path=path,
            pid=int(said["pid"]),
            user=said["username"],
            host=said["hostname"],
            since=said["timestamp"],
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return Holder(path=path, pid=0, user="someone", host="an unknown host", since="an unknown time")


@dataclass(frozen=True, slots=True)
class Held:
    """A lock that this process holds, and the dead ones that it took over."""

    name: str
    taken_over: tuple[Holder, ...]


@contextmanager
def held(files: StackFiles) -> Generator[Held]:
    """Hold the stack; EngineError says who holds it already and since when."""
    dead = _refuse_living(files)
    for holder in dead:
        holder.path.unlink(missing_ok=True)
    name = str(uuid.uuid4())
    mine = files.locks / f"{name}.json"
    said = {
        "pid": os.getpid(),
        "username": os.environ.get("USER") or str(os.getuid()),
        "hostname": socket.gethostname(),
        "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
    }
    write_atomically(mine, json.dumps(said).encode())
    try:
        _refuse_living(files, but=mine)  # of two that came at once, at least one goes
        yield Held(name, dead)
    finally:
        mine.unlink(missing_ok=True)


def _refuse_living(files: StackFiles, but: Path | None = None) -> tuple[Holder, ...]:
    others = [holder for holder in holders(files) if holder.path != but]
    living = [holder for holder in others if not holder.dead]
    if living:
        where = f".pulumi/locks/organization/{files.project}/{files.stack}"
        raise EngineError(
            f"stack {files.stack} is locked by {'; '.join(map(str, living))}: wait until it ends; if that machine is "
            f"gone for good, remove {', '.join(holder.path.name for holder in living)} in {where}"
        )
    return tuple(others)
