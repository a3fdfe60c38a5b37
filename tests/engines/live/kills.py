"""Operations in a process of their own, which die or are interrupted at a chosen moment of the cloud.

The local cloud runs at Google's own pace meanwhile, so that a VM is being made for a minute and more; its clock is
moved on afterwards.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from bench.cloud.control import Control
from infra.engines import EngineName
from infra.engines.standing import IN_TRANSIT
from infra.tools.processes import runs
from tests.engines.live.live_worlds import ROOT, World

HOUR = 3600.0
SWIFT = 1000.0
"""The local cloud's own compression of delays."""
_LONGEST = 240.0
_PAUSE = 0.05

Nodes = Mapping[str, Mapping[str, Any]]
Moment = Callable[[Nodes, Nodes], bool]
"""Whether it has come, from the VMs that stood before the operation and those of now."""


def creating(before: Nodes, now: Nodes) -> bool:
    return any(node["state"] == "CREATING" for name, node in now.items() if name not in before)


def replacing(before: Nodes, now: Nodes) -> bool:
    """The old VM is gone, its successor is being made."""
    return any(node["state"] == "CREATING" for name, node in now.items() if name in before)


def deleting(before: Nodes, now: Nodes) -> bool:
    return any(node["state"] == "DELETING" for node in now.values())


def killed(world: World, moment: Moment) -> None:
    """Start `up`, and kill whatever works on the stack at that moment, as the end of a machine would."""
    with _up(world, moment) as process:
        victim = process.pid if world.engine is EngineName.LOCAL else _lock_holder(world)
        with suppress(ProcessLookupError):
            os.killpg(victim, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=_LONGEST)
        while victim != process.pid and runs(victim):
            time.sleep(_PAUSE)


def interrupted(world: World, moment: Moment) -> int:
    """Start `up`, press Ctrl-C at that moment, and let what is in flight end; its exit code."""
    with _up(world, moment) as process:
        process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + _LONGEST
        while process.poll() is None and time.monotonic() < deadline:
            world.control.advance(60)
            time.sleep(0.5)
        return process.wait(timeout=1)


@contextmanager
def _up(world: World, moment: Moment) -> Generator[subprocess.Popen[bytes]]:
    """An `up` that has come to the moment. Afterwards all that the cloud was doing is done."""
    control, before = world.control, world.nodes()
    control.set_compression(1.0)
    try:
        with _started(world) as process:
            try:
                _await(control, before, moment, process)
                assert process.poll() is None, f"the up ended with {process.returncode} too early"
                yield process
            finally:
                if process.poll() is None:
                    process.kill()
    finally:
        control.set_compression(SWIFT)
        control.advance(HOUR)


def _started(world: World) -> subprocess.Popen[bytes]:
    told = {"engine": world.engine.value, "stack": world.stack, "folder": str(world.folder), "url": world.url}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.engines.live.one_up", json.dumps(told)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def _await(control: Control, before: Nodes, moment: Moment, process: subprocess.Popen[bytes]) -> None:
    """Return when the moment has come, or the process has ended."""
    deadline = time.monotonic() + _LONGEST
    while time.monotonic() < deadline:
        now = {node["name"].rpartition("/")[2]: node for node in control.nodes()}
        if moment(before, now) or process.poll() is not None:
            return
        if any(node["state"] in IN_TRANSIT for node in now.values()):
            control.advance(HOUR)
        time.sleep(_PAUSE)
    raise AssertionError("the moment never came")


def _lock_holder(world: World) -> int:
    """The CLI's process, which leads a group of its own: its language host and its plugins are in that."""
    (lock,) = (world.home / "state" / "local" / ".pulumi" / "locks").rglob("*.json")
    return json.loads(lock.read_text())["pid"]
