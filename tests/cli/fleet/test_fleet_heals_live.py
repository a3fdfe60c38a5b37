"""The official CLI beside the controller and the drains. Runs where it and its provider are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.cloud import daemon
from infra.engines.choose import observe
from tests.cli.conftest import ROOT, Checkout
from tests.lacking import lacking
from tests.synthetic_lab import lend

pytestmark = pytest.mark.live

LOST = ["tpu-ci-us-west4-a-0", "tpu-ci-us-east1-c-1", "tpu-v4-us-central2-b-0"]
PLACE = ("--engine", "pulumi", "--cloud", "local")


class _WithCli(Checkout):
    """The same on a machine that has the CLI."""

    @property
    def environ(self) -> dict[str, str]:
        return super().environ | {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}


@pytest.fixture
def fleet(tmp_path: Path, tool: Callable[[str], str]) -> Iterator[Checkout]:
    """The ci stack, made by the official engine and swept once."""
    tool("pulumi")
    if observe().plugin is None:
        lacking("the pulumi CLI has no gcp plugin")
    root = lend(tmp_path / "checkout")
    (root / ".venv").symlink_to(ROOT / ".venv")
    checkout = _WithCli(root)
    checkout.ok("up", "ci", *PLACE)
    checkout.ok("reconcile", "ci", "--cloud", "local")
    yield checkout
    daemon.stop(root / ".tidepool")


def test_after_a_heal_the_official_engine_shows_no_difference(fleet: Checkout) -> None:
    for vm in LOST:
        fleet.ok("cloud", "preempt", vm)
    healed = fleet.json("reconcile", "ci", "--cloud", "local")
    assert sorted(each["subject"] for each in healed["actions"] if each["do"] == "recreate") == sorted(LOST)
    fleet.ok("cloud", "clock", "--advance", "5m")
    for options in ((), ("--refresh",)):
        plan = fleet.json("preview", "ci", *PLACE, *options)
        assert {step["op"] for step in plan["steps"]} == {"same"}, options
    assert len([step for step in plan["steps"] if step["type"] == "gcp:tpu/v2Vm:V2Vm"]) == 9


def test_up_by_the_official_engine_waits_for_the_job_of_a_vm_that_goes(fleet: Checkout) -> None:
    fleet.ok("cloud", "job", "queue", "marin-community/marin", "tpu-v4", "--for", "4m", "--name", "slow")
    fleet.edit("ci", "us-central2-b: 1", "us-central2-b: 0")
    said = fleet.ok("up", "ci", *PLACE).output
    waited = said.index(f"waiting for {LOST[2]}: job slow")
    assert said.index(f"draining 1 VM ({LOST[2]}) before they are deleted") < waited < said.index(f"deleted {LOST[2]}")
