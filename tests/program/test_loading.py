"""What a program loads: Google's types take a second already, and each further provider adds to it."""

from __future__ import annotations

import subprocess
import sys

_DEAR = ("jsonschema", "kubernetes", "pulumi_kubernetes")


def test_a_program_without_a_cluster_loads_nothing_of_kubernetes() -> None:
    code = (
        f"import sys, infra.program.stack, infra.cli.preview; print([name for name in {_DEAR} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
