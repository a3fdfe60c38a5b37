"""A swap inside a full reservation through the official CLI. Runs where it and its Google provider are installed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.cloud import daemon
from bench.cloud.control import Control
from infra.engines import CloudName, EngineRequest
from infra.engines.choose import observe
from infra.engines.official import OfficialEngine
from infra.engines.passes import phases_of
from infra.engines.phased import apply
from infra.model.bounds import limits
from infra.model.plan import Op, Plan, Status
from infra.model.planned_capacity import VM_TYPE
from infra.model.stack import load_stack
from tests.lacking import lacking

pytestmark = pytest.mark.live

ROOT = Path(__file__).resolve().parents[3]
STACK = """\
config:
  gcp:project: my-lab
  tidepool:owner: lab
  tidepool:bucket: {name: my-lab-swap, location: us}
  tidepool:reservations:
    - {name: lab, project: my-lab, zone: us-central1-a, generation: v5p, chips: 16}
  tidepool:pools:
    - {name: old, accelerator: v5p-8, zones: {us-central1-a: 4}, capacity: {reserved: lab}, trust: member}
    - {name: new, accelerator: v5p-8, zones: {us-central1-a: 0}, capacity: {reserved: lab}, trust: member}
"""
SWAPPED = STACK.replace("a: 4}", "a: 2}").replace("a: 0}", "a: 2}")


@pytest.fixture
def request_(tmp_path: Path, tool: Callable[[str], str]) -> Iterator[EngineRequest]:
    """A stack whose VMs are to have a whole reservation, on a local cloud that keeps to it."""
    tool("pulumi")
    if observe().plugin is None:
        lacking("the pulumi CLI has no gcp plugin")
    root, home = tmp_path / "checkout", tmp_path / "home"
    (root / "stacks").mkdir(parents=True)
    home.mkdir()
    shutil.copy(ROOT / "Pulumi.yaml", root)
    for name in ("infra", ".venv"):
        (root / name).symlink_to(ROOT / name)
    running = daemon.ensure_running(home)
    Control(running.url).limit(
        project="my-lab", zone="us-central1-a", generation="v5p", chips=16, capacity="reserved", name="lab"
    )
    yield EngineRequest(root=root, home=home, stack="swap", cloud=CloudName.LOCAL, cloud_url=running.url)
    daemon.stop(home)


def write(request: EngineRequest, text: str) -> None:
    (request.root / "stacks" / "Pulumi.swap.yaml").write_text(text)


def up(request: EngineRequest) -> Plan:
    """As `./tidepool up` does it."""

    def make(**options: Any) -> OfficialEngine:
        return OfficialEngine(replace(request, **options))

    plan = OfficialEngine(request).preview()
    return apply(plan, limits(load_stack(request.root, request.stack)), make, lambda _: None)


def test_the_naive_order_fails_and_phases_get_through(request_: EngineRequest) -> None:
    write(request_, STACK)
    assert not up(request_).failed
    write(request_, SWAPPED)
    assert OfficialEngine(request_).up().failed, "one pass creates first, and deletes nothing after that failed"

    plan = OfficialEngine(request_).preview()
    assert phases_of(plan, limits(load_stack(request_.root, "swap"))).first == (
        "old-us-central1-a-2",
        "old-us-central1-a-3",
    )
    run = up(request_)
    assert not run.failed, [said.message for said in run.diagnostics]
    done = [step.op for step in run.steps if step.type == VM_TYPE and step.status is Status.DONE]
    assert (done.count(Op.DELETE), done.count(Op.CREATE)) == (2, 2)
    assert {step.op for step in OfficialEngine(request_).preview().steps} == {Op.SAME}
