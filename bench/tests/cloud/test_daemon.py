"""The process: one a home, durable through every kind of end, gone with its home."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench.cloud import daemon
from bench.cloud.control import Control, ControlError
from bench.cloud.process import bound
from bench.tests.cloud.cloud_clients import NODE, ZONE, ask


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    if tmp_path.exists():
        daemon.stop(tmp_path)


def ended(url: str) -> bool:
    """Whether nobody answers at an address any more within ten seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            Control(url, timeout=1).health()
        except ControlError:
            return True
        time.sleep(0.01)
    return False


def create(url: str, name: str) -> int:
    return ask(url, "POST", f"/v2/{ZONE}/nodes?nodeId={name}", NODE)[0]


def listed(url: str) -> set[str]:
    answer = ask(url, "GET", f"/v2/{ZONE}/nodes")[1]
    return {node["name"].rpartition("/")[2] for node in answer["nodes"]}


def test_starting_twice_is_starting_once(home: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        handles = set(pool.map(lambda _: daemon.ensure_running(home), range(6)))
    assert len(handles) == 1
    assert daemon.ensure_running(home) in handles


def test_a_process_of_other_code_is_told_from_one_of_this(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert daemon.ensure_running(home).current
    monkeypatch.setattr(daemon, "code", lambda: "newer")
    assert not daemon.ensure_running(home).current


def test_clones_of_one_commit_have_one_digest_and_an_edit_another(tmp_path: Path) -> None:
    """The digest goes by content: a checkout gives its files the time at which it wrote them."""
    first, second = tmp_path / "first", tmp_path / "second"
    for clone in (first, second):
        (clone / "bench/tables").mkdir(parents=True)
        (clone / "bench/cloud.py").write_text("PORT = 1\n")
    os.utime(second / "bench/cloud.py", (1, 1))
    (second / "bench/__pycache__").mkdir()
    (second / "bench/__pycache__/cloud.pyc").write_text("compiled")
    digests = [daemon._content_digest(first, ["bench"]), daemon._content_digest(second, ["bench"])]
    for edited, content in (("cloud.py", "PORT = 2\n"), ("tables/node.yaml", "a: 2\n"), ("x.py", "")):
        (second / "bench" / edited).write_text(content)
        digests.append(daemon._content_digest(second, ["bench"]))
    assert (digests[0] == digests[1], len(set(digests))) == (True, 4)


def test_stopping_twice_at_once_is_stopping_once(home: Path) -> None:
    daemon.ensure_running(home)
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(lambda _: daemon.stop(home), range(4))) == [False, False, False, True]


def test_state_address_and_clock_outlive_a_restart(home: Path) -> None:
    assert daemon.status(home) == {"running": False, "url": None, "pid": None, "nodes": {}}
    first = daemon.ensure_running(home)
    create(first.url, "vm-0")
    status = daemon.status(home)
    assert (status["url"], status["pid"], sum(status["nodes"].values())) == (first.url, first.pid, 1)
    Control(first.url).advance(3600)
    Control(first.url).fail("error", method="nothing")
    assert daemon.stop(home) is True
    assert daemon.stop(home) is False
    assert not (home / "cloud" / "cloud.json").exists()
    second = daemon.ensure_running(home)
    assert (second.url, second.pid != first.pid) == (first.url, True)
    assert listed(second.url) == {"vm-0"}
    assert Control(second.url).clock()["offset"] == 3600
    assert len(Control(second.url).faults()) == 1


def test_a_kill_in_the_middle_of_requests_leaves_every_one_done_or_not_done(home: Path) -> None:
    handle = daemon.ensure_running(home)
    Control(handle.url).limit(project="lab", zone="us-west4-a", generation="v5e", chips=10_000, capacity="preemptible")

    def attempt(index: int) -> str | None:
        try:
            if index == 60:
                os.kill(handle.pid, signal.SIGKILL)
            return f"vm-{index}" if create(handle.url, f"vm-{index}") == 200 else None
        except (OSError, http.client.HTTPException):
            return None

    with ThreadPoolExecutor(4) as pool:
        answered = {name for name in pool.map(attempt, range(120)) if name}
    assert ended(handle.url)
    second = daemon.ensure_running(home)
    there = listed(second.url)
    assert answered <= there
    assert len(there - answered) <= 4, "no more than what was under way"
    assert Control(second.url).limits()[0]["held"] == 4 * len(there), "and the account agrees"


def test_it_ends_too_when_its_home_is_made_again_at_once(home: Path) -> None:
    first = daemon.ensure_running(home)
    shutil.rmtree(home)
    home.mkdir()
    second = daemon.ensure_running(home)
    assert second.url != first.url
    assert ended(first.url)
    assert daemon.running(home) == second


def test_two_clouds_that_had_one_port_and_start_at_once_have_one_each() -> None:
    first = bound(0)
    second = bound(first.getsockname()[1])
    with first, second:
        assert first.getsockname() != second.getsockname()
        second.listen()


def test_a_start_that_fails_says_where_to_look_and_why(home: Path) -> None:
    (home / "cloud").mkdir()
    (home / "cloud" / "cloud.sqlite").write_text("this is no database, and much too short to be one" * 10)
    with pytest.raises(daemon.DaemonError, match=r"(?s)cloud\.log ends:.*file is not a database"):
        daemon.ensure_running(home)


def test_the_log_has_paths_and_outcomes_and_no_secrets(home: Path) -> None:
    handle = daemon.ensure_running(home)
    secret = {**NODE, "metadata": {"token": "s3cr3t"}}
    ask(handle.url, "POST", f"/v2/{ZONE}/nodes?nodeId=vm-0&key=s3cr3t", secret, Authorization="Bearer s3cr3t")
    ask(handle.url, "GET", f"/v2/{ZONE}/nodes/none")
    entries = Control(handle.url).log()
    assert [(each["verb"], each["path"], each["status"], each["method"]) for each in entries] == [
        ("POST", f"/v2/{ZONE}/nodes", 200, "tpu.projects.locations.nodes.create"),
        ("GET", f"/v2/{ZONE}/nodes/none", 404, "tpu.projects.locations.nodes.get"),
    ]
    assert all(each["milliseconds"] >= 0 for each in entries)
    assert Control(handle.url).log(after=1) == entries[1:]
    assert Control(handle.url).log(limit=1) == entries[1:]
    written = (home / "cloud" / "cloud.log").read_text()
    assert f"GET /v2/{ZONE}/nodes/none 404" in written
    assert "s3cr3t" not in written + json.dumps(entries)


def test_an_address_where_nobody_answers_is_said() -> None:
    with pytest.raises(ControlError, match="does not answer"):
        Control("http://127.0.0.1:9").status()
