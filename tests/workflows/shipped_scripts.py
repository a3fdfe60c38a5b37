"""Runs a script as a job does: the text that is shipped, in a Python of its own, told by its environment alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workflows.scripts import shipped

SHA = "c0ffee" * 6 + "cafe"
RUN_ID = "77"


def run(script: str, folder: Path, told: Mapping[str, Any], *arguments: str) -> subprocess.CompletedProcess[str]:
    """What it printed and how it ended; files of the runner's are in `folder`."""
    environ = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_RUN_ID": RUN_ID,
        "GITHUB_SHA": SHA,
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "PAUSE_SECONDS": "0",
        **{name: str(value) for name, value in told.items()},
    }
    return subprocess.run(
        [sys.executable, "-I", "-S", "-", *arguments],
        input=shipped(script),
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
