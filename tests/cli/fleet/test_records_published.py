"""An edit that changes no VM reaches the fleet bucket by the commands of the apply workflow, and an apply that ends
badly has published.

The tests run in order on one fleet.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.fleet.bundle import STUB, runner_bundle
from infra.program import records as program_records
from tests.cli.conftest import Checkout

LABELS = "      labels: [tpu, self-hosted]\n"
MORE_LABELS = "      labels: [tpu, self-hosted, fast]\n"
QUIET = ("same", "read")


@pytest.fixture(scope="module")
def fleet(upped: Checkout) -> Checkout:
    return upped


def slots(fleet: Checkout) -> list[dict[str, Any]]:
    return fleet.json("manifest", "show", "ci")["manifest"]["slots"]


def digest(fleet: Checkout, plan: dict[str, Any]) -> dict[str, Any]:
    """As the plan and the apply workflow take it of a preview that was kept."""
    kept: Path = fleet.home / "ci.json"
    kept.write_text(json.dumps(plan))
    return fleet.json("plan", "digest", str(kept))


def edit(fleet: Checkout, before: str, after: str) -> None:
    """Change the first of several equal lines."""
    path = fleet.path("ci")
    path.write_text(path.read_text().replace(before, after, 1))


def test_a_label_alone_goes_the_way_of_the_apply_workflow_into_the_bucket(fleet: Checkout) -> None:
    before = digest(fleet, fleet.json("preview", "ci"))
    edit(fleet, LABELS, MORE_LABELS)
    plan = fleet.json("preview", "ci")
    assert {step["name"]: step["op"] for step in plan["steps"] if step["op"] not in QUIET} == {
        "records": "update",
        "manifests/ci.json": "update",
    }
    assert [change["says"] for change in plan["records"]] == ["runner labels of pool tpu-ci change: added fast"]
    reviewed = digest(fleet, plan)
    assert (before["steps"], reviewed["steps"], reviewed["losses"]) == (0, 2, []), "the workflow applies what has steps"
    assert reviewed["digest"] != before["digest"]
    assert "fast" not in slots(fleet)[0]["runner_labels"]
    done = fleet.json("up", "ci")
    assert done["manifest"]["changed"]
    assert {slot["pool"] for slot in slots(fleet) if "fast" in slot["runner_labels"]} == {"tpu-ci"}
    assert digest(fleet, fleet.json("preview", "ci"))["steps"] == 0
    again = fleet.ok("up", "ci", "--json")
    assert not json.loads(again.stdout)["manifest"]["changed"]
    assert "was changed by others" not in again.output


def test_what_only_follows_from_a_vm_more_is_not_told_twice(fleet: Checkout) -> None:
    edit(fleet, "us-west4-a: 2", "us-west4-a: 3")
    plan = fleet.json("preview", "ci")
    assert plan["records"] == []
    assert plan["summary"] == {**plan["summary"], "create": 1, "update": 1, "delete": 0}
    edit(fleet, "us-west4-a: 3", "us-west4-a: 2")


def test_another_bundle_is_told_as_a_rollout_and_the_old_one_stays_in_the_bucket(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = fleet.json("manifest", "show", "ci")["manifest"]["bundle"]
    (tmp_path / "start.sh").write_text("#!/bin/bash\n")
    (tmp_path / "stub.sh").write_text(STUB.read_text())
    monkeypatch.setattr(program_records, "runner_bundle", lambda: runner_bundle(tmp_path))
    plan = fleet.json("preview", "ci")
    assert [change["says"] for change in plan["records"]] == ["start-up bundle changes: VMs take it by rollout"]
    retained = [step["name"] for step in plan["steps"] if step["op"] == "retain"]
    assert retained == [f"runner/bundles/{old.removeprefix('sha256:')}.tar.gz"]
    assert (digest(fleet, plan)["steps"], digest(fleet, plan)["losses"]) == (5, []), "what stays is no loss"
    assert fleet.json("up", "ci")["manifest"]["bundle"] == f"sha256:{runner_bundle(tmp_path).sha256}"
    monkeypatch.undo()
    assert fleet.json("up", "ci")["manifest"]["bundle"] == old, "an object that is there already is written again"
