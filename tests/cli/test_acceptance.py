"""The ci stack from nothing, and what editing one number does: real stack files, a real local cloud, no pulumi CLI.

The tests of this module run in order on one fleet, and each leaves it as it found it: nine slices, all READY.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from tests.cli.conftest import Checkout

COUNT = "        us-west4-a: 2\n"
VM = "gcp:tpu/v2Vm:V2Vm"

MANIFEST = ("update", "manifests/ci.json")


@pytest.fixture(scope="module")
def fleet(checkout: Checkout) -> Checkout:
    """The checkout with ci up."""
    with checkout.start("up", "ci") as process:
        said, problems = process.communicate(timeout=120)
    assert process.returncode == 0, problems
    assert "the embedded engine on the local cloud: the pulumi CLI is not on PATH" in said
    assert "started the local cloud at http://127.0.0.1:" in said
    assert re.search(r"^all pools +9 +9 +40 *$", said, re.MULTILINE)
    assert len(re.findall(r"^tpu-ci .* 2 +2 +8 +2 READY *$", said, re.MULTILINE)) == 3
    regions = ("europe-west4", "us-central1", "us-central2", "us-east1", "us-east5", "us-west4")
    _, _, registries = said.partition("registries in 6 regions:")
    assert all(region in registries for region in regions)
    assert "manifest published: gs://" in said
    return checkout


@contextmanager
def _edited(fleet: Checkout, before: str, after: str) -> Generator[None]:
    good = fleet.text("ci")
    fleet.edit("ci", before, after)
    try:
        yield
    finally:
        fleet.path("ci").write_text(good)


def _changes(document: dict) -> list[tuple[str, str]]:
    return sorted((step["op"], step["name"]) for step in document["steps"] if step["op"] != "same")


def _capacity(document: dict, pool: str, zone: str) -> dict:
    (row,) = (row for row in document["capacity"] if (row["pool"], row["zone"]) == (pool, zone))
    return row


def test_a_preview_then_has_only_same(fleet: Checkout) -> None:
    document = fleet.json("preview", "ci")
    assert {step["op"] for step in document["steps"]} == {"same"}
    counts = document["summary"]
    assert counts == {
        "create": 0,
        "update": 0,
        "replace": 0,
        "delete": 0,
        "adopt": 0,
        "retain": 0,
        "same": len(document["steps"]),
    }
    assert (document["stack"], document["engine"], document["cloud"]) == ("ci", "local", "local")
    assert len(document["capacity"]) == 6


def test_one_more_slice_is_one_create_and_one_less_is_one_delete(fleet: Checkout) -> None:
    vm = "tpu-ci-us-west4-a-2"
    with _edited(fleet, COUNT, COUNT.replace("2", "3")):
        said = fleet.ok("preview", "ci").stdout
        assert "\n  tpu-ci us-west4-a: 2 -> 3 VMs, 8 -> 12 chips\n" in said
        assert "ci: 1 to create, " in said
        document = fleet.json("up", "ci")
        assert _changes(document) == [("create", vm), MANIFEST]
        assert _capacity(document, "tpu-ci", "us-west4-a") == {
            "pool": "tpu-ci",
            "zone": "us-west4-a",
            "accelerator": "v5litepod-4",
            "capacity": "preemptible",
            "slices": {"before": 2, "after": 3},
            "hosts": {"before": 2, "after": 3},
            "chips": {"before": 8, "after": 12},
        }
        (made,) = (step for step in document["steps"] if step["op"] == "create")
        assert made["status"] == "done"
        assert made["seconds"] >= 0
    said = fleet.ok("up", "ci").stdout
    assert "- DELETE 1: gone for good (1 VM, 4 chips)\n  tpu.V2Vm (1)\n      tpu-ci-us-west4-a-2\n" in said
    assert "\n  tpu-ci us-west4-a: 3 -> 2 VMs, 12 -> 8 chips\n" in said
    assert "ci: 1 updated, 1 deleted, " in said


def test_an_edit_between_plan_and_apply_is_refused(fleet: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    def edit_while_asked(*_: object, **__: object) -> None:
        fleet.edit("ci", COUNT, COUNT.replace("2", "9"))

    monkeypatch.setattr("infra.cli.call.Invocation.ask_before_google", edit_while_asked)
    good = fleet.text("ci")
    result = fleet.run("up", "ci")
    fleet.path("ci").write_text(good)
    assert result.exit_code == 1
    assert "was edited while its plan was shown; nothing was changed" in result.stderr


def test_a_failing_zone_costs_the_others_nothing_and_the_manifest_is_published(fleet: Checkout) -> None:
    fleet.ok("cloud", "fail", "stockout", "--zone", "us-west4-a")
    with _edited(fleet, COUNT, COUNT.replace("2", "3")), _edited(fleet, "us-central1-a: 1", "us-central1-a: 2"):
        result = fleet.run("up", "ci")
        assert result.exit_code == 1
        assert "FAILED create tpu-ci-us-west4-a-2: " in result.stdout
        assert "There is no more capacity in the zone" in result.stdout
        assert "ci: 1 created, 1 updated, 1 failed, " in result.stdout
        assert "  tpu-ci us-west4-a: 1 of 1 VMs not done\n" in result.stdout
        assert "manifest published: " in result.stdout
        assert "2 READY, 1 MISSING" in " ".join(result.stdout.split())
        fleet.ok("cloud", "fail", "--mend-all")
        assert _changes(fleet.json("up", "ci")) == [("create", "tpu-ci-us-west4-a-2")]
    assert [op for op, _ in _changes(fleet.json("up", "ci"))] == ["delete", "delete", "update"]


def test_a_preempted_vm_is_no_change_but_shows(fleet: Checkout) -> None:
    said = fleet.ok("cloud", "preempt", "tpu-ci-us-east1-c-0").stdout
    assert "which up does not: ./tidepool reconcile ci" in said
    assert fleet.json("cloud", "status")["nodes"] == {"PREEMPTED": 1, "READY": 8}
    result = fleet.ok("refresh", "ci")
    assert "1 READY, 1 PREEMPTED" in " ".join(result.stdout.split())
    document = fleet.json("up", "ci")
    assert _changes(document) == []
    (pool,) = (pool for pool in document["pools"] if pool["zone"] == "us-east1-c")
    assert pool["states"] == {"PREEMPTED": 1, "READY": 1}


def test_outputs_name_pools_registries_identities_and_manifest(fleet: Checkout) -> None:
    outputs = fleet.json("output", "ci")
    assert {"pools", "registries", "identities", "manifest"} <= set(outputs)
    assert outputs["pools"]["tpu-v4"]["vms"] == ["tpu-v4-us-central2-b-0"]
    assert fleet.json("output", "ci", "manifest") == outputs["manifest"]
    missing = fleet.run("output", "ci", "nothing")
    assert missing.exit_code == 1
    assert "it has builds, github, identities, manifest, pools, registries" in missing.stderr


def test_a_person_is_asked_before_a_destroy_and_may_say_no(fleet: Checkout) -> None:
    code, drawn = fleet.at_terminal("destroy", "ci", "--exclude-protected", typed="n\n")
    assert code == 1
    assert "Deleting everything of ci that is not protected on the local cloud. Go on? [y/N]: " in drawn
    assert "error: answered no; nothing was changed" in drawn
    assert fleet.json("cloud", "status")["nodes"]["READY"] >= 7


def test_a_terminal_gets_live_rows_and_colour(fleet: Checkout) -> None:
    with _edited(fleet, COUNT, COUNT.replace("2", "3")):
        code, drawn = fleet.at_terminal("up", "ci")
    assert code == 0
    assert "\x1b[" in drawn
    assert re.search(r"[0-2]/2 done, \d at work, 0:\d\d", re.sub(r"\x1b\[[0-9;]*m", "", drawn))
    assert _changes(fleet.json("up", "ci")) == [("delete", "tpu-ci-us-west4-a-2"), MANIFEST]


def test_destroy_can_leave_what_is_protected(fleet: Checkout) -> None:
    document = fleet.json("destroy", "ci", "--yes", "--exclude-protected")
    deleted = {step["type"] for step in document["steps"] if step["op"] == "delete"}
    assert VM in deleted
    assert "gcp:artifactregistry/repository:Repository" not in deleted
    assert fleet.json("cloud", "status")["nodes"] == {}
    again = fleet.json("up", "ci")
    gone = document["summary"]
    assert again["summary"]["create"] == gone["delete"] + gone["retain"], "a bundle that stays is declared again"
    assert fleet.json("cloud", "status")["nodes"] == {"READY": 9}
