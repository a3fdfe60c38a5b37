"""A VM that is what it says gets a registration for one job, with its pool's labels, and nothing else."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from infra.fleet.github_api import GitHubClient
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


def test_githubs_token_may_make_runners_where_this_one_is_to_be_and_nothing_else(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    real = GitHubClient.ask

    def spied(calls: GitHubClient, verb: str, path: str, **given: Any) -> Any:
        if path.endswith("/access_tokens"):
            asked.append(given["body"])
        return real(calls, verb, path, **given)

    monkeypatch.setattr(GitHubClient, "ask", spied)
    assert world.ask().status == 200
    world.hub.add_organization("lab", groups=["tpu-member"])
    world.start(groups={"member": "tpu-member"})
    world.wait(60)
    assert world.ask().status == 200
    of_repository = {"repositories": ["monorepo"], "permissions": {"administration": "write"}}
    of_organization = {"permissions": {"organization_self_hosted_runners": "write"}}
    assert asked[0] == of_repository
    # The second broker first looks for the runner before, which is the repository's.
    assert asked[1:] == [of_repository, of_organization]


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


@pytest.mark.parametrize(
    "wrong",
    [{"expires_at": "2999-01-01T00:00:00"}, {"token": "ghs_a\nX-Injected: 1"}, {"token": ""}, {"token": None}, {}],
    ids=str,
)
def test_a_token_answer_of_another_shape_is_refused_once_and_not_kept(
    world: World, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any]
) -> None:
    """Kept, a time without a zone or a token with a line break would fail every request until a restart."""
    real = GitHubClient.ask

    def answered(calls: GitHubClient, verb: str, path: str, **given: Any) -> Any:
        found = real(calls, verb, path, **given)
        if path.endswith("/access_tokens"):
            return replace(found, body={**found.body, **wrong} if wrong else {})
        return found

    monkeypatch.setattr(GitHubClient, "ask", answered)
    refused = world.ask()
    assert (refused.status, refused.reason) == (502, "github-refused")
    monkeypatch.undo()
    world.wait(300)
    assert world.ask().status == 200
