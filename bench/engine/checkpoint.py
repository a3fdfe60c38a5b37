"""A stack's whole state, read from its checkpoint and any journal that a dead run left, and written back.

Owns the checkpoint document (version 3, or 4 with the features that it needs), the order of its resources, and folding.
Does not own files (`bench.engine.backend`), one resource's form (`bench.engine.state`), nor what is done
about operations that were in flight (`bench.engine.refresh`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from bench.engine.backend import Holder, StackFiles, held, holders
from bench.engine.journal import RESTORE, Entry, OperationType, Replay, key_of, replay
from bench.engine.secrets import Vault
from bench.engine.state import Codec, ResourceState
from bench.engine.values import RefusedError
from infra.model.deployment import checked_deployment, checked_form
from infra.model.errors import EngineError

if TYPE_CHECKING:
    from pathlib import Path

CHECKPOINT_VERSION = 3
VERSION_OF_FEATURES = 4
"""A checkpoint of this version says which features its resources need; one that needs none is of the other."""
REPLACE_WITH = "replaceWith"
"""The one feature that is known here."""
CLI_VERSION = "3.260.0"
"""The release of the official CLI whose format this is; the manifest names it, and its digest is the magic."""
ORGANIZATION = "organization"


@dataclass(slots=True)
class Snapshot:
    """A stack's state in memory.

    states: by key (`State.key`).
    operations: what was in flight when a run died.
    digest: of the checkpoint it was read from; empty where there was none.
    journals: files whose content is in here and not yet in the checkpoint.
    metadata: what the document holds besides.
    """

    vault: Vault
    codec: Codec
    states: dict[str, ResourceState] = field(default_factory=dict)
    operations: list[tuple[OperationType, ResourceState]] = field(default_factory=list)
    digest: str = ""
    journals: tuple[Path, ...] = ()
    said: list[str] = field(default_factory=list)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def check_passphrase(self) -> None:
        """EngineError where the state has secrets that the passphrase does not open."""
        if self.codec.met_secrets:
            self.vault.check()

    def live(self) -> dict[str, ResourceState]:
        """By URN, without those that are replaced and still to be deleted."""
        return {state.urn: state for state in self.states.values() if not state.delete}


def load(files: StackFiles, passphrase: Callable[[], str]) -> Snapshot:
    """Read a stack's state, journals folded in; writes nothing.

    Of journals that a live run is writing the ended steps count, and the open ones are under way and not in flight.
    """
    running = frozenset(f"{holder.path.stem}.jsonl" for holder in holders(files) if not holder.dead)
    raw = files.read()
    latest = read_checkpoint(raw, files) if raw is not None else {}
    provider = latest.get("secrets_providers") or {}
    if provider and provider.get("type") != "passphrase":
        raise RefusedError(
            f"stack {files.stack} keeps its secrets with {provider.get('type')}: the embedded engine reads only "
            "passphrase; use --engine pulumi"
        )
    vault = Vault(passphrase, (provider.get("state") or {}).get("salt"))
    snapshot = Snapshot(
        vault,
        Codec(vault),
        digest=digest([raw]) if raw is not None else "",
        metadata={name: value for name, value in latest.items() if name not in _OWN_MEMBERS},
    )
    entries = {key_of(entry): entry for entry in latest.get("resources") or ()}
    pending: list[tuple[OperationType, Entry]] = [
        (operation["type"], operation["resource"]) for operation in latest.get("pending_operations") or ()
    ]
    found = sorted(files.journals.glob("*.jsonl")) if files.journals.is_dir() else []
    for path in found:
        said = replay(path)
        if said.folded != snapshot.digest:
            if said.base != snapshot.digest:
                snapshot.said.append(
                    f"the state of {files.stack} was changed by another program after a run that was killed: only "
                    "what that run created is added; run refresh"
                )
                said = _only_new(said, entries)
            if path.name in running:
                said.open.clear()
            pending += _fold(said, entries)
    if found:
        folded = {
            "resources": list(entries.values()),
            "pending_operations": [{"type": kind, "resource": entry} for kind, entry in pending],
        }
        checked_deployment(folded, f"{files.journals} and {files.checkpoint}", RESTORE)
    snapshot.journals = tuple(path for path in found if path.name not in running)
    snapshot.states = {key: snapshot.codec.decode(entry) for key, entry in entries.items()}
    snapshot.operations = [(kind, snapshot.codec.decode(entry)) for kind, entry in pending]
    return snapshot


_OWN_MEMBERS = {"manifest", "secrets_providers", "resources", "pending_operations"}


class _Document(BaseModel):
    """What stands around a deployment."""

    model_config = ConfigDict(strict=True, extra="ignore")

    class Checkpoint(BaseModel):
        latest: dict[str, Any] | None = None

    version: int
    checkpoint: Checkpoint
    features: list[str] | None = None


def read_checkpoint(raw: bytes, files: StackFiles) -> dict[str, Any]:
    """The deployment of a checkpoint. Raises EngineError with every fault of its form, and the file to restore."""
    source = str(files.checkpoint)
    fix = restore(files)
    try:
        document = json.loads(raw)
    except ValueError as error:
        raise EngineError(f"{source}: not JSON ({error}). Fix: {fix}") from None
    checked_form(_Document, document, source, fix)
    version, unknown = document["version"], sorted({*(document.get("features") or ())} - {REPLACE_WITH})
    if version not in (CHECKPOINT_VERSION, VERSION_OF_FEATURES):
        raise RefusedError(
            f"stack {files.stack} has a checkpoint of version {version}: the embedded engine reads only versions "
            f"{CHECKPOINT_VERSION} and {VERSION_OF_FEATURES}; use --engine pulumi"
        )
    if unknown:
        raise RefusedError(
            f"stack {files.stack} has a checkpoint that needs {', '.join(unknown)}: the embedded engine knows only "
            f"{REPLACE_WITH}; use --engine pulumi"
        )
    return checked_deployment(document["checkpoint"].get("latest"), source, fix)


def restore(files: StackFiles) -> str:
    """How a person restores a state that cannot be read."""
    backups = files.base / "backups" / files.project / files.stack
    return (
        f"replace it with {files.checkpoint.name}.bak of the same folder or with the newest file of {backups}, "
        f"then run `./tidepool refresh {files.stack}`"
    )


def _fold(said: Replay, entries: dict[str, Entry]) -> list[tuple[OperationType, Entry]]:
    for key in said.dropped:
        entries.pop(key, None)
    entries.update(said.entries)
    return list(said.open.values())


def _only_new(said: Replay, entries: Mapping[str, Entry]) -> Replay:
    fresh = {key: entry for key, entry in said.entries.items() if key not in entries}
    unsettled = {number: one for number, one in said.open.items() if one[0] == "creating"}
    return Replay(base=said.base, entries=fresh, open=unsettled)


def render(files: StackFiles, snapshot: Snapshot) -> Iterator[bytes]:
    """The checkpoint document, a resource a line; no secret in clear."""
    head = {
        "manifest": {
            "time": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "magic": hashlib.sha256(CLI_VERSION.encode()).hexdigest(),
            "version": CLI_VERSION,
        },
        "secrets_providers": {"type": "passphrase", "state": {"salt": snapshot.vault.state}},
        **snapshot.metadata,
    }
    encode = snapshot.codec.encode
    needs = any(state.replace_with for state in snapshot.states.values())
    form = {"version": VERSION_OF_FEATURES, "features": [REPLACE_WITH]} if needs else {"version": CHECKPOINT_VERSION}
    yield _text(form)[:-1] + b',"checkpoint":{"stack":'
    yield _text(f"{ORGANIZATION}/{files.project}/{files.stack}") + b',"latest":' + _text(head)[:-1]
    yield from _array("resources", (encode(state) for state in ordered(snapshot.states.values())))
    yield from _array(
        "pending_operations", ({"resource": encode(state), "type": kind} for kind, state in snapshot.operations)
    )
    yield b"}}}\n"


def _array(name: str, items: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    separator = b',"%s":[\n' % name.encode()
    for item in items:
        yield separator + _text(item)
        separator = b",\n"
    if separator == b",\n":
        yield b"\n]"


def _text(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def digest(chunks: Iterable[bytes]) -> str:
    """What tells one checkpoint from another."""
    found = hashlib.sha256()
    for chunk in chunks:
        found.update(chunk)
    return found.hexdigest()


def ordered(states: Iterable[ResourceState]) -> list[ResourceState]:
    """Every resource after all that it refers to, else as given; replaced ones last. References to nothing are cut."""
    pool = list(states)
    live = {state.urn: state for state in pool if not state.delete}
    last = {state.urn: state for state in pool}
    known = last.keys()
    done: set[int] = set()
    result: list[ResourceState] = []
    for start in sorted(pool, key=lambda state: state.delete):
        stack: list[tuple[ResourceState, Iterator[str]]] = [(start, start.references())]
        entered = {id(start)}
        if id(start) in done:
            continue
        while stack:
            state, references = stack[-1]
            for urn in references:
                below = live.get(urn) or last.get(urn)
                if below is not None and id(below) not in done and id(below) not in entered:
                    entered.add(id(below))
                    stack.append((below, below.references()))
                    break
            else:
                stack.pop()
                done.add(id(state))
                result.append(_without_dangling(state, known))
    return result


def _without_dangling(state: ResourceState, known: Iterable[str]) -> ResourceState:
    if all(urn in known for urn in state.dependencies) and all(
        urn in known for urns in state.property_dependencies.values() for urn in urns
    ):
        return state
    state.dependencies = tuple(urn for urn in state.dependencies if urn in known)
    state.property_dependencies = {
        name: tuple(urn for urn in urns if urn in known) for name, urns in state.property_dependencies.items()
    }
    return state


def fold(files: StackFiles, passphrase: Callable[[], str]) -> tuple[Holder, ...]:
    """Put the journals of runs that were cut off into the checkpoint, as operations in flight where they are.

    For programs that read the checkpoint without this engine. Returns whose dead locks were removed on the way. Does
    nothing where there is no journal. Raises EngineError where a living run holds the stack.
    """
    if not any(files.journals.glob("*.jsonl")):
        return ()
    with held(files) as mine:
        snapshot = load(files, passphrase)
        files.write(render(files, snapshot))
        for path in snapshot.journals:
            path.unlink(missing_ok=True)
        return mine.taken_over
