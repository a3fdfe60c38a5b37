"""Keys that rotate, services that fail, and several brokers at once."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from infra.fleet.broker.serve import service
from tests.fleet.broker.broker_world import SECOND, World

CERTS = "oauth2.certs"
JIT = "github.generate_jitconfig"
TOKENS = "github.create_installation_token"


# Google's keys


def test_a_new_key_of_googles_is_noticed_within_a_minute(world: World) -> None:
    assert world.ask().status == 200
    world.cloud.control.rotate_identity_keys()
    world.wait(60)
    assert world.ask().status == 200
    assert world.calls(CERTS) == 2


# Google's services


@pytest.mark.parametrize("method", ["storage.*", "tpu.projects.locations.nodes.get", "secretmanager.*"])
def test_a_service_of_googles_that_fails_is_said_so(world: World, method: str) -> None:
    world.cloud.control.fail("error", method=method, code=400)
    reply = world.ask()
    assert (reply.status, reply.reason) == (503, "google-down")
    assert world.runners() == []


# GitHub


def test_an_answer_of_githubs_that_is_lost_leaves_no_second_runner(world: World) -> None:
    world.cloud.control.fail("lost", method=JIT, count=1)
    granted = world.ask()
    assert granted.status == 200
    assert [runner["name"] for runner in world.runners()] == [granted.body["runner"]]
    assert world.hub.connect(granted.body["jit"])["status"] == "online"


@pytest.mark.parametrize("code", [403, 429])
def test_a_secondary_rate_limit_is_waited_out_by_everybody(world: World, code: int) -> None:
    world.add_vm(SECOND)
    world.cloud.control.fail("error", method=JIT, code=code, seconds=120, count=1)
    reply = world.ask()
    assert (reply.status, reply.reason, reply.headers["retry-after"]) == (503, "github-limited", "120")
    before = world.calls(TOKENS)
    other = world.ask(SECOND)
    assert other.reason == "github-limited"
    assert 100 < int(other.headers["retry-after"]) <= 120
    assert (world.calls(JIT), world.calls(TOKENS)) == (1, before)
    world.wait(121)
    assert world.ask().status == 200


def test_a_runner_that_was_registered_where_the_app_has_no_rights_any_more_is_left_there(world: World) -> None:
    assert world.ask().status == 200
    world.hub.add_organization("lab", groups=["tpu-member"])
    world.hub.add_app("tidepool", account="lab", permissions={"organization_self_hosted_runners": "write"})
    world.start(groups={"member": "tpu-member"})
    world.wait(3600)
    assert world.ask().status == 200
    assert len(world.runners("orgs/lab")) == 1


# The app's key


def test_a_key_that_github_forgot_is_read_again_at_once(world: World) -> None:
    assert world.ask().status == 200
    new = world.hub.add_app("tidepool", account="lab", permissions={"administration": "write"})["key"]
    world.wait(3600 - 120)
    assert world.ask().status == 200
    world.store_key(new)
    world.hub.forget_app_keys(world.app["id"])
    world.wait(3500)
    assert world.ask().status == 200


@pytest.mark.parametrize(
    "content",
    ["no key", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----"],  # pragma: allowlist secret
)
def test_a_secret_that_holds_no_key_is_not_shown(world: World, content: str) -> None:
    world.store_key(content)
    reply = world.ask()
    assert reply.reason == "github-refused"
    assert content not in json.dumps([reply.body, world.lines])


# Several at once


def test_of_many_requests_at_once_for_one_vm_through_two_brokers_one_is_granted(world: World) -> None:
    other, lock = service(world.settings, world.lines.append, clock=world.now), threading.Lock()
    world.services.append(other)
    first, turns = world.host.application, iter(range(1000))

    async def either(scope: object, receive: object, send: object) -> None:
        with lock:
            chosen = (first, other)[next(turns) % 2]
        await chosen(scope, receive, send)

    world.host.application = either
    tokens = [world.token() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda token: world.ask(token=token), tokens))
    assert sorted(reply.status for reply in replies) == [200] + [429] * 7
    assert len(world.runners()) == 1
