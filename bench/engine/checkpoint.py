"""A stack's whole state, read from its checkpoint and any journal that a dead run left, and written back.

Owns the checkpoint document (version 3, or 4 with the features that it needs), the order of its resources, and folding.
Does not own files (`bench.engine.backend`), one resource's form (`bench.engine.state`), nor what is done
about operations that were in flight (`bench.engine.refresh`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from bench.engine.backend import Holder, StackFiles, held, holders
from bench.engine.journal import Entry, OperationType, key_of, replay
from bench.engine.secrets import Vault
from bench.engine.state import ResourceState, decode, encode
from bench.engine.values import RefusedError
from infra.model import urns
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
    said: what a person should know of how it was read.
    metadata: what the document holds besides.
    """

    vault: Vault
    states: dict[str, ResourceState]
    operations: list[tuple[OperationType, ResourceState]]
    digest: str
    journals: tuple[Path, ...]
    said: list[str] = field(default_factory=list)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def live(self) -> dict[str, ResourceState]:
        """By URN, without those that are replaced and still to be deleted."""
        return {state.urn: state for state in self.states.values() if not state.delete}

    @property
    def outputs(self) -> dict[str, Any]:
        """The stack's; empty where there is no state."""
        return next((state.outputs for state in self.states.values() if state.type == urns.STACK_TYPE), {})


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
    found, said = sorted(files.journals.glob("*.jsonl")), []
    digest = hashlib.sha256(raw).hexdigest() if raw is not None else ""
    entries: dict[str, Entry] = {key_of(entry): entry for entry in latest.get("resources") or ()}
    pending = [*(latest.get("pending_operations") or ())]
    for path in found:
        after = dict(entries)
        base, in_flight = replay(path, after)
        if base != digest:
            said.append(
                f"the state of {files.stack} was changed by another program after a run that was killed: only what "
                "that run created is added; run refresh"
            )
            after = {**entries, **after, **entries}
            in_flight = [each for each in in_flight if each["type"] == "creating"]
        entries = after
        pending += in_flight if path.name not in running else ()
    return Snapshot(
        vault,
        states={key: decode(entry, vault) for key, entry in entries.items()},
        operations=[(each["type"], decode(each["resource"], vault)) for each in pending],
        digest=digest,
        journals=tuple(path for path in found if path.name not in running),
        said=said,
        metadata={name: value for name, value in latest.items() if name not in _OWN_MEMBERS},
    )


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
    fix = f"replace it with {files.checkpoint.name}.bak of the same folder, then run `./tidepool refresh {files.stack}`"
    try:
        document = json.loads(raw)
    except ValueError as error:
        raise EngineError(f"{source}: not JSON ({error}). Fix: {fix}") from None
    checked_form(_Document, document, source, fix)
    version, features = document["version"], document.get("features") or ()
    if version not in (CHECKPOINT_VERSION, VERSION_OF_FEATURES) or {*features} - {REPLACE_WITH}:
        raise RefusedError(
            f"stack {files.stack} has a checkpoint of version {version} that needs {', '.join(features) or 'nothing'}. "
            f"The embedded engine reads versions {CHECKPOINT_VERSION} and {VERSION_OF_FEATURES}, and knows only "
            f"{REPLACE_WITH}. Fix: use --engine pulumi"
        )
    return checked_deployment(document["checkpoint"].get("latest"), source, fix)


def document_of(files: StackFiles, snapshot: Snapshot) -> dict[str, Any]:
    """The checkpoint document; no secret in clear."""
    vault, states = snapshot.vault, ordered(snapshot.states.values())
    lists = {
        "resources": [encode(state, vault) for state in states],
        "pending_operations": [{"resource": encode(state, vault), "type": kind} for kind, state in snapshot.operations],
    }
    latest = {
        "manifest": {
            "time": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "magic": hashlib.sha256(CLI_VERSION.encode()).hexdigest(),
            "version": CLI_VERSION,
        },
        "secrets_providers": {"type": "passphrase", "state": {"salt": vault.state}},
        **snapshot.metadata,
        **{name: items for name, items in lists.items() if items},
    }
    needs = any(state.replace_with for state in states)
    form = {"version": VERSION_OF_FEATURES, "features": [REPLACE_WITH]} if needs else {"version": CHECKPOINT_VERSION}
    stack = f"{ORGANIZATION}/{files.project}/{files.stack}"
    return {**form, "checkpoint": {"stack": stack, "latest": latest}}


def save(files: StackFiles, snapshot: Snapshot) -> None:
    """Write the state as it is now; journals that are in it go."""
    raw = json.dumps(document_of(files, snapshot), separators=(",", ":"), ensure_ascii=False).encode()
    files.write(raw)
    snapshot.digest = hashlib.sha256(raw).hexdigest()
    for path in snapshot.journals:
        path.unlink(missing_ok=True)
    snapshot.journals = ()


def ordered(states: Collection[ResourceState]) -> list[ResourceState]:
    """Every resource after all that it refers to; replaced ones last. References to what is not there are cut."""
    live = {state.urn: state for state in states if not state.delete}
    order = TopologicalSorter({urn: [on for on in state.references() if on in live] for urn, state in live.items()})
    found = [*(live[urn] for urn in order.static_order()), *(state for state in states if state.delete)]
    for state in found:
        state.dependencies = tuple(on for on in state.dependencies if on in live)
        state.property_dependencies = {
            name: tuple(on for on in ons if on in live) for name, ons in state.property_dependencies.items()
        }
    return found


def fold(files: StackFiles, passphrase: Callable[[], str]) -> tuple[Holder, ...]:
    """Put the journals of runs that were cut off into the checkpoint, as operations in flight where they are.

    For programs that read the checkpoint without this engine. Returns whose dead locks were removed on the way. Does
    nothing where there is no journal. Raises EngineError where a living run holds the stack.
    """
    if not any(files.journals.glob("*.jsonl")):
        return ()
    with held(files) as mine:
        save(files, load(files, passphrase))
        return mine.taken_over
