"""What happens when a provider fails, and when someone presses Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from typing import Any

import pytest

from bench.engine.provider import CancelledError, PartialError, ProviderError
from bench.tests.engine.fake import FakeProvider, Vm
from bench.tests.engine.world import World, ops, step
from infra.model.errors import EngineError
from infra.model.plan import Diagnostic


def _half_made(id_: str, outputs: dict[str, Any]) -> PartialError:
    return PartialError("half", resource_id=id_, outputs=outputs)


@pytest.mark.parametrize(
    ("method", "error", "errors", "then"),
    [
        ("create", _half_made, ["half"], "update"),
        ("update", lambda _, outputs: PartialError("half", outputs=outputs), ["half"], "update"),
        ("update", lambda *_: ProviderError("half", gone=True), None, "create"),
    ],
    ids=["made", "changed", "gone"],
)
def test_what_was_done_by_half_is_kept_and_mended_by_the_next_run(
    world: World, monkeypatch: pytest.MonkeyPatch, method: str, error: Any, errors: list[str] | None, then: str
) -> None:
    if method == "update":
        world.run(lambda: Vm("a", labels={"x": "1"}))
    plain = getattr(FakeProvider, method)

    def halfway(self, *args):
        done = plain(self, *args)
        raise error("vm/a", done if method == "update" else done.outputs)

    monkeypatch.setattr(FakeProvider, method, halfway)
    world.program = lambda: Vm("a", labels={"x": "2"})
    assert step(world.up(), "a").error == "half"
    assert world.state.get("a", {}).get("initErrors") == errors
    assert ("a" in world.state) == bool(errors)
    if not errors:
        world.cloud.things.clear()
    monkeypatch.setattr(FakeProvider, method, plain)
    assert ops(world.run(world.program)) == {"a": then}
    assert "initErrors" not in world.state["a"]


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def _stopping(world: World) -> bool:
    return any(isinstance(event, Diagnostic) and event.message.startswith("stopping") for event in world.events)


def test_ctrl_c_waits_for_what_is_under_way_and_begins_nothing_new(world: World) -> None:
    def pressed(verb: str, id_: str) -> None:
        if id_ == "vm/vm0":
            interrupt()
            # The signal is heard by another thread, when its turn comes: what is under way lasts until then.
            assert any(_stopping(world) or time.sleep(0.01) for _ in range(3000)), "Ctrl-C is not heard"

    world.cloud.before = pressed
    world.program = lambda: [Vm(f"vm{index}") for index in range(8)]
    with pytest.raises(KeyboardInterrupt):
        world.up(parallel=1)
    assert "vm/vm0" in world.cloud.things
    assert len(world.cloud.things) < 8
    made = {id_.removeprefix("vm/") for id_ in world.cloud.things}
    assert made == {name for name in world.state if name.startswith("vm")}
    assert "pending_operations" not in world.checkpoint
    assert not list(world.files.locks.iterdir())
    world.cloud.before = lambda verb, id_: None
    world.run(world.program)
    assert len(world.cloud.things) == 8


def test_a_second_ctrl_c_leaves_what_was_in_flight_to_the_next_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = FakeProvider.create

    def endless(self, token, inputs, timeout, cancel):
        create(self, token, inputs, timeout, cancel)
        while not cancel.wait(0.01):  # two presses at one moment are one to the operating system
            interrupt()
        raise CancelledError("stopped waiting for vm/a")

    monkeypatch.setattr(FakeProvider, "create", endless)
    world.program = lambda: Vm("a")
    with pytest.raises(KeyboardInterrupt):
        world.up()
    assert world.checkpoint["pending_operations"][0]["type"] == "creating"
    monkeypatch.setattr(FakeProvider, "create", create)
    plan = world.run(world.program)
    assert any("exists as vm/a, and is adopted" in said.message for said in plan.diagnostics)
    assert "pending_operations" not in world.checkpoint
    assert world.cloud.verbs("create") == ["create vm/a"]


def test_no_more_than_the_parallel_limit_is_under_way(world: World) -> None:
    now, most, lock = 0, 0, threading.Lock()
    both = threading.Barrier(3, timeout=10)

    def enter(verb: str, id_: str) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        both.wait()

    def leave(verb: str, id_: str) -> None:
        nonlocal now
        with lock:
            now -= 1

    world.cloud.before, world.cloud.after = enter, leave
    world.run(lambda: [Vm(f"vm{index}") for index in range(9)], parallel=3)
    assert most == 3


def test_a_create_whose_id_only_the_api_knows_is_not_doubled_and_forgotten_by_a_refresh(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.run(lambda: Vm("a"))
    document = json.loads(world.files.checkpoint.read_text())
    latest = document["checkpoint"]["latest"]
    latest["pending_operations"] = [{"type": "creating", "resource": latest["resources"].pop()}]
    world.files.checkpoint.write_text(json.dumps(document))
    monkeypatch.setattr(FakeProvider, "locate", lambda self, token, inputs: None)
    for operation in (world.preview, world.up, world.destroy):
        with pytest.raises(EngineError, match=r"delete it there if it exists, then run `\./tidepool refresh ci`"):
            operation()
    assert [one.message for one in world.refresh().diagnostics] == [
        "a (fake:index:Vm) was being created when the last run ended: forgotten, since its id is not known"
    ]
    assert "pending_operations" not in world.checkpoint
