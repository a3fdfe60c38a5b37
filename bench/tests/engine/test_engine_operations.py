"""What becomes of each resource, and in which order."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pulumi
import pytest
from pulumi import Alias, CustomTimeouts, ResourceOptions

from bench.tests.engine.fake import NET, FakeProvider, Group, Net, Vm
from bench.tests.engine.world import World, ops, problems


def fleet(*names: str, **props: object):
    def program() -> None:
        net = Net("net")
        group = Group("group")
        for name in names:
            Vm(name, net=net.link, opts=ResourceOptions(parent=group), **props)
        pulumi.export("link", net.link)

    return program


def test_a_preview_changes_neither_cloud_nor_state(world: World) -> None:
    world.program = fleet("a")
    assert ops(world.preview())["a"] == "create"
    assert not world.cloud.requests
    assert not list(world.root.iterdir())


def test_a_generated_name_is_made_before_the_old_one_goes(world: World) -> None:
    world.run(lambda: Net("net", size="small"))
    old = next(iter(world.cloud.things))
    world.cloud.requests.clear()
    plan = world.run(lambda: Net("net", size="big"))
    verbs = world.cloud.verbs("create", "delete")
    assert [verb.split()[0] for verb in verbs] == ["create", "delete"]
    assert verbs[1] == f"delete {old}"
    assert ops(plan) == {"net": "replace"}
    assert len(world.checkpoint["resources"]) == 3


def test_deletes_come_after_creates_and_dependents_go_first(world: World) -> None:
    def chain() -> None:
        net = Net("net", fixed="n")
        first = Vm("first", net=net.link)
        Vm("second", net=first.link)

    world.run(chain)
    world.cloud.requests.clear()
    world.run(lambda: Vm("new"))
    assert world.cloud.verbs("create", "delete") == [
        "create vm/new",
        "delete vm/second",
        "delete vm/first",
        "delete net/n",
    ]


def test_a_type_that_is_not_served_is_refused_by_name_with_the_place_of_its_row(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.program = lambda: (Vm("a"), pulumi.CustomResource("fake:index:Odd", "odd", {}))
    plan = world.up()
    assert problems(plan)[0].endswith("does not serve fake:index:Odd: use --engine pulumi")
    assert not world.cloud.things
    monkeypatch.setattr(FakeProvider, "package", "gcp")
    assert "write its row in bench/providers/google/tables (docs/architecture.md), or use" in problems(world.up())[0]


def hooked() -> Vm:
    hook = pulumi.ResourceHook("hook", lambda args: None)
    return Vm("a", opts=ResourceOptions(hooks=pulumi.ResourceHookBinding(before_create=[hook])))


@pytest.mark.parametrize(
    ("asks", "said"),
    [
        (hooked, "hook"),
        (lambda: [Vm("twin"), Vm("twin")], "duplicate resource URN"),
        (lambda: (Vm("a"), pulumi.CustomResource("aws:s3/bucket:Bucket", "bucket", {})), "provider aws"),
        (lambda: pulumi.CustomResource(NET, "a", {}, ResourceOptions(id="net/theirs")), f"the look-up of a {NET}"),
        (lambda: Vm("a", script=pulumi.StringAsset("x")), "an asset"),
        (lambda: Vm("a", opts=ResourceOptions(aliases=[Alias(name="b")])), "aliases"),
        (lambda: Vm("a", opts=ResourceOptions(aliases=[Alias(parent=pulumi.ROOT_STACK_RESOURCE)])), "aliases"),
        (lambda: Vm("a", opts=ResourceOptions(import_="vm/a")), "an import"),
        (lambda: Vm("a", opts=ResourceOptions(replacement_trigger="x")), "a replacement trigger"),
        (lambda: Vm("a", opts=ResourceOptions(ignore_changes=["labels.*"])), "ignore_changes with a wildcard"),
        (lambda: Vm("a", opts=ResourceOptions(custom_timeouts=CustomTimeouts(delete="1m"))), "timeouts of updates"),
        (lambda: Vm("a", opts=ResourceOptions(custom_timeouts=CustomTimeouts(create="soon"))), "timeout is 'soon'"),
        (lambda: pulumi.runtime.invoke("fake:index:echo", {"say": "hello"}), "does not support Invoke"),
    ],
)
def test_what_the_engine_does_not_do_is_refused_by_name(world: World, asks: Callable[[], object], said: str) -> None:
    world.program = asks
    assert said in problems(world.up())[0]
    assert not world.cloud.things


def test_an_alias_of_the_type_alone_is_the_sdks_own(world: World) -> None:
    world.run(lambda: Vm("a", opts=ResourceOptions(aliases=[Alias(type_="fake:index:Machine")])))
    assert "aliases" not in world.state["a"]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (pulumi.RunError("the stack has no zone"), "the stack has no zone"),
        (ValueError("seven"), r"the program failed \(.*test_engine_operations.py:[0-9]+\): ValueError: seven"),
    ],
)
def test_a_fault_of_the_program_is_told_with_its_place_and_nothing_is_deleted(
    world: World, fault: Exception, said: str
) -> None:
    world.run(fleet("a"))

    def broken() -> None:
        raise fault

    world.program = broken
    (told,) = problems(world.up(previewed=True))
    assert re.fullmatch(said, told)
    assert "vm/a" in world.cloud.things


def test_config_reaches_the_program_and_the_default_provider(world: World) -> None:
    seen = {}
    world.config = {"tidepool:pools": '["x"]', "fake:region": "r"}

    def program() -> None:
        seen["pools"] = pulumi.Config("tidepool").require_object("pools")
        Vm("a")

    world.run(program)
    assert seen == {"pools": ["x"]}
    assert world.state["default_1_0_0"]["inputs"] == {"region": "r", "version": "1.0.0"}


def test_an_explicit_provider_keeps_what_the_official_cli_notes_of_it(world: World) -> None:
    def program() -> None:
        Vm("a", opts=ResourceOptions(provider=pulumi.ProviderResource("fake", "mine", {"project": "other"})))

    world.run(program)
    document = json.loads(world.files.checkpoint.read_text())
    resources = document["checkpoint"]["latest"]["resources"]
    (written,) = (each["inputs"] for each in resources if each["urn"] == world.state["mine"]["urn"])
    written["__internal"] = {}
    world.files.checkpoint.write_text(json.dumps(document))
    assert not ops(world.run(program))
    assert world.state["mine"]["inputs"] == {"project": "other", "__internal": {}}
