"""What it takes to start the commands that need neither an engine nor a cloud: a process each, as a person starts it.

Owns which those are. What they load is held by tests (`tests/cli/test_what_commands_load.py`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from infra.operations.checkout.bench import timed
from infra.operations.checkout.figures import Figure
from infra.operations.workspace import CHECKOUT

_IMAGE: Final = f"bench@sha256:{'0' * 64}"
_RECORDED: Final = '{"stack": "ci", "complete": true, "steps": []}'
COMMANDS: Final = {
    "--version": ("--version",),
    "--help": ("--help",),
    "completion": ("completion", "bash"),
    "doctor": ("doctor",),
    "cloud status": ("cloud", "status"),
    "config": ("config", "ci"),
    "validate": ("validate",),
    "schema": ("schema",),
    "plan digest": ("plan", "digest", "RECORDED"),
    "calendar": ("calendar",),
    "explain": ("explain", "ci"),
    "images bases": ("images", "bases"),
    "jobs submit --dry-run": ("jobs", "submit", "bench", "--tpu", "v4-8", "--image", _IMAGE, "--dry-run", "--", "true"),
}
"""By the words that people read. RECORDED: a file of what a preview printed."""


def starts(runs: int) -> Iterator[Figure]:
    """The median of each, by processor time; this checkout's stacks are read. Failure for one that fails."""
    with tempfile.TemporaryDirectory(prefix="tidepool-bench-") as folder:
        recorded = Path(folder, "recorded.json")
        recorded.write_text(_RECORDED)
        for case, words in COMMANDS.items():
            given = [str(recorded) if word == "RECORDED" else word for word in words]
            taken = [timed(case, 0, "none", CHECKOUT, Path(folder), *given) for _ in range(runs)]
            yield sorted(taken, key=lambda figure: figure.cpu_seconds)[len(taken) // 2]
