"""What the controller gets of the broker by its own identity, and what nobody gets."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from infra.fleet.broker.github_app import GitHubApp
from infra.fleet.broker.keeper import A_MINUTE, AT_ONCE
from infra.fleet.controller.by_broker import BrokerApi
from infra.fleet.controller.github import GitHubError
from infra.fleet.github_lists import Jobs, RunningJob
from infra.fleet.google import GoogleError
from infra.fleet.status.queue import waiting_jobs
from infra.model import bucket_names
from infra.model.manifest import emptied
from tests.fleet.broker.broker_world import (
    CONTROLLER,
    OTHER_REPO,
    REPO,
    STACK,
    VM,
    Reply,
    World,
    manifest,
)

SCOPE = f"repos/{REPO}"
GHOST = "tpu-ci-us-west4-a-7-00abcd"
RUNS = "github.list_runs"


def ghost(world: World, name: str = GHOST, repository: str = REPO, **more: Any) -> int:
    return world.hub.add_runner(repository, name, **{"status": "offline", "labels": ["tpu-ci"], **more})["id"]


def removal(world: World, number: int, scope: str = SCOPE) -> Reply:
    return world.errand(f"/v1/runners/{number}?stack={STACK}&scope={scope}", verb="DELETE")


# Lists


def test_the_controller_sees_every_runner_that_is_named_by_our_rule(world: World) -> None:
    first = world.ask()
    world.hub.connect(first.body["jit"])
    for index in range(130):
        ghost(world, f"tpu-ci-us-west4-a-{index}-00abcd", OTHER_REPO)
    ghost(world, "somebodys-mac")
    seen = world.api().runners("broker")
    assert len(seen) == 131
    [online] = [runner for runner in seen if runner.online]
    assert (online.name, online.scope, online.vm) == (first.body["runner"], SCOPE, VM)
    assert world.lines[-1]["event"] == "runners"
    assert world.lines[-1]["account"] == CONTROLLER


def test_the_queue_of_many_repositories_is_asked_for_once_and_what_it_lacks_is_unknown_of_all(world: World) -> None:
    world.hub.queue_job(OTHER_REPO, ["tpu-ci"], name="first")
    before = len(world.lines)
    assert [job.name for job in waiting_jobs(world.api(), [REPO, OTHER_REPO]).jobs] == ["first"]
    assert [line["event"] for line in world.lines[before:]] == ["queue"]
    nobody = replace(world.api(), address=lambda: "http://127.0.0.1:1")
    assert waiting_jobs(nobody, [REPO, OTHER_REPO]).unknown.keys() == {REPO, OTHER_REPO}


def test_jobs_of_runners_that_are_not_named_by_our_rule_are_told_to_nobody(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = RunningJob(repository=REPO, name="theirs", runner="somebodys-mac", url="")
    monkeypatch.setattr(GitHubApp, "jobs", lambda *_, **__: Jobs(waiting=(), running=(theirs,)))
    assert world.api().running([REPO]) == ()


def test_a_queue_is_looked_at_once_a_minute_however_often_it_is_asked_for(world: World) -> None:
    for _ in range(3):
        assert world.api().queued([REPO]) == ()
    before = world.calls(RUNS)
    world.wait(59)
    world.api().queued([REPO])
    assert world.calls(RUNS) == before
    world.wait(2)
    world.api().queued([REPO])
    assert world.calls(RUNS) == 2 * before


def test_what_is_left_of_githubs_hour_is_for_registrations(world: World) -> None:
    world.hub.leave(f"installation/{world.app['installation']}", 900)
    assert world.ask().status == 200
    reply = world.errand(f"/v1/queue?stack={STACK}")
    assert (reply.status, reply.reason) == (503, "github-limited")
    assert "for registrations" in world.lines[-1]["detail"]
    world.wait(3601)
    assert world.ask().status == 200
    assert world.errand(f"/v1/queue?stack={STACK}").status == 200


@pytest.mark.parametrize("path", ["runners", "queue"])
def test_a_list_that_github_does_not_give_is_no_list(world: World, path: str) -> None:
    world.cloud.control.fail("error", method="github.list_*", code=502)
    reply = world.errand(f"/v1/{path}?stack={STACK}")
    assert (reply.status, reply.reason, reply.headers["retry-after"]) == (503, "github-down", "60")
    with pytest.raises(GitHubError, match="503 github-down"):
        world.api().runners("broker")


# Where nothing is declared any more


def leaves(world: World, repository: str) -> None:
    """No slot serves a repository any more, as the broker sees it once it reads again."""
    kept = [each for each in manifest()["slots"] if repository not in each["serves"]]
    body = {**manifest(), "slots": kept} if kept else emptied(manifest(), "a test")
    world.write(bucket_names.manifest_object(STACK), body)
    world.wait(60)


def test_runners_of_a_repository_that_is_served_no_more_are_listed_and_their_ghosts_removed(world: World) -> None:
    first = world.ask()
    world.hub.connect(first.body["jit"])
    number = ghost(world)
    leaves(world, REPO)
    world.start()
    assert {runner.scope for runner in world.api().runners("broker")} == set()
    left = world.api().runners(SCOPE)
    assert {(runner.name, runner.online) for runner in left} == {(first.body["runner"], True), (GHOST, False)}
    assert (world.lines[-1]["event"], world.lines[-1]["scope"]) == ("runners", SCOPE)
    world.write(
        bucket_names.binding_object(STACK, GHOST.rpartition("-")[0]), {"version": 1, "vm": GHOST.rpartition("-")[0]}
    )
    world.api().remove(SCOPE, number)
    assert [runner["name"] for runner in world.runners()] == [first.body["runner"]]


def test_runners_are_listed_nowhere_where_this_broker_registered_none(world: World) -> None:
    assert world.ask().status == 200
    world.hub.add_repository("lab/private")
    ghost(world, GHOST, "lab/private")
    for scope in ("repos/lab/private", "orgs/lab"):
        for name in ("", f"&name={GHOST}"):
            assert world.errand(f"/v1/runners?stack={STACK}&scope={scope}{name}").reason == "foreign-runner"


# Removals


@pytest.mark.parametrize("state", [{"status": "online"}, {"busy": True}, {"status": "online", "busy": True}])
def test_a_runner_that_serves_is_never_removed(world: World, state: dict[str, Any]) -> None:
    number = ghost(world, **state)
    reply = removal(world, number)
    assert (reply.status, reply.reason) == (409, "serving")
    assert [runner["name"] for runner in world.runners()] == [GHOST]


@pytest.mark.parametrize("name", ["somebodys-mac", "macs-00abcd", "nightly-us-west4-a-0-00abcd", "tpu-ci-x-0-00abcd"])
def test_a_runner_of_somebody_elses_is_never_removed(world: World, name: str) -> None:
    number = ghost(world, name)
    assert removal(world, number).reason == "foreign-runner"
    assert [runner["name"] for runner in world.runners()] == [name]


# Who asks


def test_the_controller_is_the_only_one_who_is_answered(world: World) -> None:
    tokens = {
        world.token(VM): "not-controller",
        world.cloud.control.account_token(
            "me@a-lab.iam.gserviceaccount.com", world.settings.audience
        ): "not-controller",
        world.cloud.control.account_token(CONTROLLER, "https://another.example.com"): "foreign-audience",
        world.token(VM, claims={"email": CONTROLLER, "email_verified": False}): "no-account",
        "x.y.z": "bad-token",
        "": "no-token",
    }
    number = ghost(world)
    for token, reason in tokens.items():
        for verb, path in (
            ("GET", f"/v1/runners?stack={STACK}"),
            ("GET", f"/v1/queue?stack={STACK}"),
            ("DELETE", f"/v1/runners/{number}?stack={STACK}&scope={SCOPE}"),
        ):
            assert world.errand(path, verb=verb, token=token).reason == reason
    assert [runner["name"] for runner in world.runners()] == [GHOST]
    assert world.errand("/v1/runners?stack=nightly").reason == "foreign-stack"


# What is asked


ERRANDS = {
    "wrong-method": [
        "POST /v1/runners?stack=ci",
        "DELETE /v1/queue?stack=ci",
        "GET /v1/runners/7?stack=ci&scope=orgs/lab",
    ],
    "bad-query": [
        "GET /v1/runners",
        "GET /v1/runners?stack=",
        "GET /v1/runners?stack=ci&stack=ci",
        "GET /v1/runners?stack=ci&more=1",
        "GET /v1/queue?stack=../ci",
        "GET /v1/queue?stack=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "GET /v1/queue?stack=ci&scope=orgs/lab",
        "GET /v1/runners?stack=ci&name=a-0-00abcd",
        "GET /v1/runners?stack=ci&scope=",
        "GET /v1/runners?stack=ci&scope=repos/lab/..",
        "GET /v1/runners?stack=ci&scope=orgs/lab&name=a/../b",
        "GET /v1/runners?stack=ci&scope=orgs/lab&scope=orgs/lab",
        "DELETE /v1/runners/7?stack=ci",
        "DELETE /v1/runners/7?stack=ci&scope=repos/lab",
        "DELETE /v1/runners/7?stack=ci&scope=repos/lab/..",
        "DELETE /v1/runners/7?stack=ci&scope=repos/lab/a/b",
        "DELETE /v1/runners/7?stack=ci&scope=orgs/lab%2Fx",
    ],
    "not-found": [
        "DELETE /v1/runners/07?stack=ci&scope=orgs/lab",
        "DELETE /v1/runners/a?stack=ci&scope=orgs/lab",
    ],
}


@pytest.mark.parametrize(
    ("reason", "asked"), [(reason, each) for reason, several in ERRANDS.items() for each in several]
)
def test_what_is_no_errand_is_turned_away(still: World, reason: str, asked: str) -> None:
    verb, path = asked.split(" ")
    reply = still.errand(path, verb=verb, token="x.y.z")
    assert reply.reason == reason
    assert reason != "wrong-method" or reply.headers["allow"] in ("GET", "DELETE")


def test_the_controller_does_not_ask_for_all_that_github_gives(world: World) -> None:
    for _ in range(A_MINUTE):
        assert world.errand(f"/v1/queue?stack={STACK}").status == 200
    reply = world.errand(f"/v1/runners?stack={STACK}")
    assert (reply.status, reply.reason) == (429, "too-often")
    assert world.ask().status == 200


def test_errands_that_take_long_leave_threads_to_vms(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, entered = threading.Event(), threading.Semaphore(0)

    def slow(*_: object, **__: object) -> tuple[()]:
        entered.release()
        gate.wait(20)
        return ()

    monkeypatch.setattr(GitHubApp, "runners", slow)
    path = f"/v1/runners?stack={STACK}"
    threads = [threading.Thread(target=world.errand, args=[path]) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert entered.acquire(timeout=20)
    reply = world.errand(path)
    assert (reply.status, reply.reason, reply.headers["retry-after"]) == (503, "crowded", "5")
    assert world.errand(path, token=world.token()).reason == "not-controller", "nobody else takes its places"
    assert world.ask().status == 200
    gate.set()
    for thread in threads:
        thread.join()
    assert world.errand(path).status == 200


# The other side


def test_without_a_broker_or_a_token_github_is_unknown_and_says_why(world: World) -> None:
    def no_token(audience: str) -> str:
        raise GoogleError("getting an identity token", "there is none")

    def nowhere() -> str:
        raise GitHubError("no broker")

    with pytest.raises(GitHubError, match="there is none"):
        BrokerApi(stack=STACK, address=lambda: world.settings.audience, token=no_token).runners("broker")
    with pytest.raises(GitHubError, match="no broker"):
        BrokerApi(stack=STACK, address=nowhere, token=no_token).runners("broker")
    with pytest.raises(GitHubError, match="no answer"):
        BrokerApi(stack=STACK, address=lambda: "http://127.0.0.1:9", token=lambda _: "t").remove(SCOPE, 7)


def test_the_broker_tells_of_jobs_in_words_alone_whoever_named_them(world: World) -> None:
    world.hub.queue_job(REPO, ["fork"], name="\x1b[2Jjob")
    assert [job.name for job in world.api().queued([REPO])] == ["\\u001b[2Jjob"]
