"""A command spends no time on walks over its objects: what it makes stays until it ends, and then all of it goes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

COMMAND = """
import atexit, gc, runpy
import infra.cli.app

walks = []

def command(prog_name):
    gc.callbacks.append(lambda phase, _: walks.append(phase))
    command.made = [[] for _ in range(500_000)]

infra.cli.app.cli = command
atexit.register(lambda: print(f"{len(walks)} walks, {len(gc.get_objects())} objects left for the last one"))
runpy.run_module("infra.cli", run_name="__main__")
"""


def test_a_command_collects_neither_while_it_runs_nor_at_its_end() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND], capture_output=True, text=True, check=True, timeout=60,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout == "0 walks, 0 objects left for the last one\n"


WATCH = """
import gc, runpy, sys, time
from infra.operations.fleet.status import Statuses

usual, looks = gc.get_threshold(), []

def look(_):
    looks.append(gc.get_threshold() == usual)
    return ()

def wait(_):
    if len(looks) == 2:
        raise KeyboardInterrupt

Statuses.look, time.sleep = look, wait
sys.argv = ["tidepool", "status", "--watch", "--json", "--cloud", "local"]
try:
    runpy.run_module("infra.cli", run_name="__main__")
finally:
    print(looks, file=sys.stderr)
"""


def test_who_watches_a_fleet_collects_as_usual_for_each_look_leaves_cycles() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCH], capture_output=True, text=True, check=True, timeout=60,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == "[True, True]"
