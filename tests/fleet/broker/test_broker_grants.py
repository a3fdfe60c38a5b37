"""A VM that is what it says gets a registration for one job, with its pool's labels, and nothing else."""

from __future__ import annotations

import base64
import json
import re

from infra.model.runner_names import vm_of
from tests.fleet.broker.broker_world import (
    FORK,
    FORK_ACCOUNT,
    REPO,
    STACK,
    VM,
    World,
)


def test_a_ready_vm_gets_a_runner_with_its_pools_labels(world: World) -> None:
    reply = world.ask()
    assert reply.status == 200
    assert set(reply.body) == {"runner", "jit", "expires"}
    assert vm_of(reply.body["runner"]) == VM
    assert reply.headers["cache-control"] == "no-store"
    runner = world.hub.connect(reply.body["jit"])
    assert runner["name"] == reply.body["runner"]
    assert [label["name"] for label in runner["labels"]] == ["tpu", "self-hosted", "tpu-ci"]


def test_an_organisations_runner_joins_the_group_of_its_trust(world: World) -> None:
    groups = world.hub.add_organization("lab", groups=["tpu-member", "tpu-fork"])
    world.start(groups={"member": "tpu-member", "fork": "tpu-fork"})
    world.add_vm(FORK, pool="fork", account=FORK_ACCOUNT)
    assert world.ask(FORK, "fork").status == 200
    [runner] = world.runners("orgs/lab")
    assert runner["runner_group_id"] == groups["tpu-fork"]
    assert world.runners(f"repos/{REPO}") == []


def test_a_decision_is_one_line_that_tells_everything_but_secrets(world: World) -> None:
    token = world.token()
    granted = world.ask(token=token)
    [line] = world.lines
    told = json.dumps(line)
    assert {key: line[key] for key in ("outcome", "reason", "status", "stack", "vm", "pool", "runner", "scope")} == {
        "outcome": "granted", "reason": "granted", "status": 200, "stack": STACK, "vm": VM, "pool": "tpu-ci",
        "runner": granted.body["runner"], "scope": f"repos/{REPO}",
    }  # fmt: skip
    jit = base64.b64decode(granted.body["jit"])
    credentials = json.loads(base64.b64decode(json.loads(jit)[".credentials"]))
    secrets = [*token.split("."), granted.body["jit"], credentials["data"]["secret"], world.app["key"]]
    assert [secret for secret in secrets if secret in told] == []
    assert not re.search(r"gh[sp]_|PRIVATE KEY", told)


def test_health_asks_nobody(world: World) -> None:
    before = len(world.cloud.control.log(limit=20_000))
    assert world.send(b"", verb="GET", path="/healthz").body == {"status": "ok"}
    assert len(world.cloud.control.log(limit=20_000)) == before
    assert world.lines == []
