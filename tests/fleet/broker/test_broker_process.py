"""The broker as a person starts it, beside a fleet that `up` made: from a checkout to a runner that has served."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.cloud import daemon
from bench.cloud.github.control import GitHubControl

ROOT = Path(__file__).resolve().parents[3]
VM, POOL, REPO = "tpu-ci-us-west4-a-0", "tpu-ci", "marin-community/marin"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    daemon.stop(tmp_path)


def tidepool(home: Path, *words: str) -> subprocess.Popen[str]:
    environ = {**os.environ, "TIDEPOOL_HOME": str(home)}
    return subprocess.Popen(
        [ROOT / "tidepool", *words], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def asked(port: int, token: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps({"stack": "ci", "vm": VM, "pool": POOL})
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    connection.request("POST", "/v1/registrations", body, headers)
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


@pytest.mark.heavy
def test_a_vm_of_a_fleet_that_up_made_serves_a_job_and_registers_again(home: Path) -> None:
    up = tidepool(home, "up", "ci", "--engine", "local", "--yes")
    up.communicate(timeout=300)
    assert up.returncode == 0
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    found = daemon.running(home)
    assert found is not None
    hub = GitHubControl(found.url)
    broker = tidepool(home, "broker", "serve", "ci", "--cloud", "local", "--port", str(port), "--json")
    assert broker.stderr is not None
    assert "listens at" in broker.stderr.readline()
    try:
        audience = f"http://127.0.0.1:{port}"
        until_open(port)
        for _ in range(2):
            status, granted = asked(port, hub.identity_token(VM, audience))
            assert (status, set(granted)) == (200, {"runner", "jit", "expires"})
            assert hub.connect(granted["jit"])["status"] == "online"
            hub.queue_job(REPO, [POOL])
            assert hub.take_job(granted["jit"]) is not None
            hub.end_job(granted["jit"])
            hub.advance(60)
        used = hub.identity_token(VM, audience)
        assert asked(port, used)[0] == 200
        assert asked(port, used)[1]["reason"] == "replayed"
    finally:
        broker.send_signal(signal.SIGTERM)
        said, errors = broker.communicate(timeout=60)
    lines = [json.loads(line) for line in said.splitlines()]
    assert [line["reason"] for line in lines] == ["granted", "granted", "granted", "replayed"]
    assert errors == ""


def until_open(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError("the broker does not listen")
