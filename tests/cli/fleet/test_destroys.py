"""A destroy shows what goes, looks at protection before it asks, and waits for the jobs of the VMs that go.

It declares no VM while it works. However it ends, no manifest without VMs stays for a fleet that stays. The tests run
in order on one fleet.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.embedded import EmbeddedEngine
from infra.engines.standing import vm_urn
from infra.fleet.bundle import STUB
from infra.fleet.draining import DrainState, VmStanding
from infra.fleet.google import Api, clients, execute
from infra.fleet.records import Records
from infra.fleet.transition import declare_again, withdraw
from infra.model import bucket_names
from infra.model import fleet as slots_of
from infra.model.node import node_spec
from infra.model.plan import Plan
from infra.model.stack import load_stack
from tests.cli.conftest import Checkout
from tests.engines.standing_world import STACK

VMS = ["tpu-ci-us-west4-a-0", "tpu-ci-us-west4-a-1"]
LATE = "tpu-ci-us-west4-a-2"
MANIFEST = bucket_names.manifest_object("lone")


@pytest.fixture(scope="module")
def fleet(clouded: Checkout) -> Checkout:
    clouded.path("ci").unlink()  # it has the routing label of this stack's pool
    clouded.path("lone").write_text(STACK.format(count=2, accelerator="v5litepod-4"))
    clouded.ok("up", "lone")
    return clouded


@pytest.fixture
def records(fleet: Checkout) -> Iterator[Records]:
    with clients("my-lab", url(fleet)) as google:
        yield Records(google=google, bucket="lab-records")


def url(fleet: Checkout) -> str:
    return fleet.json("cloud", "status")["url"]


def declared_vms(fleet: Checkout) -> list[str]:
    return [slot["name"] for slot in fleet.json("manifest", "show", "lone")["manifest"]["slots"]]


def standing(fleet: Checkout) -> int:
    return sum(fleet.json("cloud", "status")["nodes"].values())


def made_by_the_controller(fleet: Checkout) -> None:
    """A third declared VM, which the state lacks."""
    fleet.path("lone").write_text(STACK.format(count=3, accelerator="v5litepod-4"))
    config = load_stack(fleet.root, "lone")
    slot = slots_of.slots(config)[2]
    body = node_spec(config, slot, startup_script=STUB.read_text(encoding="utf-8")).to_api()
    with clients("my-lab", url(fleet)) as google:
        api = google.api(Api.TPU).projects().locations().nodes()
        execute(api.create(parent="projects/my-lab/locations/us-west4-a", nodeId=slot.name, body=body), "making it")
    fleet.ok("cloud", "clock", "--advance", "10m")


def test_protection_is_looked_at_before_anybody_is_asked(fleet: Checkout) -> None:
    refused = fleet.run("destroy", "lone")
    assert refused.exit_code == 1
    assert "is protected, so nothing is deleted" in refused.stdout
    assert "next: ./tidepool destroy lone --exclude-protected, which leaves what is protected" in refused.stdout
    assert refused.stdout.lower().count("deleted") == 1, "the refusal is said once"
    assert "--yes" not in refused.output


def test_a_destroy_that_fails_half_way_declares_the_vms_again(fleet: Checkout) -> None:
    fleet.ok("cloud", "fail", "error", "--method", "tpu*.nodes.delete", "--code", "403")
    failed = fleet.run("destroy", "lone", "--yes", "--exclude-protected")
    fleet.ok("cloud", "fail", "--mend-all")
    assert failed.exit_code == 1
    assert "so the manifest declares the fleet again" in failed.output
    assert declared_vms(fleet) == VMS
    fleet.ok("up", "lone")


def test_an_up_after_a_destroy_that_was_killed_writes_the_manifest_again(fleet: Checkout) -> None:
    withdraw(load_stack(fleet.root, "lone"), url(fleet))
    assert declared_vms(fleet) == []
    for changed in ({MANIFEST: "update"}, {}):
        steps = fleet.json("up", "lone")["steps"]
        assert {step["name"]: step["op"] for step in steps if step["op"] not in ("same", "read")} == changed
        assert declared_vms(fleet) == VMS


def test_a_withdrawn_manifest_that_another_wrote_since_is_theirs(fleet: Checkout, records: Records) -> None:
    config = load_stack(fleet.root, "lone")
    withdrawn = withdraw(config, url(fleet))
    assert withdrawn is not None
    assert withdraw(config, url(fleet)) is None, "the second has nothing to put back"
    records.update(MANIFEST, lambda body: {**(body or {}), "owner": "others"})
    assert not declare_again(config, url(fleet), withdrawn)
    assert declared_vms(fleet) == []
    fleet.ok("up", "lone")


def test_a_job_that_runs_on_keeps_everything(fleet: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = (VmStanding(vm=VMS[0], standing=DrainState.BUSY, why="job slow"),)
    monkeypatch.setattr("infra.operations.fleet.drained.wait_for_jobs", lambda *_: busy)
    failed = fleet.run("destroy", "lone", "--exclude-protected", "--yes")
    assert failed.exit_code == 1
    assert f"not quiet: {VMS[0]}: job slow; run destroy again later" in " ".join(failed.output.split())
    assert standing(fleet) == 2
    (found,) = fleet.json("status", "lone")["stacks"]
    assert found["drains"] == []


def test_a_target_that_the_state_lacks_is_shown_drained_adopted_and_deleted(fleet: Checkout) -> None:
    made_by_the_controller(fleet)
    urn = vm_urn("lone", LATE)
    shown = fleet.run("destroy", "lone", "--target", urn)
    assert (shown.exit_code, LATE in shown.stdout) == (2, True), shown.output
    document = fleet.json("destroy", "lone", "--target", urn, "--yes")
    deleted = [step["name"] for step in document["steps"] if (step["op"], step["status"]) == ("delete", "done")]
    assert deleted == [LATE]
    assert standing(fleet) == 2


def test_without_draining_a_wrong_stack_file_keeps_the_controller_away_all_the_same(
    fleet: Checkout, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is wrong where it says where the records are, and there is not a commit to take it from."""
    seen: list[tuple[object, object]] = []

    def deletes(self: EmbeddedEngine, *_: object) -> Plan:
        manifest, lease = (records.body(name) or {} for name in (MANIFEST, bucket_names.lease_object("lone")))
        seen.append((manifest["slots"], lease["kind"]))
        return Plan(stack="lone", engine=self.name.value, cloud="local", steps=())

    right = fleet.text("lone")
    monkeypatch.setattr(EmbeddedEngine, "destroy", deletes)
    for wrong in (right.replace("trust: member", "trust: nobody"), right.replace("name: lab-records", "name: LAB")):
        fleet.path("lone").write_text(wrong)
        fleet.ok("destroy", "lone", "--exclude-protected", "--yes", "--no-drain")
    fleet.path("lone").write_text(right)
    assert seen == [([], "destroy")] * 2, "declared is nothing, and the controller waits"


def test_a_manifest_that_cannot_be_read_cuts_off_no_job_unasked_and_stops_no_status(
    fleet: Checkout, records: Records
) -> None:
    records.update(MANIFEST, lambda body: {**(body or {}), "slots": [{}]})
    refused = fleet.run("destroy", "lone", "--exclude-protected", "--yes")
    stood = fleet.json("status", "lone")["stacks"][0]
    assert refused.exit_code == 1
    assert "cannot tell what runs on the VMs to delete" in " ".join(refused.output.split())
    assert "--no-drain" in refused.output
    assert (stood["healthy"], stood["unapplied"]) == (None, None)
    assert stood["problems"]
