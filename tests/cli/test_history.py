"""`./tidepool history` and `diff`, on a fleet that was applied, edited, applied again, and once with a failure."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from infra.fleet.history import Verb
from infra.model.plan import Op, Plan, Status, Step, StepEnded
from infra.operations.declared.stack_file import declared
from infra.operations.errors import Interruption
from infra.operations.session import open_session
from infra.operations.stacks.history import history, kept, unsettled_since
from infra.operations.stacks.history_words import came_to
from tests.cli.conftest import Checkout

ZONE = "        us-west4-a: 2\n"
GROWN = "        us-west4-a: 3\n"


@pytest.fixture(scope="module")
def applied(checkout: Checkout) -> Checkout:
    """ci up, then with a VM more, then up once more with nothing to do, then with a VM more that fails."""
    checkout.ok("up", "ci")
    checkout.edit("ci", ZONE, GROWN)
    checkout.ok("up", "ci")
    checkout.edit("ci", GROWN, "        us-west4-a: 4\n")
    checkout.ok("cloud", "limit", "us-west4-a", "v5e", "12")
    assert checkout.run("up", "ci").exit_code == 1
    checkout.edit("ci", "        us-west4-a: 4\n", GROWN)
    return checkout


def entries(checkout: Checkout, *more: str) -> list[dict[str, Any]]:
    return checkout.json("history", "ci", *more)["entries"]


def test_each_up_that_changed_something_is_told_newest_first(applied: Checkout) -> None:
    found = entries(applied)
    assert [(each["verb"], each["result"]) for each in found] == [("up", "failed"), ("up", "done"), ("up", "done")]
    assert found[1]["summary"] | {"same": 0} == {"create": 1, "update": 1, "same": 0}
    assert [each["id"] for each in found] == sorted((each["id"] for each in found), reverse=True)
    assert all(each["began"] <= each["ended"] for each in found)


def test_an_up_is_told_with_what_the_stack_file_said_otherwise(applied: Checkout) -> None:
    said = applied.ok("history", "ci").stdout
    assert "    pools[tpu-ci].zones.us-west4-a = 2 -> 3\n" in said
    assert "  up failed: " in said
    assert entries(applied)[-1]["edit"] is None


def test_without_entries_the_file_is_compared_with_the_last_complete_apply(applied: Checkout) -> None:
    failed, complete, _ = (each["id"] for each in entries(applied))
    meaning = applied.json("diff", "ci")
    assert (meaning["before"], meaning["after"], meaning["keys"]) == (complete, None, [])
    (undone,) = meaning["unsettled"]
    assert (undone["id"], undone["result"]) == (failed, "failed")
    assert [(each["op"], each["name"]) for each in undone["changes"]] == [("create", "tpu-ci-us-west4-a-3")]
    said = applied.ok("diff", "ci").stdout
    assert "nothing changed" not in said
    assert f"{failed}  up failed: 1 updated, 1 not done\n    + tpu-ci-us-west4-a-3 (tpu.V2Vm), failed\n" in said
    assert said.endswith("next: ./tidepool preview ci shows what up does to the cloud as it is\n")


@pytest.mark.parametrize("command", [("history", "ci", "1999"), ("diff", "ci", "1999")])
def test_an_entry_that_is_not_there_is_refused(applied: Checkout, command: tuple[str, ...]) -> None:
    refused = applied.run(*command)
    assert refused.exit_code == 2
    assert "no entry of the history begins with '1999'" in refused.stderr


def steps(*names: str) -> Plan:
    made = (Step(op=Op.DELETE, urn=f"urn:{name}", type="gcp:tpu/v2Vm:V2Vm", name=name) for name in names)
    return Plan(stack="ci", engine="local", cloud="local", steps=tuple(made))


@pytest.mark.parametrize("ends", [Interruption, RuntimeError, None])
def test_an_apply_that_did_not_end_leaves_the_steps_that_are_still_to_do(
    applied: Checkout, monkeypatch: pytest.MonkeyPatch, ends: type[Exception] | None
) -> None:
    """ends: how; None for a process that is killed, whose entry stays as it was written first."""
    for name, value in applied.environ.items():
        monkeypatch.setenv(name, value)
    session, wanted, plan = open_session("ci"), declared("ci").config, steps("a", "b", "c")
    with suppress(Interruption, RuntimeError), kept(wanted, session, Verb.UP, plan) as entry:
        entry.through(None)(StepEnded(step=replace(plan.steps[0], status=Status.DONE)))
        if ends:
            raise ends("ended")
        newest = history(wanted, session)[0]
        assert [each.status for each in newest.changes] == [Status.PLANNED] * 3
        assert unsettled_since((newest,), newest) == (newest,)
        entry.ran(replace(plan, steps=()))
    if ends:
        newest = history(wanted, session)[0]
        assert [each.status for each in newest.changes] == [Status.DONE, Status.PLANNED, Status.PLANNED]
        assert came_to(newest) == "1 deleted, 2 not done"
        assert applied.json("diff", "ci")["unsettled"][0]["id"] == newest.id
