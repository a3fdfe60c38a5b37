"""Which Tidepool this is, for whoever reports a fault or compares two machines."""

from __future__ import annotations

import subprocess
from importlib.metadata import version

from infra.operations.workspace import workspace


def versions() -> str:
    """The commit of this checkout, and the packages that decide what a plan is."""
    packages = f"Pulumi SDK {version('pulumi')}, Google provider {version('pulumi-gcp')}"
    return f"tidepool {_commit()} ({packages})"


def _commit() -> str:
    asked = ("git", "-C", str(workspace().root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    try:
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "of no known commit"
