"""A stand-in for the pinned base where Debian's archive is reached but no registry: to try a recipe, not to ship.

Owns how it is made: Debian 12 with its own Python 3.11 by mmdebstrap, imported as one layer. Leaves the real base,
which is python's official image on the same Debian, to images/bases.yaml.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from bench.builds.builders import BUILDAH, output

STAND_IN = "localhost/tidepool/base:bookworm"
PACKAGES = ("ca-certificates", "python3", "python3-pip", "python3-venv")


def can_stand_in() -> bool:
    """Whether this machine has what it takes."""
    return shutil.which("mmdebstrap") is not None


def stand_in() -> str:
    """The stand-in's name on this machine, made where it is not there yet; BuildError where it cannot be made."""
    if output((*BUILDAH.client, "images", "--quiet", "--filter", f"reference={STAND_IN}")).strip():
        return STAND_IN
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, "base.tar")
        included = ",".join(PACKAGES)
        output(("mmdebstrap", "--variant=minbase", "--mode=root", f"--include={included}", "bookworm", str(archive)))
        container = output((*BUILDAH.client, "from", "scratch")).strip()
        try:
            output((*BUILDAH.client, "add", container, str(archive), "/"))
            output((*BUILDAH.client, "commit", container, STAND_IN))
        finally:
            output((*BUILDAH.client, "rm", container))
    return STAND_IN
