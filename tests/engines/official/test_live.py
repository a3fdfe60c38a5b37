"""The official CLI itself, with its Google provider, against a local cloud. Runs where both are installed."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.cloud import daemon
from bench.embedded import EmbeddedEngine
from infra.engines import CloudName, EngineRequest
from infra.engines.choose import observe
from infra.engines.official import OfficialEngine
from infra.model.plan import Event, Op, StepEnded
from tests.lacking import lacking
from tests.synthetic_lab import lend

pytestmark = pytest.mark.live

ROOT = Path(__file__).resolve().parents[3]
VM = "gcp:tpu/v2Vm:V2Vm"


@pytest.fixture
def request_(tmp_path: Path, tool: Callable[[str], str]) -> Iterator[EngineRequest]:
    """The ci stack with thirty VMs in one zone, on a local cloud of its own."""
    tool("pulumi")
    if observe().plugin is None:
        lacking("the pulumi CLI has no gcp plugin")
    root, home = tmp_path / "checkout", tmp_path / "home"
    lend(root)
    (root / ".venv").symlink_to(ROOT / ".venv")
    path = root / "stacks" / "Pulumi.ci.yaml"
    path.write_text(path.read_text().replace("us-west4-a: 2", "us-west4-a: 30", 1))
    home.mkdir()
    running = daemon.ensure_running(home)
    yield EngineRequest(root=root, home=home, stack="ci", cloud=CloudName.LOCAL, cloud_url=running.url)
    daemon.stop(home)


def lock_holder(home: Path) -> int:
    (lock,) = (home / "state" / "local" / ".pulumi" / "locks").rglob("*.json")
    return json.loads(lock.read_text())["pid"]


@pytest.mark.parametrize("after", [1, 5, 12])
def test_an_up_after_a_kill_makes_the_fleet_as_declared(request_: EngineRequest, after: int) -> None:
    ended: list[str] = []

    def kill_in_the_middle(event: Event) -> None:
        if isinstance(event, StepEnded) and event.step.type == VM:
            ended.append(event.step.name)
            if len(ended) == after:
                os.kill(lock_holder(request_.home), signal.SIGKILL)

    killed = OfficialEngine(request_).up(kill_in_the_middle)
    assert killed.failed
    time.sleep(2)  # the provider of a killed CLI lives on for a moment and may still make what it had begun
    healed = OfficialEngine(request_).up()
    assert not healed.failed, [said.message for said in healed.diagnostics]
    assert {step.op for step in OfficialEngine(request_).preview().steps} == {Op.SAME}
    vms = [step for step in healed.steps if step.type == VM]
    assert len(vms) == len({step.urn for step in vms}) == 37


def test_either_engine_finds_nothing_to_do_after_the_other(request_: EngineRequest) -> None:
    small = replace(request_, parallel=16)
    assert not EmbeddedEngine(small).up().failed
    assert {step.op for step in OfficialEngine(small).preview().steps} == {Op.SAME}
    assert not OfficialEngine(small).destroy().summary["create"]


def test_the_checkout_shows_no_trace(request_: EngineRequest) -> None:
    before = {path: path.read_bytes() for path in (request_.root / "stacks").iterdir()}
    assert not OfficialEngine(request_).up().failed
    assert {path: path.read_bytes() for path in (request_.root / "stacks").iterdir()} == before
