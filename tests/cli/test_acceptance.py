"""What editing one number does to the ci stack, by command: real stack files, a real local cloud, no pulumi CLI.

The tests of this module run in order on one fleet, and each leaves it as it found it: nine slices, all READY.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.cli.conftest import Checkout

COUNT = "        us-west4-a: 2\n"
MORE = "tpu-ci-us-west4-a-2"
MANIFEST = ("update", "manifests/ci.json")


@contextmanager
def _edited(fleet: Checkout, before: str, after: str) -> Generator[None]:
    good = fleet.text("ci")
    fleet.edit("ci", before, after)
    try:
        yield
    finally:
        fleet.path("ci").write_text(good)


def _changes(document: dict[str, Any]) -> list[tuple[str, str]]:
    return sorted((step["op"], step["name"]) for step in document["steps"] if step["op"] != "same")


def test_a_second_up_and_a_preview_change_nothing(upped: Checkout) -> None:
    document = upped.json("up", "ci")
    assert (_changes(document), document["exit"], document["manifest"]["changed"]) == ([], 0, False)
    assert sum(pool["slices"] for pool in document["pools"]) == 9
    assert all(pool["states"] == {"READY": pool["slices"]} for pool in document["pools"])
    plan = upped.json("preview", "ci")
    assert plan["summary"] == dict.fromkeys(("create", "update", "replace", "delete", "adopt", "retain"), 0) | {
        "same": len(plan["steps"])
    }
    assert (plan["stack"], plan["engine"], plan["cloud"], len(plan["capacity"])) == ("ci", "local", "local", 6)


def test_one_more_slice_is_one_create_and_one_less_is_one_delete(upped: Checkout) -> None:
    with _edited(upped, COUNT, COUNT.replace("2", "3")):
        document = upped.json("up", "ci")
    assert _changes(document) == [("create", MORE), MANIFEST]
    (row,) = (each for each in document["capacity"] if each["zone"] == "us-west4-a")
    assert row == {
        "pool": "tpu-ci", "zone": "us-west4-a", "accelerator": "v5litepod-4", "capacity": "preemptible",
        "slices": {"before": 2, "after": 3}, "hosts": {"before": 2, "after": 3}, "chips": {"before": 8, "after": 12},
    }  # fmt: skip
    assert [step["status"] for step in document["steps"] if step["op"] == "create"] == ["done"]
    assert _changes(upped.json("up", "ci")) == [("delete", MORE), MANIFEST]


def test_an_edit_between_plan_and_apply_is_refused(upped: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    def edit_while_asked(*_: object, **__: object) -> None:
        upped.edit("ci", COUNT, COUNT.replace("2", "9"))

    monkeypatch.setattr("infra.cli.call.Invocation.ask_before_google", edit_while_asked)
    good = upped.text("ci")
    result = upped.run("up", "ci")
    upped.path("ci").write_text(good)
    assert result.exit_code == 1
    assert "was edited while its plan was shown; nothing was changed" in result.stderr


def test_a_failing_zone_costs_the_others_nothing_and_the_manifest_is_published(upped: Checkout) -> None:
    upped.ok("cloud", "fail", "stockout", "--zone", "us-west4-a")
    with _edited(upped, COUNT, COUNT.replace("2", "3")), _edited(upped, "us-central1-a: 1", "us-central1-a: 2"):
        result = upped.run("up", "ci")
        assert result.exit_code == 1
        assert f"FAILED create {MORE}: " in result.stdout
        assert "ci: 1 created, 1 updated, 1 failed, " in result.stdout
        assert "manifest published: " in result.stdout
        assert "2 READY, 1 MISSING" in " ".join(result.stdout.split())
        upped.ok("cloud", "fail", "--mend-all")
        assert _changes(upped.json("up", "ci")) == [("create", MORE)]
    assert [op for op, _ in _changes(upped.json("up", "ci"))] == ["delete", "delete", "update"]


def test_outputs_name_pools_registries_identities_and_manifest(upped: Checkout) -> None:
    outputs = upped.json("output", "ci")
    assert {"pools", "registries", "identities", "manifest"} <= set(outputs)
    assert outputs["pools"]["tpu-v4"]["vms"] == ["tpu-v4-us-central2-b-0"]
    assert upped.json("output", "ci", "manifest") == outputs["manifest"]
    missing = upped.run("output", "ci", "nothing")
    assert (missing.exit_code, "it has builds, github, identities" in missing.stderr) == (1, True)


def test_a_terminal_gets_live_rows_and_colour(upped: Checkout) -> None:
    with _edited(upped, COUNT, COUNT.replace("2", "3")):
        code, drawn = upped.at_terminal("up", "ci")
    assert (code, "\x1b[" in drawn) == (0, True)
    assert re.search(r"[0-2]/2 done, \d at work, 0:\d\d", re.sub(r"\x1b\[[0-9;]*m", "", drawn))
    upped.ok("up", "ci")


def test_a_preempted_vm_is_no_change_but_shows(upped: Checkout) -> None:
    upped.ok("cloud", "preempt", "tpu-ci-us-east1-c-0")
    assert upped.json("cloud", "status")["nodes"] == {"PREEMPTED": 1, "READY": 8}
    assert "1 READY, 1 PREEMPTED" in " ".join(upped.ok("refresh", "ci").stdout.split())
    document = upped.json("up", "ci")
    assert _changes(document) == []
    assert {"PREEMPTED": 1, "READY": 1} in [pool["states"] for pool in document["pools"]]


def test_destroy_leaves_what_is_protected_and_up_makes_the_rest_again(upped: Checkout) -> None:
    document = upped.json("destroy", "ci", "--yes", "--exclude-protected")
    deleted = {step["type"] for step in document["steps"] if step["op"] == "delete"}
    assert "gcp:tpu/v2Vm:V2Vm" in deleted
    assert "gcp:artifactregistry/repository:Repository" not in deleted
    assert upped.json("cloud", "status")["nodes"] == {}
    again, gone = upped.json("up", "ci"), document["summary"]
    assert again["summary"]["create"] == gone["delete"] + gone["retain"], "a bundle that stays is declared again"
    assert upped.json("cloud", "status")["nodes"] == {"READY": 9}
