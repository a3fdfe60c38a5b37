"""The passphrase of a state's secrets, the same for both engines.

Owns where it comes from: PULUMI_CONFIG_PASSPHRASE, then the file that PULUMI_CONFIG_PASSPHRASE_FILE names, then
`$TIDEPOOL_HOME/passphrase`, which is made on first use for its owner alone. Does not own what is encrypted with it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from infra.model.errors import EngineError

_BYTES = 32


def passphrase(home: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The passphrase. Raises EngineError where a file that was named cannot be read."""
    if "PULUMI_CONFIG_PASSPHRASE" in environ:
        return environ["PULUMI_CONFIG_PASSPHRASE"]
    if named := environ.get("PULUMI_CONFIG_PASSPHRASE_FILE"):
        return _read(Path(named), "PULUMI_CONFIG_PASSPHRASE_FILE")
    own = home / "passphrase"
    if not own.exists():
        _make(own)
    return _read(own, "TIDEPOOL_HOME")


def _make(path: Path) -> None:
    """Make the file whole, under another name first; of two processes at once, the first one's stays."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f".passphrase.{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(_BYTES) + "\n")
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()


def _read(path: Path, variable: str) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        raise EngineError(
            f"the passphrase of the state's secrets cannot be read: {path}: {error.strerror} (see {variable})"
        ) from None
