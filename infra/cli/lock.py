"""`./tidepool lock`: resolve the dependencies of pyproject.toml into the committed locks, one an install.

Owns how the locks are made: universal (every platform, Python 3.11 and later), every file by hash, no index URL, each
held to the tool's versions. The tool's and the service's are whole; what a laptop adds and what checks are beside the
tool's.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[2]
COMPILE = (
    "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes",
    "--no-emit-index-url", "--no-emit-find-links", "--custom-compile-command", "./tidepool lock",
)  # fmt: skip


TOOL = "requirements.lock"
LOCKS = {
    TOOL: ("pyproject.toml", "--extra", "tool"),
    "requirements-service.lock": ("pyproject.toml", "-c", TOOL),
    "requirements-bench.lock": ("--group", "bench", "-c", TOOL),
    "requirements-dev.lock": ("--group", "dev", "-c", TOOL),
}
"""How each is asked for. The tool's is the first: the others are held to it."""


@click.command(name="lock", short_help="Resolve pyproject.toml into the committed locks.")
@click.option("--upgrade", is_flag=True, help="Take the newest versions that pyproject.toml allows.")
def command(*, upgrade: bool) -> None:
    """Write requirements.lock (the tool), and those of the service, the bench and development; needs uv."""
    uv = shutil.which("uv")
    if uv is None:
        raise click.ClickException(
            "uv is not on this machine; it makes the locks (pip install uv), pip only reads them."
        )
    newer = ("--upgrade",) if upgrade else ()
    for lock, asked in LOCKS.items():
        subprocess.run([uv, *COMPILE, *newer, *asked, "-o", lock], cwd=ROOT, check=True)
