"""A TPU VM for one run: a declared pool's node with the run's own name and start-up script."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from infra.jobs.outcomes import Outcome
from infra.jobs.request import JobRequest, Resources
from infra.jobs.tpuvm import run_node, run_outcome, startup_script
from infra.model.errors import ConfigError
from infra.model.fleet import slots
from infra.model.node import NodeSpec, node_spec
from infra.model.stack import stack_from_pulumi
from tests.jobs.synthetic import request

ONE_SLICE: dict[str, Any] = {"resources": Resources.with_tpu("v4-32"), "queue": ""}
POOL = {
    "name": "train",
    "accelerator": "v4-32",
    "zones": {"us-central2-b": 1},
    "capacity": "preemptible",
    "trust": "protected",
}
STACK = {
    "gcp:project": "tidepool-test",
    "tidepool:owner": "test",
    "tidepool:bucket": '{"name": "tidepool-test-records", "location": "us-central2"}',
    "tidepool:pools": json.dumps([POOL]),
}


def run(**more: Any) -> JobRequest:
    return request("run-7", **ONE_SLICE | more)


@pytest.fixture(scope="module")
def pool_node() -> NodeSpec:
    config = stack_from_pulumi(STACK, project="tidepool", stack="training")
    return node_spec(config, slots(config)[0])


def test_a_run_has_the_network_identity_and_capacity_of_its_pool(pool_node: NodeSpec) -> None:
    node = run_node(run(), pool_node)
    kept = ("network", "subnetwork", "service_account_email", "preemptible", "accelerator_type", "zone", "tags")
    assert {name: getattr(node, name) for name in kept} == {name: getattr(pool_node, name) for name in kept}
    assert (node.name, node.labels["tidepool-job"]) == ("run-7", "run-7")
    assert node.to_api()["metadata"]["enable-guest-attributes"] == "TRUE"


def test_the_start_up_script_is_shell_and_runs_the_image_by_digest() -> None:
    script = startup_script(run(environment={"NOTE": "it's 1"}, time_limit=60))
    assert subprocess.run(["sh", "-n", "-c", script], check=False).returncode == 0
    assert run().image in script
    assert "timeout --signal=TERM --kill-after=300 60 docker run" in script
    assert "--privileged" not in script


def test_a_run_does_not_start_again_when_its_vm_restarts() -> None:
    lines = startup_script(run()).splitlines()
    assert lines.index('[ -e "$mark" ] && exit 0') < next(n for n, line in enumerate(lines) if "docker run" in line)


@pytest.mark.parametrize(
    "more",
    [
        {"image": ""},
        {"resources": Resources.with_tpu("v4-32", 2)},
        {"resources": Resources.with_tpu("v4-8")},
        {"queue": "v4"},
    ],
)
def test_what_one_vm_cannot_carry_is_refused(pool_node: NodeSpec, more: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="on a TPU VM"):
        run_node(run(**more), pool_node)


@pytest.mark.parametrize(
    ("tpu", "codes", "expected"),
    [
        ({"state": "READY"}, {}, None),
        ({"state": "READY"}, {0: 0, 1: 0, 2: 0}, None),
        ({"state": "READY"}, {0: 0, 1: 0, 2: 0, 3: 0}, Outcome.SUCCESS),
        ({"state": "READY"}, {2: 1}, Outcome.ERROR),
        ({"state": "READY"}, {0: 170, 1: 1}, Outcome.FAILED),
        ({"state": "PREEMPTED"}, {0: 1, 1: 1}, Outcome.PREEMPTED),
        (None, {}, Outcome.CANCELLED),
    ],
)
def test_the_tpu_api_and_exit_codes_say_how_a_run_ended(
    tpu: dict[str, Any] | None, codes: dict[int, int], expected: Outcome | None
) -> None:
    assert run_outcome(tpu, codes, hosts=4) is expected
