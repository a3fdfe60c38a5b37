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
    if machine.pulumi is None:
        engine = "engine: embedded, since the pulumi CLI is not on PATH"
    else:
        plugin = re.search(r"resource-gcp-(v[\d.]+)", machine.plugin or "")
        engine = (
            f"engine: pulumi CLI {version_of(machine.pulumi)}, gcp plugin {plugin[1] if plugin else machine.plugin}"
        )
    return f"tidepool {_commit()} ({packages})\n{engine}"


def _commit() -> str:
    asked = ("git", "-C", str(workspace().root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    try:
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "of no known commit"
