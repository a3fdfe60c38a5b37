"""Keys that rotate, services that fail, and several brokers at once."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from infra.fleet.broker.serve import service
from tests.fleet.broker.broker_world import MEMBER_ACCOUNT, SECOND, VM, World

CERTS = "oauth2.certs"
JIT = "github.generate_jitconfig"
TOKENS = "github.create_installation_token"


# Google's keys


def test_googles_keys_are_asked_for_once(world: World) -> None:
    for _ in range(3):
        world.ask()
    assert world.calls(CERTS) == 1


def test_a_new_key_of_googles_is_noticed_within_a_minute(world: World) -> None:
    assert world.ask().status == 200
    world.cloud.control.rotate_identity_keys()
    world.wait(60)
    assert world.ask().status == 200
    assert world.calls(CERTS) == 2


def test_made_up_keys_do_not_make_the_broker_ask_google_again_and_again(world: World) -> None:
    world.ask()
    world.cloud.control.rotate_identity_keys(retire=True)
    for _ in range(5):
        reply = world.ask()
        assert (reply.status, reply.reason) == (503, "unknown-key")
    assert world.calls(CERTS) == 1
    world.wait(60)
    assert world.ask().status == 200


def test_a_key_that_google_withdrew_is_good_no_longer_than_google_said(world: World) -> None:
    assert world.ask().status == 200
    later = int(world.cloud.wall.seconds) + 21_600
    old = world.token(claims={"exp": later + 3600, "iat": later})
    world.cloud.control.rotate_identity_keys(retire=True)
    world.wait(21_601)
    assert world.ask(token=old).reason == "forged"


def test_without_googles_keys_nobody_is_believed_and_google_is_left_in_peace(world: World) -> None:
    world.cloud.control.fail("error", method=CERTS, code=503)
    for _ in range(4):
        reply = world.ask()
        assert (reply.status, reply.reason) == (503, "google-down")
        assert reply.headers["retry-after"] == "60"
    assert world.calls(CERTS) == 1
    world.cloud.control.mend()
    world.wait(10)
    assert world.ask().status == 200


# Google's services


@pytest.mark.parametrize("method", ["storage.*", "tpu.projects.locations.nodes.get", "secretmanager.*"])
def test_a_service_of_googles_that_fails_is_said_so(world: World, method: str) -> None:
    world.cloud.control.fail("error", method=method, code=400)
    reply = world.ask()
    assert (reply.status, reply.reason) == (503, "google-down")
    assert world.runners() == []


def test_one_failure_of_googles_is_nobodys_business(world: World) -> None:
    world.cloud.control.fail("error", method="tpu.projects.locations.nodes.get", code=503, count=1)
    assert world.ask().status == 200


# GitHub


def test_one_failure_of_githubs_is_nobodys_business(world: World) -> None:
    world.cloud.control.fail("error", method=JIT, code=502, count=1)
    assert world.ask().status == 200
    assert world.calls(JIT) == 2


def test_github_that_is_down_is_asked_twice_and_said_so(world: World) -> None:
    fault = world.cloud.control.fail("error", method="github.*", code=502)["id"]
    reply = world.ask()
    assert (reply.status, reply.reason, reply.headers["retry-after"]) == (503, "github-down", "60")
    assert world.calls(TOKENS) == 2
    world.cloud.control.mend(fault)
    world.wait(int(reply.headers["retry-after"]) + 1)
    assert world.ask().status == 200


def test_a_runner_that_serves_is_not_forgotten_while_github_fails(world: World) -> None:
    granted = world.ask()
    world.hub.connect(granted.body["jit"])
    for method in ("github.list_runners", JIT):
        fault = world.cloud.control.fail("error", method=method, code=502)["id"]
        world.wait(60)
        assert world.ask().reason in ("github-down", "serving")
        world.cloud.control.mend(fault)
    world.wait(60)
    assert world.ask().reason == "serving"
    assert [runner["name"] for runner in world.runners()] == [granted.body["runner"]]


def test_an_answer_of_githubs_that_is_lost_leaves_no_second_runner(world: World) -> None:
    world.cloud.control.fail("lost", method=JIT, count=1)
    granted = world.ask()
    assert granted.status == 200
    assert [runner["name"] for runner in world.runners()] == [granted.body["runner"]]
    assert world.hub.connect(granted.body["jit"])["status"] == "online"


def test_a_short_wait_of_githubs_does_not_lead_into_the_brokers_own_limit(world: World) -> None:
    world.cloud.control.fail("error", method=JIT, code=429, seconds=2, count=1)
    reply = world.ask()
    assert reply.reason == "github-limited"
    world.wait(int(reply.headers["retry-after"]))
    assert world.ask().status == 200


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


def test_an_hour_that_is_used_up_is_waited_for(world: World) -> None:
    world.ask()
    world.hub.leave_installation(world.app["installation"], 0, reset_in=900)
    world.wait(60)
    reply = world.ask()
    assert reply.reason == "github-limited"
    assert 800 < int(reply.headers["retry-after"]) <= 900


def test_an_app_without_the_permission_is_told_in_the_log_alone(world: World) -> None:
    world.hub.add_app("tidepool", account="lab", permissions={"contents": "write"})
    reply = world.ask()
    assert (reply.status, reply.reason) == (502, "github-refused")
    assert "permissions requested are not granted" in world.lines[-1]["detail"]
    assert "permissions" not in json.dumps(reply.body)


def test_a_group_that_the_organisation_has_not_is_told_in_the_log(world: World) -> None:
    world.hub.add_organization("lab")
    world.start(groups={"member": "tpu-member"})
    assert world.ask().reason == "github-refused"
    assert "no runner group 'tpu-member'" in world.lines[-1]["detail"]


def test_a_runner_that_was_registered_where_the_app_has_no_rights_any_more_is_left_there(world: World) -> None:
    assert world.ask().status == 200
    world.hub.add_organization("lab", groups=["tpu-member"])
    world.hub.add_app("tidepool", account="lab", permissions={"organization_self_hosted_runners": "write"})
    world.start(groups={"member": "tpu-member"})
    world.wait(3600)
    assert world.ask().status == 200
    assert len(world.runners("orgs/lab")) == 1


# The app's key


def test_a_token_of_the_app_is_asked_for_once_and_before_it_ends(world: World) -> None:
    for _ in range(3):
        assert world.ask().status == 200
        world.wait(60)
    assert world.calls(TOKENS) == 1
    world.wait(3600 - 5 * 60)
    assert world.ask().status == 200
    assert world.calls(TOKENS) == 2


def test_the_apps_key_is_rotated_without_a_restart(world: World) -> None:
    assert world.ask().status == 200
    world.store_key(world.hub.add_app("tidepool", account="lab", permissions={"administration": "write"})["key"])
    world.hub.forget_app_keys(world.app["id"])
    world.wait(3600)
    assert world.ask().status == 200


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


def test_two_brokers_agree_on_who_was_served(world: World) -> None:
    assert world.ask().status == 200
    world.start()
    assert world.ask().reason == "too-often"
    world.wait(60)
    token = world.token()
    assert world.ask(token=token).status == 200
    world.start()
    world.wait(60)
    assert world.ask(token=token).reason == "replayed"


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


def test_the_account_that_asks_is_told_in_every_line(world: World) -> None:
    world.ask()
    world.ask()
    assert [(line["vm"], line["account"]) for line in world.lines] == [(VM, MEMBER_ACCOUNT)] * 2
