"""What happens when a provider fails, and when someone presses Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import pytest
from pulumi import ResourceOptions

from bench.engine.provider import CancelledError, PartialCreateError, PartialUpdateError, ProviderError
from bench.tests.engine.fake import FakeProvider, Net, Vm
from bench.tests.engine.world import World, ops, problems, step, verify
from infra.model.plan import Diagnostic, Status


def test_others_go_on_and_dependents_are_skipped(world: World) -> None:
    def program() -> None:
        bad = Vm("bad")
        Vm("hangs-on-bad", net=bad.link)
        Vm("good")

    world.cloud.failing["create vm/bad"] = "no more capacity"
    world.program = program
    plan = world.up(continue_on_error=True)
    assert plan.failed
    assert step(plan, "bad").error == "no more capacity"
    assert step(plan, "hangs-on-bad").status is Status.SKIPPED
    assert set(world.cloud.things) == {"vm/good"}
    assert "bad" not in world.state
    assert "pending_operations" not in world.checkpoint
    world.cloud.failing.clear()
    assert ops(world.run(program)) == {"bad": "create", "hangs-on-bad": "create"}


def test_without_continue_on_error_nothing_new_begins(world: World) -> None:
    world.run(lambda: Vm("old"))
    world.cloud.failing["create vm/bad"] = "no more capacity"

    def program() -> None:
        bad = Vm("bad")
        Vm("next", opts=ResourceOptions(depends_on=[bad]))

    world.program = program
    plan = world.up()
    assert problems(plan)[0] == "no more capacity"
    assert set(world.cloud.things) == {"vm/old"}


def test_what_may_need_a_failed_resource_is_not_deleted(world: World) -> None:
    def full() -> None:
        net = Net("net", fixed="n")
        net.link.apply(lambda link: Vm("inner", net=link, opts=ResourceOptions(depends_on=[net])))

    world.run(full)
    world.cloud.failing["update net/n"] = "broken"

    def edited() -> None:
        net = Net("net", fixed="n", labels={"a": "b"})
        net.link.apply(lambda link: Vm("inner", net=link, opts=ResourceOptions(depends_on=[net])))

    world.program = edited
    assert world.up(continue_on_error=True).failed
    assert "vm/inner" in world.cloud.things


def test_a_failed_create_after_its_delete_is_made_by_the_next_run(world: World) -> None:
    world.run(lambda: Vm("a", size="small"))
    world.cloud.failing["create vm/a"] = "no more capacity"
    world.program = lambda: Vm("a", size="big")
    assert world.up().failed
    assert world.state["a"]["pendingReplacement"]
    world.cloud.failing.clear()
    assert ops(world.run(world.program)) == {"a": "create"}
    assert "pendingReplacement" not in world.state["a"]
    assert world.cloud.verbs("delete") == ["delete vm/a"]


def test_a_failed_delete_of_a_replaced_resource_is_done_by_the_next_run(world: World) -> None:
    world.run(lambda: Net("net", size="small"))
    old = next(iter(world.cloud.things))
    world.cloud.failing[f"delete {old}"] = "busy"
    world.program = lambda: Net("net", size="big")
    plan = world.up()
    assert step(plan, "net").error == "busy"
    assert [entry.get("delete", False) for entry in world.checkpoint["resources"]][-1]
    verify(world.checkpoint)
    world.cloud.failing.clear()
    assert ops(world.run(world.program)) == {"net": "delete"}
    assert len(world.cloud.things) == 1


def test_a_create_that_made_half_is_kept_and_mended(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    create = FakeProvider.create

    def halfway(self, token, inputs, timeout, cancel):
        made = create(self, token, inputs, timeout, cancel)
        raise PartialCreateError("not ready", resource_id=made.id, outputs=made.outputs)

    monkeypatch.setattr(FakeProvider, "create", halfway)
    world.program = lambda: Vm("a")
    assert step(world.up(), "a").error == "not ready"
    assert world.state["a"]["initErrors"] == ["not ready"]
    monkeypatch.setattr(FakeProvider, "create", create)
    assert ops(world.run(world.program)) == {"a": "update"}
    assert "initErrors" not in world.state["a"]


def test_an_update_that_changed_half_is_kept_and_tried_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run(lambda: Vm("a", labels={"x": "1"}))
    update = FakeProvider.update

    def halfway(self, *args):
        raise PartialUpdateError("labels only", outputs=update(self, *args))

    monkeypatch.setattr(FakeProvider, "update", halfway)
    world.program = lambda: Vm("a", labels={"x": "2"})
    assert world.up().failed
    monkeypatch.setattr(FakeProvider, "update", update)
    assert ops(world.run(world.program)) == {"a": "update"}


def test_an_update_of_what_is_gone_makes_it_again_in_the_next_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.run(lambda: Vm("a", labels={"x": "1"}))
    del world.cloud.things["vm/a"]

    def gone(self, *args):
        raise ProviderError("404 vm/a", gone=True)

    monkeypatch.setattr(FakeProvider, "update", gone)
    world.program = lambda: Vm("a", labels={"x": "2"})
    assert world.up().failed
    assert ops(world.run(world.program)) == {"a": "create"}


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


@pytest.mark.parametrize("kind", ["updating", "deleting"])
def test_what_went_while_an_operation_was_in_flight_leaves_the_state_and_is_made_again(world: World, kind: str) -> None:
    world.run(lambda: Vm("a"))
    document = json.loads(world.files.checkpoint.read_bytes())
    document["checkpoint"]["latest"]["pending_operations"] = [{"type": kind, "resource": world.state["a"]}]
    world.files.checkpoint.write_text(json.dumps(document))
    del world.cloud.things["vm/a"]
    plan = world.run(world.program)
    assert any(
        "a (fake:" in said.message and said.message.endswith(": it does not exist any more")
        for said in plan.diagnostics
    )
    assert ops(plan) == {"a": "create"}
    assert set(world.cloud.things) == {"vm/a"}
