"""Whose lock it is, and whether that process can still be alive."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

from infra.engines.official.locks import Lock, is_dead, locks_in, started_at
from tests.engines.official.replay import text

LOCK = Lock(user="lab", host="workstation", pid=22812, since="2026-11-21T08:39:43Z")
LOCKED_AT = datetime(2026, 11, 21, 8, 39, 43, tzinfo=UTC).timestamp()


def test_the_cli_names_user_host_process_and_time() -> None:
    (found,) = locks_in(text("locked.stderr.txt"))
    assert found == replace(LOCK, since=found.since)
    assert datetime.fromisoformat(found.since).tzinfo is UTC


def test_a_message_without_a_lock_names_none() -> None:
    assert locks_in("error: no stack named 'ci' found") == ()


def test_a_process_that_is_gone_left_its_lock_behind() -> None:
    assert is_dead(LOCK, host="workstation", started=lambda _: None)


def test_a_process_that_started_after_the_lock_only_has_its_number() -> None:
    assert is_dead(LOCK, host="workstation", started=lambda _: LOCKED_AT + 60)


def test_a_process_older_than_the_lock_may_hold_it() -> None:
    assert not is_dead(LOCK, host="workstation", started=lambda _: LOCKED_AT - 60)


def test_a_process_of_unknown_age_may_hold_it() -> None:
    assert not is_dead(LOCK, host="workstation", started=lambda _: 0.0)


def test_nothing_is_said_of_a_process_on_another_host() -> None:
    assert not is_dead(LOCK, host="elsewhere", started=lambda _: None)


def test_this_very_process_is_alive() -> None:
    mine = replace(LOCK, host="here", pid=os.getpid(), since=datetime.now(UTC).isoformat())
    assert not is_dead(mine, host="here")


def test_a_process_that_has_ended_has_no_start() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    assert started_at(ended.pid) is None


def test_a_killed_process_whose_parent_does_not_ask_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, and not yet asked about
        assert started_at(child.pid) is None
