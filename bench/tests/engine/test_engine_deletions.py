"""What a run deletes, what it leaves, and what it says of each deletion."""

from __future__ import annotations

import re

import pytest
from pulumi import ResourceOptions

from bench.engine.provider import CancelledError
from bench.tests.engine.fake import Net, Vm
from bench.tests.engine.world import World, ops, problems, step
from infra.model.errors import EngineError
from infra.model.plan import Op, Status


def chain() -> None:
    """net <- a <- b, and c alone."""
    net = Net("net", fixed="n")
    a = Vm("a", net=net.link)
    Vm("b", opts=ResourceOptions(depends_on=[a]))
    Vm("c")


def urn(world: World, name: str) -> str:
    return world.state[name]["urn"]


def test_all_targets_that_one_resource_needs_are_named(world: World) -> None:
    def program() -> None:
        first, second = Net("first", fixed="1"), Net("second", fixed="2")
        Vm("a", opts=ResourceOptions(depends_on=[second, first]))

    world.run(program)
    needed = f"{urn(world, 'first')}, {urn(world, 'second')} cannot be deleted alone"
    with pytest.raises(EngineError, match=re.escape(needed)):
        world.destroy(targets=("**::first", "**::second"))


def test_a_deletion_that_fails_says_why(world: World) -> None:
    world.run(chain)
    world.cloud.failing["delete vm/a"] = "it is in use"
    world.program = lambda: None
    plan = world.up(continue_on_error=True)
    assert step(plan, "a").error == "it is in use"
    assert problems(plan) == ["it is in use", "a: it is in use"]
    assert step(plan, "net").error == "not attempted: a resource that depends on it was not deleted"
    assert set(world.cloud.things) == {"vm/a", "net/n"}


def test_a_deletion_that_is_broken_off_ends_the_run_and_deletes_nothing_more(world: World) -> None:

    def before(verb: str, id_: str) -> None:
        if (verb, id_) == ("delete", "vm/b"):
            raise CancelledError("stopped waiting for vm/b")

    world.run(lambda: chain())
    world.cloud.before = before
    world.program = lambda: None
    plan = world.up(continue_on_error=True, parallel=1, targets=("**::a", "**::b", "**::net"))
    assert step(plan, "b").error == "stopped waiting for vm/b"
    assert [one.name for one in plan.steps if one.changes] == ["b"]
    assert set(world.cloud.things) == {"vm/a", "vm/b", "vm/c", "net/n"}
    assert {"a", "b", "net"} <= set(world.state)


def test_what_needs_a_resource_that_failed_is_not_deleted_however_far_it_is_from_it(world: World) -> None:
    def program(label: str = "1", *, whole: bool = True) -> None:
        a = Vm("a", labels={"x": label})
        if whole:
            b = Vm("b", opts=ResourceOptions(depends_on=[a]))
            Vm("far", opts=ResourceOptions(depends_on=[b]))
            Vm("alone")

    world.run(program)
    world.cloud.failing["update vm/a"] = "broken"
    world.program = lambda: program("2", whole=False)
    plan = world.up(continue_on_error=True)
    assert set(world.cloud.things) == {"vm/a", "vm/b", "vm/far"}
    for name in ("b", "far"):
        assert step(plan, name).error == "not attempted: it depends on a resource that failed"


def test_what_is_protected_is_told_as_a_deletion_that_was_refused_also_where_the_cloud_would_keep_it(
    world: World,
) -> None:
    world.run(lambda: Vm("a", opts=ResourceOptions(protect=True, retain_on_delete=True)))
    plan = world.destroy()
    assert (step(plan, "a").op, step(plan, "a").status) == (Op.DELETE, Status.FAILED)


def test_what_was_deleted_for_a_replacement_that_failed_is_forgotten_with_all_that_it_needs(world: World) -> None:
    def program(size: str) -> None:
        Vm("a", size=size, net=Net("net", fixed="n").link)

    world.run(lambda: program("small"))
    world.cloud.failing["create vm/a"] = "no more capacity"
    world.program = lambda: program("big")
    assert world.up().failed
    assert world.state["a"]["pendingReplacement"]
    plan = world.destroy()
    assert "a" not in ops(plan)
    assert (step(plan, "net").op, plan.failed) == (Op.DELETE, False)
    assert world.cloud.verbs("delete") == ["delete vm/a", "delete net/n"]
