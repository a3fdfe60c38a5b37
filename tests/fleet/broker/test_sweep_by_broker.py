"""The controller on Cloud Run: it looks and acts through a real broker, and holds no credential of GitHub's."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from infra.fleet.broker.github_app import GitHubApp
from infra.fleet.broker.keeper import AT_ONCE
from infra.fleet.broker.settings import BUCKET as BUCKET_NAME
from infra.fleet.broker.settings import PROJECT as PROJECT_NAME
from infra.fleet.controller.by_broker import BrokerApi
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.github import RunnerApi
from infra.fleet.controller.manifests import read
from infra.fleet.controller.memory import Memory, ScopeMemory
from infra.fleet.controller.observe import Observer
from infra.fleet.controller.observed import KNOWN
from infra.fleet.place import BROKER, TOKEN, told_place
from infra.model import bucket_names
from infra.operations.fleet.looks import declared_place
from tests.fleet.broker.broker_world import BUCKET, PROJECT, REPO, STACK, World, manifest
from tests.model.given import parse, pool, stack_text

SCOPE = f"repos/{REPO}"


def desired() -> Desired:
    place = {"capacity": "preemptible", "node": {"acceleratorType": "v5litepod-4"}}
    slots = [
        {**slot, **place, "accelerator": "v5litepod-4", "fallbacks": [
            {**each, **place} for each in slot.get("fallbacks", ())
        ]}
        for slot in manifest()["slots"]
    ]  # fmt: skip
    return read({**manifest(), "slots": slots})


def left(world: World, *scopes: str) -> Any:
    """What a sweep knows of scopes that their pool has left."""
    memory = Memory(scopes={"tpu-ci": {scope: ScopeMemory(until=world.now()) for scope in scopes}})
    observer = Observer(project=PROJECT, bucket=BUCKET, endpoint=world.cloud.url, github=world.api())
    return observer.observe(desired(), memory).left


def test_a_repository_that_left_and_never_had_a_runner_holds_nothing(world: World) -> None:
    """A pool of several repositories takes turns, so that one of them may have got none."""
    assert world.ask().status == 200
    assert left(world, "repos/lab/never") == {"repos/lab/never": KNOWN}


def test_however_many_scopes_have_left_the_broker_answers_for_each(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that ask in one moment would be refused, however well GitHub is: a broker takes few errands at once."""
    scopes = [f"repos/lab/left-{index}" for index in range(3 * AT_ONCE)]
    at_once, most, guard, entered = 0, 0, threading.Lock(), threading.Event()

    def slow(*_: object, **__: object) -> tuple[()]:
        nonlocal at_once, most
        with guard:
            at_once += 1
            most = max(most, at_once)
            if at_once == AT_ONCE:
                entered.set()
        entered.wait(0.02)
        with guard:
            at_once -= 1
        return ()

    monkeypatch.setattr(GitHubApp, "runners", slow)
    world.write(bucket_names.scopes_object(STACK), {"version": 1, "stack": STACK, "scopes": scopes})
    assert left(world, *scopes) == dict.fromkeys(scopes, KNOWN)
    assert most < AT_ONCE


# Which way


def test_the_broker_that_is_named_comes_before_a_token() -> None:
    given = {PROJECT_NAME: "a-lab", BUCKET_NAME: "a-bucket"}
    ways = {
        "https://broker.example.com": {BROKER: "https://broker.example.com", TOKEN: "of-ada"},
        "by hand": {TOKEN: "of-ada"},
    }
    for way, environ in ways.items():
        place = told_place(STACK, {**given, **environ})
        assert place is not None
        github = place.github
        assert (github.address() if isinstance(github, BrokerApi) else "by hand") == way
    place = told_place(STACK, given)
    assert place is not None
    assert isinstance(place.github, BrokerApi), "the manifest's broker is looked up when it is needed"


def test_beside_the_local_cloud_a_broker_is_asked_as_the_controller(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = parse(stack_text(pools=pool(serves=f"[{REPO}]")))
    monkeypatch.delenv(BROKER, raising=False)
    assert isinstance(declared_place(config, world.cloud.url).github, RunnerApi)
    monkeypatch.setenv(BROKER, world.settings.audience)
    found = declared_place(config, world.cloud.url).github
    assert isinstance(found, BrokerApi)
    assert found.stack == config.stack
    assert found.token("https://b.example.com").count(".") == 2
