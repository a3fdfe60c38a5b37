"""What a command asks of an engine, whichever it is.

Owns the request, the interface, and the passphrase of a state's secrets. Does not own how a plan looks
(`infra.model.plan`) nor which engine is taken (`infra.engines.choose`).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

from infra.model.clouds import DEFAULT_PARALLEL, CloudName, EngineName
from infra.model.errors import EngineError
from infra.model.plan import Event, Plan

Listener = Callable[[Event], None]
"""Takes each event while an engine works; called from one thread at a time, never after the call has returned."""


NOW: Final = "TIDEPOOL_NOW"
"""Tells the policy pack, a process of the pulumi CLI, the time of the invocation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRequest:
    """One stack on one cloud, and how an operation on it shall go.

    root: the checkout whose `stacks/Pulumi.<stack>.yaml` is the desired state.
    home: `$TIDEPOOL_HOME`; state lives in `home/state/<cloud>` unless PULUMI_BACKEND_URL says otherwise.
    cloud_url: root URL of the local cloud; None on Google.
    parallel: how many resources may be worked on at once.
    targets: URNs that alone may change; empty means all.
    excludes: URNs that a preview or an `up` leaves as they are, with what they need; not beside targets.
    claims: URNs of what is taken into the state though others made it, as a person has said by name.
    continue_on_error: go on with what does not depend on a failed resource.
    exclude_protected: let destroy leave protected resources and what they need, where it else deletes nothing at all.
    refresh: read every resource from its cloud before planning.
    now: the cloud's time, by which rules judge what they are told of its plan; this machine's where None.
    """

    root: Path
    home: Path
    stack: str
    cloud: CloudName
    cloud_url: str | None = None
    parallel: int = DEFAULT_PARALLEL
    targets: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    continue_on_error: bool = False
    exclude_protected: bool = False
    refresh: bool = False
    now: datetime | None = None


class Engine(Protocol):
    """Plans and applies one `EngineRequest`: `EmbeddedEngine(request)`, `OfficialEngine(request)`.

    A resource that fails is a FAILED step of the returned plan, and a program that fails is an `error` diagnostic
    in it. What keeps an operation from starting at all (a held lock, a wrong passphrase, an unknown target, no
    backend) is an `EngineError`; a stack file at fault is a `ConfigError`. KeyboardInterrupt ends an operation cleanly:
    what is in flight is awaited and recorded, then it is raised again.
    """

    name: EngineName

    def preview(self, listener: Listener | None = None) -> Plan:
        """What `up` would do. Changes nothing, and makes no state where none is."""
        ...

    def up(self, listener: Listener | None = None, *, planned: Plan | None = None) -> Plan:
        """Make the cloud as the program says. Creates the stack's state on first use.

        planned: what `preview` of the same request has just said, without a fault; the program is then not tried out
        again, and what a failure kept from beginning is told as SKIPPED.
        """
        ...

    def adopt(self, listener: Listener | None = None, *, planned: Plan | None = None) -> Plan:
        """Take into the state the VMs that stand under declared slots' names with this stack's labels, and the claims.

        planned: what `preview` of the same request has just said; needed where there are claims.
        Changes the state alone. `preview` and `up` do this first, by themselves: what then differs from its declaration
        is an ordinary update or replacement. All three raise EngineError where a VM of others has a declared name.
        """
        ...

    def forget(self, listener: Listener | None = None, *, planning: bool = False) -> Plan:
        """Let the state go of the targets and of what needs them, each as RETAIN; the cloud keeps them.

        planning: change nothing, and only say what would go.
        """
        ...

    def refresh(self, listener: Listener | None = None) -> Plan:
        """Take over what the cloud says of every resource in the state. Changes the state alone."""
        ...

    def destroy(self, listener: Listener | None = None) -> Plan:
        """Delete every resource in the state; while one is protected nothing is deleted, unless that is excluded."""
        ...

    def preview_destroy(self, listener: Listener | None = None) -> Plan:
        """What `destroy` would do, with the VMs of the stack that its state lacks. Changes nothing.

        Where anything protected would go the plan is FAILED, and says so.
        """
        ...

    def outputs(self) -> Mapping[str, Any]:
        """The stack's outputs as last recorded, secrets masked as `[secret]`; empty where the stack has no state."""
        ...


def passphrase(home: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The passphrase of a state's secrets, the same for both engines.

    That of PULUMI_CONFIG_PASSPHRASE, then of the file that PULUMI_CONFIG_PASSPHRASE_FILE names, then of
    `$TIDEPOOL_HOME/passphrase`, which is made on first use for its owner alone. Raises EngineError where a file that
    was named cannot be read.
    """
    if "PULUMI_CONFIG_PASSPHRASE" in environ:
        return environ["PULUMI_CONFIG_PASSPHRASE"]
    if named := environ.get("PULUMI_CONFIG_PASSPHRASE_FILE"):
        return _read_passphrase(Path(named), "PULUMI_CONFIG_PASSPHRASE_FILE")
    own = home / "passphrase"
    if not own.exists():
        _make_passphrase(own)
    return _read_passphrase(own, "TIDEPOOL_HOME")


def _make_passphrase(path: Path) -> None:
    """Make the file whole, under another name first; of two processes at once, the first one's stays."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f".passphrase.{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(32) + "\n")
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()


def _read_passphrase(path: Path, variable: str) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        raise EngineError(
            f"the passphrase of the state's secrets cannot be read: {path}: {error.strerror} (see {variable})"
        ) from None
