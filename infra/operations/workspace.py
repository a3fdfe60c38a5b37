"""Where a command works, and for whom: the checkout with the stack files, the home of what Tidepool keeps on this
machine, and the name of who asks.

Owns TIDEPOOL_ROOT and TIDEPOOL_HOME. Does not own what lies in either.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from infra.model.errors import ConfigError, Problem

_HOME = "TIDEPOOL_HOME"
RESULTS = "TIDEPOOL_RESULTS"
"""Where results of test runs are kept, in place of what a stack file says."""
CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Workspace:
    """root: holds `stacks/`. home: state, local cloud, passphrase and logs; made when first written to."""

    root: Path
    home: Path

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    def make_home(self) -> None:
        """Make the home if it is missing, for its owner alone: it holds state and the passphrase.

        ConfigError where there can be none.
        """
        try:
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            why = "" if os.access(self.home, os.W_OK | os.X_OK) else "it may not be written to"
        except OSError as error:
            why = error.strerror or str(error)
        if why:
            fix = f"{_HOME}: a folder of yours, which is made where it is missing"
            raise ConfigError([Problem(_HOME, f"{self.home}: {why}", "no folder for state and the local cloud", fix)])

    def log_crash(self, error: BaseException) -> Path:
        """Write a traceback into a file of its own. OSError or ConfigError where it cannot be written."""
        self.make_home()
        self.logs.mkdir(exist_ok=True)
        now = datetime.now(UTC)  # noqa: TID251 - a crash of this process, which may have no cloud
        path = self.logs / f"crash-{now:%Y%m%dT%H%M%S.%fZ}.log"
        path.write_text("".join(traceback.format_exception(error)))
        return path


def workspace(environ: Mapping[str, str] = os.environ) -> Workspace:
    """The checkout that holds this package, or TIDEPOOL_ROOT; its `.tidepool`, or TIDEPOOL_HOME."""
    root = Path(environ.get("TIDEPOOL_ROOT") or CHECKOUT).absolute()
    return Workspace(root=root, home=Path(environ.get(_HOME) or root / ".tidepool").absolute())


def login() -> str:
    """Who asks, as status and history show it."""
    from getpass import getuser  # loads what a terminal's passwords need, which a start does without

    try:
        return getuser()
    except (KeyError, OSError):
        return "somebody"
