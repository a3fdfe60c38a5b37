"""Runs of the embedded engine's `up` in a process of their own that die at a chosen moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.engines.protocol import EngineRequest

DIED: Final = 9
ENVIRONMENT: Final[Mapping[str, str]] = {"PULUMI_CONFIG_PASSPHRASE": "words"}

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class DyingUps:
    """The process that forks the runs."""

    process: subprocess.Popen[str]

    def up(self, request: EngineRequest, at: int) -> int:
        """Run `up` until so many requests, answers and lines of the journal have passed: 9 where it died of that, else
        0 or 1 as it succeeded or failed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        place = {"root": str(request.root), "home": str(request.home)}
        self.process.stdin.write(
            json.dumps({**place, "url": request.cloud_url, "stack": request.stack, "at": at}) + "\n"
        )
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@contextmanager
def dying_ups() -> Generator[DyingUps]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.engines.dying_runner"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )
    with process:
        yield DyingUps(process)
        assert process.stdin is not None
        process.stdin.close()
