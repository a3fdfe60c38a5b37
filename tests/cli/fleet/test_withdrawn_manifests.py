"""A destroy declares no VM while it works. However it ends, no manifest without VMs stays for a fleet that stays.

The tests run in order on one fleet.
"""

from __future__ import annotations

import pytest

from infra.fleet.google import clients
from infra.fleet.records import Records
from infra.fleet.transition import declare_again, withdraw
from infra.model import bucket_names
from infra.model.schema import StackConfig
from infra.model.stack import load_stack
from tests.cli.conftest import Checkout
from tests.engines.standing_world import STACK

VMS = ["tpu-ci-us-west4-a-0", "tpu-ci-us-west4-a-1"]
MANIFEST = bucket_names.manifest_object("lone")


@pytest.fixture(scope="module")
def fleet(clouded: Checkout) -> Checkout:
    text = STACK.format(count=2, accelerator="v5litepod-4")
    clouded.path("lone").write_text(text.replace("{name: tpu-ci,", "{name: tpu-ci, label: lone,"))
    clouded.ok("up", "lone")
    return clouded


@pytest.fixture
def endpoint(fleet: Checkout) -> str:
    return fleet.json("cloud", "status")["url"]


@pytest.fixture
def config(fleet: Checkout) -> StackConfig:
    return load_stack(fleet.root, "lone")


def declared_vms(fleet: Checkout) -> list[str]:
    return [slot["name"] for slot in fleet.json("manifest", "show", "lone")["manifest"]["slots"]]


def records_up(fleet: Checkout) -> dict[str, str]:
    """What `up` changed of the manifest, and of all else."""
    steps = fleet.json("up", "lone")["steps"]
    return {step["name"]: step["op"] for step in steps if step["op"] not in ("same", "read")}


def test_a_destroy_that_fails_half_way_declares_the_vms_again(fleet: Checkout) -> None:
    fleet.ok("cloud", "fail", "error", "--method", "tpu*.nodes.delete", "--code", "403")
    failed = fleet.run("destroy", "lone", "--yes", "--exclude-protected")
    fleet.ok("cloud", "fail", "--mend-all")
    assert failed.exit_code == 1
    assert "so the manifest declares the fleet again" in failed.output
    assert declared_vms(fleet) == VMS


def test_an_up_after_a_destroy_that_was_killed_writes_the_manifest_again(
    fleet: Checkout, config: StackConfig, endpoint: str
) -> None:
    fleet.ok("up", "lone")
    withdraw(config, endpoint)
    assert declared_vms(fleet) == []
    assert records_up(fleet) == {MANIFEST: "update"}
    assert declared_vms(fleet) == VMS
    assert records_up(fleet) == {}


def test_a_withdrawn_manifest_that_another_wrote_since_is_theirs(
    fleet: Checkout, config: StackConfig, endpoint: str
) -> None:
    withdrawn = withdraw(config, endpoint)
    assert withdrawn is not None
    assert withdraw(config, endpoint) is None, "the second has nothing to put back"
    with clients(config.project, endpoint) as google:
        records = Records(google=google, bucket=config.bucket.name)
        records.update(MANIFEST, lambda body: {**(body or {}), "owner": "others"})
    assert not declare_again(config, endpoint, withdrawn)
    assert declared_vms(fleet) == []
    fleet.ok("up", "lone")
