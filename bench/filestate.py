"""A state in the CLI's file backend, made fit for the CLI to read.

Owns what only a look at the files can tell or mend: journals of the embedded engine, the passphrase salt, and what a
kill can leave of the CLI's own writes. States in other backends are the CLI's alone. Does not own locks (`recovery`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.engine.backend import Backend, Holder, StackFiles, held
from bench.engine.checkpoint import fold, read_checkpoint
from infra.model.names import PULUMI_PROJECT
from infra.model.plan import Diagnostic


def readable(backend: str | None, stack: str, passphrase: str, settings: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Make a stack's files readable for the CLI, and say what was done to them.

    What the embedded engine still has in journals goes into the checkpoint. Raises EngineError where a living run of
    that engine holds the stack.

    settings: what the state's gcp providers must say, {} where they are to be left as they are.
    """
    files = _files(backend, stack)
    if files is None:
        return ()
    if (raw := files.read()) is not None:
        read_checkpoint(raw, files)
    said = [f"removed {path.name}, an empty file that a killed run left" for path in _drop_empty_attributes(files)]
    dead = (*fold(files, lambda: passphrase), *_point(files, settings))
    said += [f"removed the lock of a run that was killed: {holder}" for holder in dead]
    return tuple(Diagnostic(severity="warning", message=line) for line in said)


def salt(backend: str | None, stack: str) -> str | None:
    """The passphrase salt in a stack's state, so that the CLI keeps its key; None where there is none."""
    files = _files(backend, stack)
    raw = files.read() if files is not None else None
    if raw is None or files is None:
        return None
    provider = read_checkpoint(raw, files).get("secrets_providers") or {}
    return (provider.get("state") or {}).get("salt")


def _point(files: StackFiles, settings: Mapping[str, str]) -> tuple[Holder, ...]:
    """Make the state's gcp providers speak to the cloud of these settings; returns whose dead locks went with it.

    Import, refresh and destroy run no program: they take each provider as the state has it. One that the embedded
    engine wrote names no endpoint and would reach for Google; one of an earlier local cloud names a port that is gone.
    The CLI's own `stack import` would drop the creates in flight, so the file is written here.
    """
    raw = files.read()
    if not settings or raw is None or _pointed(raw, settings) == json.loads(raw):
        return ()
    with held(files) as mine:
        files.write(json.dumps(_pointed(files.read() or raw, settings)).encode())
        return mine.taken_over


def _pointed(raw: bytes, settings: Mapping[str, str]) -> dict[str, Any]:
    """A checkpoint with these settings in its gcp providers."""
    document = json.loads(raw)
    for provider in (document["checkpoint"].get("latest") or {}).get("resources") or ():
        if provider["type"] == "pulumi:providers:gcp":
            for side in ("inputs", "outputs"):
                provider[side] = {**(provider.get(side) or {}), **settings}
    return document


def _files(backend: str | None, stack: str) -> StackFiles | None:
    if backend is None or not backend.startswith("file://"):
        return None
    return Backend.from_url(backend).files(PULUMI_PROJECT, stack)


def _drop_empty_attributes(files: StackFiles) -> list[Path]:
    """Remove empty `.attrs` files, which make the CLI fail with `failed to load checkpoint: EOF`.

    The CLI keeps a checksum beside each file and writes it in place, so a kill can leave it empty (seen with 3.260,
    2026-11). Without one it reads the file as it is.
    """
    folders = (files.checkpoint.parent, files.locks)
    empty = [path for folder in folders for path in folder.glob("*.attrs") if path.stat().st_size == 0]
    for path in empty:
        path.unlink(missing_ok=True)
    return empty
