"""The state on disk: Pulumi's own form, whole at every moment, and one writer at a time."""

from __future__ import annotations

import hashlib
import json
import os
import runpy
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pulumi
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulumi import Output, ResourceOptions

from bench.engine import checkpoint, secrets
from bench.engine.backend import Backend
from bench.engine.journal import Journal
from bench.engine.secrets import Vault
from bench.engine.state import ResourceState, decode, encode
from bench.tests.engine.fake import Group, Net, Vm
from bench.tests.engine.world import World, ops, problems, verify
from infra.model.errors import EngineError
from infra.model.secret_values import Secret


def two() -> None:
    group = Group("group")
    net = Net("net", opts=ResourceOptions(parent=group))
    Vm("a", net=net.link, token=Output.secret("hush"))
    pulumi.export("link", net.link)
    pulumi.export("secret", Output.secret({"p": "w"}))


def test_a_checkpoint_is_in_the_layout_of_the_file_backend(world: World) -> None:
    world.run(two)
    base = world.root / ".pulumi"
    assert (base / "meta.yaml").read_text() == "version: 1\n"
    document = json.loads((base / "stacks/tidepool/ci.json").read_text())
    assert document["version"] == 3
    assert document["checkpoint"]["stack"] == "organization/tidepool/ci"
    manifest = world.checkpoint["manifest"]
    assert manifest["magic"] == hashlib.sha256(manifest["version"].encode()).hexdigest()
    assert world.checkpoint["secrets_providers"]["type"] == "passphrase"
    assert world.state["a"]["propertyDependencies"] == {"net": [world.state["net"]["urn"]]}
    verify(world.checkpoint)


def test_each_write_keeps_the_checkpoint_before_it(world: World) -> None:
    world.run(two)
    before = world.files.checkpoint.read_text()
    world.run(two)
    assert (world.root / ".pulumi/stacks/tidepool/ci.json.bak").read_text() == before


def test_secrets_that_the_official_cli_made_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made by the official CLI 3.260 with the passphrase abc."""
    monkeypatch.setattr(secrets, "ROUNDS", runpy.run_path(secrets.__file__)["ROUNDS"])  # as everywhere but in tests
    vault = Vault(lambda: "abc", "v1:t7XRPEjQL7o=:v1:ic7b03z5nxd08oRN:Vv9+QrZ9S/nQyjPW3dXSqTl1jWov8g==")
    sealed = Secret.sealed("v1:g4hg17TPt6u93Upk:COzE+71XOrKbn/GTBhISMeUHHGEtabINGA==", vault)
    assert sealed.value == {"p": "w"}


@pytest.mark.parametrize(
    ("at", "other", "said"),
    [
        ((), [], "Input should be"),
        (("version",), "three", "version: Input should be a valid integer"),
        (("checkpoint", "latest", "resources", 2), {}, r"resources\[2\]: urn: Field required"),
        (
            ("checkpoint", "latest", "resources", 2),
            {"urn": "urn:pulumi:ci::tidepool::a:b:C::x"},
            r"resources\[2\] \(.*\): type: Field required",
        ),
        (("checkpoint", "latest", "resources", 2), "other", r"resources\[2\]: Input should be an object"),
        (("checkpoint", "latest", "resources", 2, "inputs"), 7, r"resources\[2\] \(.*\): inputs: Input should be"),
    ],
)
def test_a_fault_of_a_checkpoint_names_its_file_its_resource_and_the_backup(
    world: World, at: tuple[str | int, ...], other: Any, said: str
) -> None:
    world.run(two)
    holder: Any = {"": json.loads(world.files.checkpoint.read_text())}
    whole = holder
    *above, last = ("", *at)
    for key in above:
        holder = holder[key]
    holder[last] = other
    world.files.checkpoint.write_text(json.dumps(whole[""]))
    with pytest.raises(EngineError, match=said) as refusal:
        world.preview()
    assert str(refusal.value).startswith(f"{world.files.checkpoint}: not a valid Pulumi state")
    assert "Fix: replace it with ci.json.bak of the same folder" in str(refusal.value)


def replaced_together() -> None:
    Vm("second", opts=ResourceOptions(replace_with=[Vm("first")]))


def test_a_checkpoint_says_the_feature_that_its_resources_need_as_the_official_one_does(world: World) -> None:
    def form() -> dict[str, Any]:
        document = json.loads(world.files.checkpoint.read_text())
        return {key: value for key, value in document.items() if key != "checkpoint"}

    world.run(two)
    assert form() == {"version": 3}
    world.run(replaced_together)
    assert form() == {"version": 4, "features": ["replaceWith"]}
    assert not ops(world.run(replaced_together))
    world.run(two)
    assert form() == {"version": 3}


def test_fields_that_the_engine_does_not_use_are_kept(world: World) -> None:
    world.run(two)
    document = json.loads(world.files.checkpoint.read_text())
    for entry in document["checkpoint"]["latest"]["resources"]:
        entry["sourcePosition"] = "project:///x.py#1"
    document["checkpoint"]["latest"]["metadata"] = {"kept": True}
    world.files.checkpoint.write_text(json.dumps(document))
    world.run(two)
    assert all(entry["sourcePosition"] == "project:///x.py#1" for entry in world.checkpoint["resources"])
    assert world.checkpoint["metadata"] == {"kept": True}


# Stack references


def reference(name: str = "organization/tidepool/ci") -> None:
    other = pulumi.StackReference(name)
    pulumi.export("link", other.get_output("link"))
    pulumi.export("secret", other.get_output("secret"))


def test_a_stack_reference_reads_the_outputs_of_another_stack(world: World) -> None:
    world.run(two)
    link = world.engine().outputs()["link"]
    plan = world.run(reference, stack="nightly")
    assert plan.outputs == {"link": link, "secret": "[secret]"}
    assert set(ops(world.preview("nightly"), same=True).values()) == {"same"}


def test_a_reference_to_an_unknown_stack_says_to_bring_it_up(world: World) -> None:
    world.program = reference
    assert "the stack ci is not deployed. Fix: run `./tidepool up ci`" in problems(world.preview("nightly"))[0]


@pytest.mark.parametrize("name", ["acme/tidepool/ci", "ci", "organization/a/b/c"])
def test_a_reference_into_another_organization_is_refused(world: World, name: str) -> None:
    world.program = lambda: reference(name)
    said = problems(world.preview("nightly"))
    assert "knows only organization/<project>/<stack>" in said[0]
    assert not any("the program failed" in one for one in said)


# Locks


def lock_of(world: World, pid: int, hostname: str) -> Path:
    path = world.files.locks / "11111111-2222-3333-4444-555555555555.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    said = {"pid": pid, "username": "kim", "hostname": hostname, "timestamp": "2099-01-01T00:00:00Z"}
    path.write_text(json.dumps(said))
    return path


@pytest.mark.parametrize(("pid", "hostname"), [(os.getppid(), socket.gethostname()), (1, "elsewhere")])
def test_a_lock_of_a_living_process_or_of_another_host_refuses_and_says_who_since_when(
    world: World, pid: int, hostname: str
) -> None:
    lock_of(world, pid, hostname)
    with pytest.raises(EngineError, match=rf"kim@{hostname} \(pid {pid}\) since 2099-01-01"):
        world.up()
    assert not world.files.checkpoint.exists()


def test_a_dead_lock_of_this_host_is_said_and_taken_over(world: World) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    path = lock_of(world, ended.pid, socket.gethostname())
    world.program = two
    plan = world.up()
    assert any("removed the lock of kim@" in said.message for said in plan.diagnostics)
    assert not path.exists()
    assert not list(world.files.locks.glob("*.json"))


# Journals


def leave_journal(world: World, base: str) -> Path:
    """A journal as a run leaves it that died after one create and in the middle of another."""
    path = world.files.journals / "dead.jsonl"
    urn = "urn:pulumi:ci::tidepool::fake:index:Vm::"
    provider = world.state["default_1_0_0"]
    reference = f"{provider['urn']}::{provider['id']}"
    fields = {"custom": True, "type": "fake:index:Vm", "provider": reference, "inputs": {"size": "small"}}
    journal = Journal(path, base)
    done = {"urn": f"{urn}done", **fields, "inputs": {"size": "small", "name": "done"}}
    number = journal.begin("creating", done)
    journal.note([{**done, "id": "vm/done", "outputs": {"link": "https://fake/vm/done"}}], ended=number)
    journal.begin("creating", {"urn": f"{urn}open", **fields, "inputs": {"size": "small", "name": "open"}})
    journal.close()
    world.cloud.things["vm/done"] = {"name": "done", "size": "small"}
    world.cloud.things["vm/open"] = {"name": "open", "size": "small"}
    return path


def digest(world: World) -> str:
    return hashlib.sha256(world.files.checkpoint.read_bytes()).hexdigest()


def three() -> None:
    for name in ("a", "done", "open"):
        Vm(name)


def test_a_journal_that_a_dead_run_left_is_read_by_everyone(world: World) -> None:
    world.run(lambda: Vm("a"))
    path = leave_journal(world, digest(world))
    exported = world.engine().export()["deployment"]
    assert any(one["urn"].endswith("::done") for one in exported["resources"])
    assert exported["pending_operations"][0]["type"] == "creating"
    world.program = three
    assert not ops(world.preview())
    assert path.exists()
    assert not ops(world.run(three))
    assert not path.exists()
    assert {"done", "open"} <= set(world.state)
    assert world.cloud.verbs("create") == ["create vm/a"]


def test_a_journal_from_before_another_programs_change_adds_only_what_is_new(world: World) -> None:
    world.run(lambda: Vm("a"))
    leave_journal(world, "something before")
    world.program = three
    plan = world.up()
    assert any("changed by another program" in said.message for said in plan.diagnostics)
    assert world.cloud.verbs("create") == ["create vm/a"]
    assert {"done", "open"} <= set(world.state)


# Properties


LEAVES = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8)
VALUES = st.deferred(
    lambda: (
        LEAVES
        | LEAVES.map(Secret)
        | st.lists(VALUES, max_size=2)
        | st.dictionaries(st.text(max_size=4), VALUES, max_size=2)
    )
)


@given(values=st.dictionaries(st.text(min_size=1, max_size=4), VALUES, max_size=4))
def test_every_value_survives_the_state(values: dict) -> None:
    vault = Vault(lambda: "x", None)
    state = ResourceState(urn="urn:pulumi:s::p::t::n", type="t", custom=True, inputs=values, outputs=values)
    assert decode(json.loads(json.dumps(encode(state, vault))), vault) == state


def test_the_order_of_a_checkpoint_has_everything_after_what_it_refers_to() -> None:
    def state(name: str, *on: str, **more: Any) -> ResourceState:
        return ResourceState(
            urn=f"u::p::t::{name}", type="t", custom=True, dependencies=tuple(f"u::p::t::{one}" for one in on), **more
        )

    given_order = [
        state("c", "b"),
        state("b", "a"),
        state("x", "gone"),
        state("b", "a", delete=True, id="old"),
        state("a"),
    ]
    found = checkpoint.ordered(given_order)
    names = [one.urn[-1] + ("!" if one.delete else "") for one in found]
    assert names.index("a") < names.index("b") < names.index("c")
    assert names[4] == "b!"
    assert found[names.index("x")].dependencies == ()


def test_only_file_backends_are_read() -> None:
    with pytest.raises(EngineError, match="gs://bucket"):
        Backend.from_url("gs://bucket")
    assert Backend.from_url("file:///a%20b/c").root == Path("/a b/c")
    assert Backend.from_url("file://~").root == Path.home()
