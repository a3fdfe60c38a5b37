"""Resource options: each does what Pulumi says it does."""

from __future__ import annotations

from collections.abc import Callable

import pulumi
import pytest
from pulumi import CustomTimeouts, Output, ResourceOptions

from bench.engine.run import Options
from bench.tests.engine.fake import FakeProvider, Vm
from bench.tests.engine.world import World, ops, step
from infra.model.errors import EngineError
from infra.model.plan import Status


def vm(opts: ResourceOptions | None = None, **props: object) -> Callable[[], object]:
    """A program of one VM."""
    return lambda: Vm("a", opts=opts, **props)


def secretly(token: str) -> Callable[[], object]:
    return lambda: Vm("a", token=Output.secret(token))


def test_many_protected_resources_are_refused_in_one_message_with_a_list(world: World) -> None:
    def program() -> None:
        for name in "abc":
            Vm(name, opts=ResourceOptions(protect=True))

    world.run(program)
    world.program = lambda: None
    plan = world.preview()
    (said,) = [each.message for each in plan.diagnostics if each.severity == "error"]
    assert said.startswith("3 protected resources would be deleted: the stack file no longer declares them: put them")
    assert said.endswith("\n  a (Vm)\n  b (Vm)\n  c (Vm)")
    assert sorted(each.error or "" for each in plan.steps if each.status is Status.FAILED) == [
        f"{name} (Vm) is protected" for name in "abc"
    ]


def test_unprotecting_and_replacing_may_come_in_one_run(world: World) -> None:
    world.run(vm(size="small", opts=ResourceOptions(protect=True)))
    assert ops(world.run(vm(size="big"))) == {"a": "replace"}


def test_ignored_changes_are_no_changes(world: World) -> None:
    options = ResourceOptions(ignore_changes=["labels.owner", "size"])
    world.run(vm(size="small", labels={"owner": "x", "team": "t"}, opts=options))
    assert not ops(world.run(vm(size="big", labels={"owner": "y", "team": "t"}, opts=options)))
    assert ops(world.run(vm(size="big", labels={"owner": "y", "team": "u"}, opts=options))) == {"a": "update"}
    assert world.cloud.things["vm/a"]["labels"] == {"owner": "x", "team": "u"}


def test_what_is_read_below_an_ignored_name_is_no_difference_and_is_not_sent(world: World) -> None:
    options = ResourceOptions(ignore_changes=["size"])
    world.run(vm(labels={"owner": "x"}, opts=options))
    world.cloud.things["vm/a"]["size"] = "of another"
    assert not ops(world.run(vm(labels={"owner": "x"}, opts=options), refresh=True))
    world.cloud.things["vm/a"]["size"] = "of a third"
    assert not ops(world.refresh())
    assert world.state["a"]["outputs"]["size"] == "of a third", "it is noted all the same"
    world.run(vm(labels={"owner": "y"}, opts=options))
    assert world.cloud.things["vm/a"]["size"] == "of a third"


@pytest.mark.parametrize("pattern", ["labels", "labels.owner", "*"])
def test_replace_on_changes_makes_an_update_a_replacement(world: World, pattern: str) -> None:
    options = ResourceOptions(replace_on_changes=[pattern])
    world.run(vm(labels={"owner": "x"}, opts=options))
    plan = world.run(vm(labels={"owner": "y"}, opts=options))
    assert (ops(plan), step(plan, "a").replace_reasons) == ({"a": "replace"}, ("labels",))


def test_a_secret_input_is_ciphertext_in_state_and_journal_and_masked_everywhere_else(world: World) -> None:
    def program() -> None:
        Vm("a", token=Output.secret("hush-hush"), labels={"x": Output.secret("psst-psst")})

    world.program = program
    preview = world.preview()
    journal: list[str] = []
    world.cloud.after = lambda *_: journal.extend(path.read_text() for path in world.files.journals.iterdir())
    plan = world.run(program)
    assert world.cloud.things["vm/a"]["token"] == "hush-hush"
    assert "creating" in journal[0]
    text = (
        journal[0]
        + world.files.checkpoint.read_text()
        + repr(plan)
        + repr(preview)
        + repr(world.events)
        + repr(world.state)
    )
    assert "hush-hush" not in text
    assert "psst-psst" not in text
    assert (step(plan, "a").new_inputs or {})["token"] == "[secret]"
    changed = world.run(secretly("other-one"))
    assert step(changed, "a").diff["token"].before == "[secret]"
    assert "other-one" not in repr(changed) + repr(world.events)


def test_declared_secret_outputs_and_those_of_the_provider_are_secret(world: World) -> None:
    def program() -> None:
        made = Vm("a", opts=ResourceOptions(additional_secret_outputs=["link"]))
        pulumi.export("link", made.link)

    plan = world.run(program)
    assert plan.outputs == {"link": "[secret]"}
    assert "ciphertext" in world.state["a"]["outputs"]["link"]
    assert "ciphertext" in world.state["a"]["outputs"]["password"]
    assert world.engine().outputs() == {"link": "[secret]"}


def test_a_wrong_passphrase_is_refused(world: World) -> None:
    world.run(secretly("hush"))
    world.passphrase = "wrong"
    with pytest.raises(EngineError, match="incorrect passphrase"):
        world.up()


def test_custom_timeouts_reach_the_provider_in_seconds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    create = FakeProvider.create

    def recording(self, token, inputs, timeout, cancel):
        given.append(timeout)
        return create(self, token, inputs, timeout, cancel)

    monkeypatch.setattr(FakeProvider, "create", recording)
    world.run(vm(opts=ResourceOptions(custom_timeouts=CustomTimeouts(create="90m"))))
    assert given == [5400]


class Record(pulumi.ComponentResource):
    def __init__(self, name: str, value: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("tidepool:test:Record", name, {"value": value}, opts)
        self.register_outputs({"told": value})


def records(value: str) -> Callable[[], None]:
    def declare() -> None:
        Record("record", value)
        Vm("a", labels={"x": value})
        pulumi.export("value", value)

    return declare


def test_adoption_keeps_components_and_outputs_as_they_were(world: World) -> None:
    world.run(records("1"))
    before = world.preview()
    world.program = records("2")
    world.engine().adopt(Options(standing=frozenset({"vm/z"})))
    assert world.state["record"]["inputs"] == {"value": "1"}
    assert world.state["record"]["outputs"] == {"told": "1"}
    assert world.engine().outputs() == before.outputs == {"value": "1"}
    assert ops(world.preview()) == {"record": "update", "a": "update"}
