"""An edit that changes no VM reaches the fleet bucket by the commands of the apply workflow, and an apply that ends
badly has published.

The tests run in order on one fleet.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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
