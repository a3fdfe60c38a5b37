"""Resolve the dependencies of pyproject.toml into the committed locks, one an install.

Owns how the locks are made: universal (every platform, Python 3.11 and later), every file by hash, no index URL, each
held to the tool's versions. The tool's and the service's are whole; what checks is beside the tool's. What a laptop
adds has nothing that the tool's has, what draws charts nothing that either has, what judges results nothing that the
service's has.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from infra.operations.errors import Failure
from infra.operations.workspace import CHECKOUT

COMPILE = (
    "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes",
    "--no-emit-index-url", "--no-emit-find-links", "--custom-compile-command", "./tidepool lock",
)  # fmt: skip
TOOL, BENCH, CHARTS = "requirements.lock", "requirements-bench.lock", "requirements-charts.lock"
SERVICE, RESULTS = "requirements-service.lock", "requirements-results.lock"
LOCKS = {
    TOOL: ("pyproject.toml", "--extra", "tool"),
    SERVICE: ("pyproject.toml", "-c", TOOL),
    BENCH: ("--group", "bench", "-c", TOOL),
    CHARTS: ("--group", "charts", "-c", TOOL, "-c", BENCH),
    RESULTS: ("--group", "results", "-c", TOOL, "-c", CHARTS),
    "requirements-dev.lock": ("--group", "dev", "-c", TOOL, "-c", BENCH, "-c", CHARTS),
    "requirements-uv.lock": ("--group", "uv"),
}
"""How each is asked for. The tool's is the first: the others are held to it."""
ON_TOP_OF = {BENCH: (TOOL,), CHARTS: (TOOL, BENCH), RESULTS: (SERVICE,)}
"""The locks that are installed before one, which leaves out what they have."""


def write_locks(*, upgrade: bool) -> None:
    """Write every lock; Failure where uv is missing. upgrade: to the newest versions that pyproject.toml allows."""
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        raise Failure("uv is missing: it writes the locks, which pip only reads. Fix: pip install uv.")
    newer = ("--upgrade",) if upgrade else ()
    for name, asked in LOCKS.items():
        there = [package for lock in ON_TOP_OF.get(name, ()) for package in _pinned(lock)]
        left = [part for package in there for part in ("--no-emit-package", package)]
        subprocess.run([uv, *COMPILE, *newer, *asked, *left, "-o", name], cwd=CHECKOUT, check=True)


def _pinned(lock: str) -> list[str]:
    return re.findall(r"^([a-z0-9][a-z0-9._-]*)==", (CHECKOUT / lock).read_text(encoding="utf-8"), re.MULTILINE)
