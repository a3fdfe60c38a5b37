"""`./tidepool lock`: resolve the dependencies of pyproject.toml into the two committed locks.

Owns how the locks are made: universal (every platform, Python 3.11 and later), every file by hash, no index URL,
the development group apart and held to the versions that run in production.
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


@click.command(name="lock", short_help="Resolve pyproject.toml into the committed locks.")
@click.option("--upgrade", is_flag=True, help="Take the newest versions that pyproject.toml allows.")
def command(*, upgrade: bool) -> None:
    """Write requirements.lock and requirements-dev.lock; needs uv."""
    uv = shutil.which("uv")
    if uv is None:
        raise click.ClickException(
            "uv is not on this machine; it makes the locks (pip install uv), pip only reads them."
        )
    newer = ("--upgrade",) if upgrade else ()
    runtime = ("pyproject.toml", "-o", "requirements.lock")
    development = ("--group", "dev", "-c", "requirements.lock", "-o", "requirements-dev.lock")
    for target in (runtime, development):
        subprocess.run([uv, *COMPILE, *newer, *target], cwd=ROOT, check=True)
