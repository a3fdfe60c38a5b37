"""A destroy shows what goes, looks at protection before it asks, and waits for the jobs of the VMs that go.

The tests run in order on one fleet.
"""

from __future__ import annotations

import pytest

from bench.embedded import EmbeddedEngine
from infra.engines.standing import vm_urn
from infra.fleet.bundle import STUB
from infra.fleet.draining import DrainState, VmStanding
from infra.fleet.google import Api, clients, execute
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.model import fleet as slots_of
from infra.model.node import node_spec
from infra.model.plan import Plan
from infra.model.stack import load_stack
from tests.cli.conftest import Checkout
from tests.engines.standing_world import STACK

VMS = ["tpu-ci-us-west4-a-0", "tpu-ci-us-west4-a-1"]
LATE = "tpu-ci-us-west4-a-2"


@pytest.fixture(scope="module")
def fleet(clouded: Checkout) -> Checkout:
    clouded.path("ci").unlink()  # it has the routing label of this stack's pool
    clouded.path("lone").write_text(STACK.format(count=2, accelerator="v5litepod-4"))
    clouded.ok("up", "lone")
    return clouded


def standing(fleet: Checkout) -> int:
    return sum(fleet.json("cloud", "status")["nodes"].values())


def made_by_the_controller(fleet: Checkout) -> None:
    """A third declared VM, which the state lacks."""
    fleet.path("lone").write_text(STACK.format(count=3, accelerator="v5litepod-4"))
    config = load_stack(fleet.root, "lone")
    slot = slots_of.slots(config)[2]
    body = node_spec(config, slot, startup_script=STUB.read_text(encoding="utf-8")).to_api()
    with clients("my-lab", fleet.json("cloud", "status")["url"]) as google:
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
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is wrong where it says where the records are, and there is not a commit to take it from."""
    seen: list[tuple[object, object]] = []

    def deletes(self: EmbeddedEngine, *_: object) -> Plan:
        with clients("my-lab", fleet.json("cloud", "status")["url"]) as google:
            records = Records(google=google, bucket="lab-records")
            manifest, lease = (
                records.read(name) for name in (bucket_names.manifest_object("lone"), bucket_names.lease_object("lone"))
            )
            assert manifest
            assert lease
            seen.append((manifest.body["slots"], lease.body["kind"]))
        return Plan(stack="lone", engine=self.name.value, cloud="local", steps=())

    right = fleet.text("lone")
    monkeypatch.setattr(EmbeddedEngine, "destroy", deletes)
    for wrong in (right.replace("trust: member", "trust: nobody"), right.replace("name: lab-records", "name: LAB")):
        fleet.path("lone").write_text(wrong)
        fleet.ok("destroy", "lone", "--exclude-protected", "--yes", "--no-drain")
    fleet.path("lone").write_text(right)
    assert seen == [([], "destroy")] * 2, "declared is nothing, and the controller waits"


def test_a_manifest_that_cannot_be_read_cuts_off_no_job_unasked_and_stops_no_status(fleet: Checkout) -> None:
    with clients("my-lab", fleet.json("cloud", "status")["url"]) as google:
        records = Records(google=google, bucket="lab-records")
        before = records.read(bucket_names.manifest_object("lone"))
        assert before is not None
        records.update(bucket_names.manifest_object("lone"), lambda _: {**before.body, "slots": [{}]})
        try:
            refused = fleet.run("destroy", "lone", "--exclude-protected", "--yes")
            stood = fleet.json("status", "lone")["stacks"][0]
        finally:
            records.update(bucket_names.manifest_object("lone"), lambda _: before.body)
    assert refused.exit_code == 1
    assert "cannot tell what runs on the VMs to delete" in " ".join(refused.output.split())
    assert "--no-drain" in refused.output
    assert (stood["healthy"], stood["unapplied"]) == (None, None)
    assert stood["problems"]
