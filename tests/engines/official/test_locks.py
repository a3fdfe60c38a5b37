"""Whose lock it is, and whether that process can still be alive."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from infra.engines.official.recovery import locks_in
from infra.tools import processes
from infra.tools.processes import LockHolder
from tests.engines.official.replay import text

HERE = socket.gethostname()
LOCK = LockHolder(user="lab", host=HERE, pid=22812, since="2026-11-21T08:39:43Z")
LOCKED_AT = datetime(2026, 11, 21, 8, 39, 43, tzinfo=UTC).timestamp()


def test_the_cli_names_user_host_process_and_time() -> None:
    (found,) = locks_in(text("locked.stderr.txt"))
    assert found == replace(LOCK, host="workstation", since=found.since)
    assert datetime.fromisoformat(found.since).tzinfo is UTC


def test_a_message_without_a_lock_names_none() -> None:
    assert locks_in("error: no stack named 'ci' found") == ()


@pytest.mark.parametrize(
    ("started", "dead"),
    [
        pytest.param(LOCKED_AT + 60, True, id="one that started after the lock only has its number"),
        pytest.param(LOCKED_AT + 3, True, id="also soon after"),
        pytest.param(LOCKED_AT + 1, False, id="clocks differ by as much"),
        pytest.param(LOCKED_AT - 60, False, id="one older than the lock may hold it"),
        pytest.param(None, False, id="one of unknown age may hold it"),
    ],
)
def test_a_process_of_that_number_holds_the_lock_if_it_is_old_enough(
    started: float | None, dead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "runs", lambda _: True)
    monkeypatch.setattr(processes, "process_start", lambda _: started)
    assert LOCK.dead is dead


def test_nothing_is_said_of_a_process_on_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "runs", lambda _: False)
    assert LOCK.dead
    assert not replace(LOCK, host="elsewhere").dead


def test_this_very_process_is_alive() -> None:
    assert not replace(LOCK, pid=os.getpid(), since=datetime.now(UTC).isoformat()).dead


def test_a_process_that_has_ended_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    assert replace(LOCK, pid=ended.pid).dead


def test_a_killed_process_whose_parent_does_not_ask_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, and not yet asked about
        assert replace(LOCK, pid=child.pid, since=datetime.now(UTC).isoformat()).dead
