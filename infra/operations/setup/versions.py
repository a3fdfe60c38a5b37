"""Which Tidepool this is, for whoever reports a fault or compares two machines."""

from __future__ import annotations

import re
import subprocess
from importlib.metadata import version

from infra.engines.choose import observe
from infra.operations.setup.doctor import version_of
from infra.operations.workspace import workspace


def versions() -> str:
    """The commit of this checkout, and what decides what a plan is: packages, and the pulumi CLI where it is here."""
    packages = f"Pulumi SDK {version('pulumi')}, Google provider {version('pulumi-gcp')}"
    machine = observe()
    engine = "embedded, since the pulumi CLI is not on PATH"
    if machine.pulumi is not None:
        engine = f"pulumi CLI {version_of(machine.pulumi)}, gcp plugin {_plugin(machine.plugin)}"
    return f"tidepool {_commit()} ({packages})\nengine: {engine}"


def _plugin(found: str | None) -> str:
    """The version of the official Google provider; where it is not installed, what becomes of it."""
    if found is None or "/" not in found:
        return found or "none"
    # A plugin that the CLI installed is a folder named after its version.
    installed = re.search(r"resource-gcp-v([\d.]+)$", found)
    return installed[1] if installed else version_of(found, "--version")


def _commit() -> str:
    asked = ("git", "-C", str(workspace().root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    try:
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "of no known commit"
