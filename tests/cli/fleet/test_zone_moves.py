"""A pool that moves to another zone serves all the while: what is new is made and serves before what goes is drained.

The tests run in order on one fleet of the local cloud, whose VMs obey their orders by themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.cloud.control import Control
from infra.fleet.arriving import serves
from infra.fleet.controller.desired import DesiredSlot
from infra.operations.fleet.looks import Fleet
from tests.cli.conftest import Checkout

GOES = ["tpu-ci-us-east1-c-0", "tpu-ci-us-east1-c-1"]
COMES = ["tpu-ci-us-central1-a-0", "tpu-ci-us-central1-a-1"]


@pytest.fixture(scope="module")
def fleet(upped: Checkout) -> Checkout:
    """The ci stack, every runner online."""
    upped.ok("reconcile", "ci")
    upped.ok("cloud", "clock", "--advance", "10m")
    return upped


def online(fleet: Checkout) -> set[str]:
    """VMs whose runner takes jobs."""
    return {guest["vm"] for guest in fleet.json("cloud", "guests")["guests"] if guest["phase"] in ("idle", "busy")}


def standing(fleet: Checkout) -> set[str]:
    nodes = Control(fleet.json("cloud", "status")["url"]).nodes()
    return {node["name"].rpartition("/")[2] for node in nodes}


def only_starts_vms(fleet: Checkout) -> bool:
    """Whether a sweep finds nothing to do but to tell new VMs what they run."""
    return {each["do"] for each in fleet.json("reconcile", "ci")["actions"]} <= {"assign"}


def at_each_wait(monkeypatch: pytest.MonkeyPatch, look: Callable[[Fleet], None]) -> None:
    pause = Fleet.pause

    def watched(fleet: Fleet, seconds: float) -> None:
        look(fleet)
        pause(fleet, seconds)

    monkeypatch.setattr(Fleet, "pause", watched)


def who_serves(monkeypatch: pytest.MonkeyPatch, may: Callable[[DesiredSlot], bool]) -> None:
    """Guests of the local cloud serve at once; let those that may not do it later or never."""
    monkeypatch.setattr("infra.fleet.arriving.serves", lambda slot, *seen: may(slot) and serves(slot, *seen))


def test_one_up_makes_waits_drains_and_deletes(fleet: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.edit("ci", "us-east1-c: 2", "us-central1-a: 2")
    seen: list[set[str]] = []

    def swept(_: Fleet) -> None:
        seen.append(online(fleet))
        assert only_starts_vms(fleet), "the lease is given back while what is new starts"

    at_each_wait(monkeypatch, swept)
    who_serves(monkeypatch, lambda slot: slot.name not in COMES or len(seen) >= 3)
    said = fleet.ok("up", "ci").stdout
    places = [
        said.index(each)
        for each in (
            "phase 1 of 2, grow",
            f"+ created 2 tpu.V2Vm: {COMES[1][:-1]}{{0..1}}",
            "phase 2 of 2, retire",
            "waiting until 2 VMs (tpu-ci-us-central1-a-{0..1}) serve",
            "draining 2 VMs (tpu-ci-us-east1-c-{0..1})",
            "~ updated manifests/ci.json",
            f"- deleted {GOES[1]}",
        )
    ]
    assert places == sorted(places)
    assert set(GOES) <= seen[0], "the old ones serve while the new ones boot"
    assert all(set(GOES) <= each or set(COMES) <= each for each in seen)
    assert not set(GOES) & standing(fleet)


@pytest.mark.heavy
def test_what_never_serves_takes_nobodys_place(fleet: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.edit("ci", "europe-west4-a: 1", "us-east5-b: 1")
    who_serves(monkeypatch, lambda slot: "us-east5" not in slot.name)
    monkeypatch.setattr("infra.operations.stacks.holding.EVERY", 120)
    failed = fleet.run("up", "ci")
    assert failed.exit_code == 1
    assert "only the VMs to delete serve" in " ".join(failed.output.split())
    assert only_starts_vms(fleet)
