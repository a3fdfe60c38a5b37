"""`status --watch` is one screen of any size, worst first, and Ctrl-C ends it well."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import struct
import termios
from collections.abc import Callable
from dataclasses import replace

import pytest

from infra.fleet.status.derive import status
from infra.fleet.status.shape import FleetStatus
from infra.model.cluster_state import ClusterNow, NodesNow, SlicesNow
from infra.operations.fleet.watch_words import watched
from tests.cli.conftest import Checkout, read
from tests.fleet.controller.given_fleet import fleet, nodes, seen, served, sweeps
from tests.fleet.status.given_scene import scene


def frames(drawn: bytes) -> list[list[str]]:
    """The screens that were drawn whole, as lines without colours."""
    whole = drawn.decode(errors="replace").split("\x1b[H")[1:-1]
    plain = (re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", each).replace("\r", "") for each in whole)
    return [each.split("\n") for each in plain if each]


def read_until(terminal: int, fits: Callable[[bytes], bool]) -> bytes:
    so_far = b""
    while not fits(so_far):
        so_far += read(terminal)
    return so_far


def test_a_screen_follows_its_terminal_and_ctrl_c_ends_it_with_exit_code_0(upped: Checkout) -> None:
    process, master = upped.begun_at_terminal("status", "--watch", "--every", "60")
    drawn = read_until(master, lambda so_far: len(frames(so_far)) >= 2)
    for screen in frames(drawn):
        assert len(screen) <= 24
        assert max(map(len, screen)) <= 80
        assert "do not serve" in screen[0]
        assert any(line.startswith("ci/tpu-ci  ") for line in screen)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 50, 0, 0))
    small = read_until(master, lambda so_far: any(len(each) <= 6 for each in frames(so_far)))
    last = [each for each in frames(small) if len(each) <= 6][-1]
    assert max(map(len, last)) <= 50
    assert any(re.match(r"and \d+ more", line) for line in last)
    process.send_signal(signal.SIGINT)
    while read(master):
        pass
    os.close(master)
    assert process.wait(timeout=30) == 0


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (40, 120), (5, 30), (1, 20)])
def test_what_does_not_fit_is_counted_and_what_is_worst_stays(rows: int, columns: int) -> None:
    desired = fleet(40)
    gone = {f"s{index}": "PREEMPTED" for index in range(30)}
    lost = seen(desired, nodes=nodes(desired, **gone), runners=served(desired, but=(desired.slots[0].name,)))
    served_once = sweeps(desired, seen(desired), 1)[-1].memory
    found = status(scene(desired, lost, memory=served_once))
    lines = screen(found, replace(found, stack="nightly"), rows=rows, columns=columns)
    assert lines[0].startswith("ci, nightly: 80 VMs"[: columns - 3])
    if columns >= 80:
        assert " UTC" in lines[0], "how old the screen is"
    if rows > 4:
        assert lines[1].startswith("ci/tpu-ci  30 unhealthy"[: columns - 3])
        (more,) = [line for line in lines if line.endswith("more lines")]
        assert int(re.findall(r"\d+", more)[0]) > 60 - rows
        assert "PREEMPTED"[: columns - 30] in "".join(lines)


SLICES = NodesNow(
    name="v4-32", zones=("us-central2-b",), kind="v4-32", pools={"RUNNING": 1}, least=8, most=8, there=8, ready=8,
    slices=SlicesNow(least=1, most=1, standing=1, free=1),
)  # fmt: skip
SYSTEM = replace(SLICES, name="system", kind="n2-standard-8", least=2, most=2, there=2, ready=2, slices=None)
CLUSTER = ClusterNow(name="train", region="us-central2", state="RUNNING", rows=(SLICES, SYSTEM))


def screen(*found: FleetStatus, rows: int = 40, columns: int = 80) -> list[str]:
    drawn = list(map(str, watched(found, columns=columns, rows=rows, every=15)))
    assert len(drawn) <= rows
    assert max(map(len, drawn)) <= columns
    return drawn


def test_a_stack_of_slices_alone_has_a_row_and_what_is_amiss_of_its_cluster_too() -> None:
    well = replace(status(scene(fleet(2))), stack="training", pools=(), cluster=CLUSTER)
    assert "training/train  ok  RUNNING, 1/1 slices stand, 10/10 nodes ready" in screen(well)
    lost = replace(CLUSTER, state="MISSING", problems=("us-central2-b does not answer",))
    shown = screen(replace(well, cluster=lost))
    assert "training/train  1 amiss  MISSING, 1/1 slices stand, 10/10 nodes ready" in shown
    assert "training  cluster train is not there  [cluster]" in shown
    assert "training  us-central2-b does not answer  [cluster]" in shown
