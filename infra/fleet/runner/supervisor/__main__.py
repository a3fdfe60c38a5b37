"""`python3 -m supervisor boot|supervise`, in an unpacked bundle: what start.sh and supervisor.sh start on a VM."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Final

from .boot import Boot
from .disk import Disk
from .machine import Machine, log
from .state import Waits
from .supervise import Supervisor

_STOPPED: Final = 143
_NOT_STARTED: Final = 127


class StoppedError(BaseException):
    """The unit is stopped, whatever is being done."""


def main(mode: str) -> int:
    root = Path(os.environ.get("TIDEPOOL_ROOT") or "/")
    here = Path(__file__).resolve().parents[1]
    docker = root / "opt/tidepool/docker"
    os.environ |= {
        "TZ": "UTC",
        "LC_ALL": "C",
        "PATH": f"{docker}:{os.environ.get('PATH', os.defpath)}",
        "DOCKER_HOST": "unix:///run/tidepool/docker.sock",
    }
    disk = Disk(root / "var/lib/tidepool")
    state = disk.load()
    machine = Machine(here, root, disk, state)
    if mode == "boot":
        return 0 if machine.carry_out(Boot(state, clock=time.time, ticks=time.monotonic).boot(here.name)) else 1
    core = Supervisor(state, clock=time.time, ticks=time.monotonic, luck=random.random)
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, _stopped)
    try:
        machine.carry_out(core.begin(here.name))
        while state.waits is not Waits.HANDED_OVER:
            _turn(core, machine)
    except StoppedError:
        log("the supervisor is stopped")
        machine.stop_container()
        return _STOPPED
    return 1


def _turn(core: Supervisor, machine: Machine) -> None:
    waits = core.state.waits
    if waits is Waits.CONTAINER:
        _attend_container(core, machine)
    elif waits is Waits.NOTHING or _rested(core, machine):
        machine.carry_out(core.serve())


def _rested(core: Supervisor, machine: Machine) -> bool:
    """Whether the rest was as long as it was meant to be. In pieces, which a clock that is set back makes no longer."""
    until = core.state.until
    left = None if until is None else round(until - time.time())
    while left is None or left > 0:
        piece = core.look_every if left is None else min(left, core.look_every)
        machine.sleep(piece)
        left = None if left is None else left - piece
        machine.carry_out(core.look())
        if core.state.waits is not Waits.REST:
            return False
    return True


def _attend_container(core: Supervisor, machine: Machine) -> None:
    container, machine.container = machine.container, None
    if container is None:
        machine.carry_out(core.ended(_NOT_STARTED))
        return
    due = time.monotonic() + core.look_every
    while True:
        try:
            line = container.line(max(due - time.monotonic(), 0.0))
        except EOFError:
            break
        if line:
            machine.carry_out(core.hear(line))
        if time.monotonic() >= due:
            due = time.monotonic() + core.look_every
            machine.carry_out(core.look())
    machine.carry_out(core.ended(container.wait()))


def _stopped(_: int, __: FrameType | None) -> None:
    raise StoppedError


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
