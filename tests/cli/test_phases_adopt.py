"""A phased `up` takes in what the state lacks before it deletes anything: a pass that deletes works from the state."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Checkout
from tests.cli.test_phases import LIMIT, STACK

OLD = [f"old-us-central1-a-{index}" for index in range(4)]


@pytest.fixture(scope="module")
def full(clouded: Checkout) -> Checkout:
    """A full reservation, of whose VMs the state has lost one that is to go first."""
    clouded.ok("cloud", "limit", "--project", "my-lab", *LIMIT)
    clouded.path("swap").write_text(STACK.replace("us-central1-a: 4}", "us-central1-a: 3}"))
    clouded.ok("up", "swap")
    clouded.path("swap").write_text(STACK)
    clouded.ok("cloud", "fail", "stockout", "--zone", "us-central1-a")
    assert clouded.run("up", "swap").exit_code == 1
    clouded.ok("cloud", "fail", "--mend-all")
    clouded.ok("reconcile", "swap", "--cloud", "local")
    clouded.ok("cloud", "clock", "--advance", "10m")
    assert clouded.json("cloud", "status")["nodes"] == {"READY": 4}, "a controller has made the fourth"
    return clouded


def test_one_up_adopts_then_shrinks_and_grows(full: Checkout) -> None:
    spot = STACK.replace("{reserved: lab}", "spot", 1).replace("us-central1-a: 0}", "us-central1-a: 2}")
    full.path("swap").write_text(spot)
    order = full.json("preview", "swap")["phases"]["order"]
    assert order[0] == {"work": "shrink", "deleted": OLD, "replaced": [], "created": [], "resized": []}
    said = full.ok("up", "swap").stdout
    assert said.index(f"adopted {OLD[3]} ") < said.index(f"deleted {OLD[3]} ") < said.index("phase 2 of 2")
    assert not [entry for entry in full.json("cloud", "log")["entries"] if entry["status"] == 429]
    assert full.json("cloud", "status")["nodes"] == {"READY": 6}
