"""The ci stack from nothing, and what editing one number does: real stack files, a real local cloud, no pulumi CLI.

The tests of this module run in order on one fleet, and each leaves it as it found it: nine slices, all READY.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from bench.cloud.control import CloudClock, Control
from infra.fleet.controller.lease import LeaseKind, held
from infra.fleet.google import clients
from infra.fleet.records import Records
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


def test_a_second_up_changes_nothing(fleet: Checkout) -> None:
    document = fleet.json("up", "ci")
    assert _changes(document) == []
    assert document["exit"] == 0
    assert document["manifest"]["changed"] is False
    assert sum(pool["slices"] for pool in document["pools"]) == 9
    assert all(pool["states"] == {"READY": pool["slices"]} for pool in document["pools"])


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


def test_a_removed_zone_takes_exactly_its_vms(fleet: Checkout) -> None:
    with _edited(fleet, COUNT, ""):
        document = fleet.json("preview", "ci")
    assert _changes(document) == [("delete", "tpu-ci-us-west4-a-0"), ("delete", "tpu-ci-us-west4-a-1"), MANIFEST]
    assert _capacity(document, "tpu-ci", "us-west4-a")["chips"] == {"before": 8, "after": 0}


def test_another_accelerator_is_a_replacement_that_says_so(fleet: Checkout) -> None:
    with _edited(fleet, "accelerator: v6e-8", "accelerator: v6e-4"):
        said = fleet.ok("preview", "ci").stdout
    assert (
        "! REPLACE 1: each is deleted and created again; `up` waits for running jobs unless --no-drain (1 VM, 8 chips)"
        in said
    )
    assert "    acceleratorType: v6e-8 -> v6e-4  (forces the replacement)\n      tpu-v6e-europe-west4-a-0\n" in said


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


def test_without_a_controller_destroy_and_up_make_a_preempted_vm_again(fleet: Checkout) -> None:
    vm = "tpu-ci-us-east1-c-0"
    if fleet.json("cloud", "status")["nodes"] == {"READY": 9}:
        fleet.ok("cloud", "preempt", vm)
    assert _changes(fleet.json("destroy", "ci", "--yes", "--target", f"**::{vm}")) == [("delete", vm)]
    assert _changes(fleet.json("up", "ci")) == [("create", vm)]
    assert fleet.json("cloud", "status")["nodes"] == {"READY": 9}


def test_the_manifest_can_be_read(fleet: Checkout) -> None:
    assert len(fleet.json("manifest", "show", "ci")["manifest"]["slots"]) == 9


def test_outputs_name_pools_registries_identities_and_manifest(fleet: Checkout) -> None:
    outputs = fleet.json("output", "ci")
    assert {"pools", "registries", "identities", "manifest"} <= set(outputs)
    assert outputs["pools"]["tpu-v4"]["vms"] == ["tpu-v4-us-central2-b-0"]
    assert fleet.json("output", "ci", "manifest") == outputs["manifest"]
    missing = fleet.run("output", "ci", "nothing")
    assert missing.exit_code == 1
    assert "it has builds, github, identities, manifest, pools, registries" in missing.stderr


def test_destroy_asks_and_without_a_terminal_refuses(fleet: Checkout) -> None:
    result = fleet.run("destroy", "ci", "--exclude-protected")
    assert result.exit_code == 2
    assert "add --yes" in result.stderr
    assert fleet.json("cloud", "status")["nodes"]["READY"] >= 7


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


def test_destroy_keeps_everything_while_something_is_protected(fleet: Checkout) -> None:
    result = fleet.run("destroy", "ci", "--yes")
    assert result.exit_code == 1
    assert "resources are protected, so nothing is deleted" in result.stdout
    assert fleet.json("preview", "ci")["summary"]["create"] == 0


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


def test_a_targeted_destroy_takes_that_vm_alone(fleet: Checkout) -> None:
    (urn,) = (step["urn"] for step in fleet.json("preview", "ci")["steps"] if step["name"] == "tpu-v4-us-central2-b-0")
    document = fleet.json("destroy", "ci", "--yes", "--target", urn)
    assert _changes(document) == [("delete", "tpu-v4-us-central2-b-0")]
    assert _changes(fleet.json("up", "ci")) == [("create", "tpu-v4-us-central2-b-0")]


def test_an_unknown_target_is_told(fleet: Checkout) -> None:
    result = fleet.run("up", "ci", "--target", "urn:pulumi:ci::tidepool::x:y:Z::nobody")
    assert result.exit_code == 1
    assert "no such resource" in result.stderr


def test_one_reconcile_after_a_preemption_makes_the_vm_again_and_preview_shows_nothing(fleet: Checkout) -> None:
    control = Control(fleet.json("cloud", "status")["url"])
    before = next(node for node in control.nodes() if node["name"].endswith("/tpu-ci-us-west4-a-0"))
    control.preempt(before["name"])
    swept = fleet.json("reconcile", "ci", "--cloud", "local")
    assert [(each["do"], each["subject"], each["result"]) for each in swept["actions"] if each["do"] == "recreate"] == [
        ("recreate", "tpu-ci-us-west4-a-0", "done")
    ]
    control.advance(600)
    after = next(node for node in control.nodes() if node["name"] == before["name"])
    assert after["state"] == "READY"
    assert after["createTime"] > before["createTime"]
    preview = fleet.json("preview", "ci")
    assert [step for step in preview["steps"] if step["op"] != "same"] == []


def test_people_read_what_is_done_and_what_is_waited_for(fleet: Checkout) -> None:
    fleet.ok("cloud", "runner", "lose", "tpu-v4-us-central2-b-0")
    result = fleet.run("reconcile", "ci", "--cloud", "local")
    assert result.exit_code == 0, result.stderr
    assert "waiting tpu-v4-us-central2-b-0: it is READY and no runner of it is online (until " in result.stdout


def test_a_reconcile_while_up_works_is_refused_with_the_holder(fleet: Checkout) -> None:
    url = fleet.json("cloud", "status")["url"]
    document = json.loads(fleet.run("manifest", "show", "ci", "--json").stdout)["manifest"]
    with clients(document["project"], url) as google:
        records = Records(google=google, bucket=document["bucket"])
        with held(records, "ci", LeaseKind.UP, CloudClock(Control(url)), timedelta(minutes=1)):
            result = fleet.run("reconcile", "ci", "--cloud", "local")
    assert result.exit_code == 1
    assert ") holds the fleet of ci until" in result.stderr
