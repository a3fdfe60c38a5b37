"""A process that forks runs of `up` and lets them die where it is told; `Crashes` drives it.

It imports everything once and stays single-threaded, so that a fork is cheap and safe. One JSON object a line comes in
(`root`, `url`, `count`, `at`, `number`), one exit code a line goes out.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pulumi_gcp as gcp

from bench.engine.run import Options
from bench.tests.end_to_end.fleet_world import World, vms

DIED = 9


def die() -> None:
    """As kill -9 does: no handler, no finally, no flush."""
    os._exit(DIED)


def crashing_requests(world: World, at: str, number: int) -> None:
    """Die right before the number-th request is sent, or when its answer is there and nobody has read it."""
    pool = world.provider._api._pool
    plain, count = pool.urlopen, itertools.count(1)

    def urlopen(*args: Any, **kwargs: Any) -> Any:
        mine = next(count)
        if at == "request" and mine == number:
            die()
        answer = plain(*args, **kwargs)
        if at == "answer" and mine == number:
            die()
        return answer

    pool.urlopen = urlopen


def crashing_clock(at: str, number: int) -> None:
    """Be killed from outside after so many milliseconds, wherever the run is then."""
    if at == "millisecond":
        killer = threading.Timer(number / 1000, os.kill, (os.getpid(), signal.SIGKILL))
        killer.daemon = True
        killer.start()


def run(root: str, url: str, count: int, at: str, number: int) -> None:
    def journalled(line: int) -> None:
        if at == "record" and line == number:
            die()

    world = World(Path(root), url, journalled)
    crashing_requests(world, at, number)
    crashing_clock(at, number)
    plan = world.up(vms(count), Options(previewed=True))
    os._exit(1 if plan.failed else 0)


def main() -> None:
    assert gcp.tpu.V2Vm, "its modules are imported when first used, which is slow and must not happen in every fork"
    assert gcp.compute.Network
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                run(**json.loads(line))
            except BaseException as error:  # noqa: BLE001 - whatever it is, the child must not return
                sys.stderr.write(f"{error!r}\n")
                os._exit(2)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


main()
