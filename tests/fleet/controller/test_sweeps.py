"""Sweeps of the controller over a real local cloud and its GitHub, by the calls that it makes at Google and GitHub."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from infra.fleet.controller.sweep import SweepError
from infra.fleet.controller.vm_records import order, restart
from infra.fleet.operator_requests import DrainRequest, with_drains
from infra.fleet.place import FleetPlace
from infra.model import bucket_names
from infra.model.clock import machine_clock
from tests.fleet.touched import touched

if TYPE_CHECKING:
    pass
from tests.fleet.controller.swept_lab import VMS, ZONE, Lab, did, plain_manifest


def test_a_fleet_that_is_as_declared_is_left_alone(lab: Lab) -> None:
    lab.sweep()
    again = lab.sweep()
    assert again.settled, again.to_json()
    assert did(again) == []


def test_one_sweep_right_after_a_preemption_makes_the_vm_again_as_it_was_declared(lab: Lab) -> None:
    lab.cloud.control.preempt(lab.path(VMS[0]))
    assert did(lab.sweep(0)) == [("recreate", VMS[0], "done")]
    lab.cloud.control.advance(600)
    assert lab.nodes() == dict.fromkeys(VMS, "READY")
    made = next(node for node in lab.cloud.control.nodes() if node["name"].endswith(VMS[0]))
    declared = plain_manifest(lab.config)["slots"][0]["node"]
    assert {key: made.get(key) for key in ("labels", "metadata", "tags")} == {
        key: declared[key] for key in ("labels", "metadata", "tags")
    }


def test_what_is_absent_is_made_and_what_has_no_owner_goes_after_the_grace_time(lab: Lab) -> None:
    lab.cloud.control.remove_node(lab.path(VMS[1]))
    lab.add_node(f"tpu-ci-{ZONE}-9")
    lab.add_node("somebodys", owner="ada")
    ghost = lab.add_runner(f"tpu-ci-{ZONE}-7", "offline")
    foreign = lab.add_runner("mac", "offline")
    first = lab.sweep()
    assert did(first) == [("create", VMS[1], "done"), ("report", "somebodys", "done")]
    later = lab.sweep(11)
    assert ("delete", f"tpu-ci-{ZONE}-9", "done") in did(later)
    assert ("removerunner", ghost, "done") in did(later)
    lab.cloud.control.advance(600)
    assert lab.nodes() == dict.fromkeys([*VMS, "somebodys"], "READY")
    assert ghost not in lab.runners()
    assert foreign in lab.runners()


@pytest.mark.parametrize("ahead", [-61, 0, 61])
@pytest.mark.parametrize(("left", "goes"), [(60, False), (-1, True)])
def test_a_vm_of_a_run_goes_by_the_services_clock_whatever_the_machine_believes(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, ahead: float, left: float, *, goes: bool
) -> None:
    """An hour of the cloud's clock is skipped, so that its answers are dated so."""
    lab.cloud.control.advance(3600)
    present = datetime.fromtimestamp(lab.cloud.control.clock()["seconds"], UTC)
    lab.add_node("run-1", **{"tidepool-run": "77-1", "tidepool-expires": f"{present.timestamp() + 60 * left:.0f}"})
    monkeypatch.setattr("infra.fleet.google.machine_clock", lambda: present + timedelta(minutes=ahead))
    place = FleetPlace(
        project=lab.config.project, bucket=lab.config.bucket.name, endpoint=lab.cloud.url, github=lab.api,
        clock=machine_clock,
    )  # fmt: skip
    swept = place.sweeper("ci", lab.google).sweep()
    assert (("delete", "run-1", "done") in did(swept)) is goes
    assert abs(swept.at - present) < timedelta(minutes=1)


def test_a_stockout_of_the_operation_starts_a_wait_and_people_see_until_when(lab: Lab) -> None:
    lab.cloud.control.fail("stockout", zone=ZONE)
    lab.cloud.control.preempt(lab.path(VMS[0]))
    lab.sweep()
    swept = lab.sweep()
    assert did(swept) == []
    (waiting,) = swept.to_json()["waiting"]
    assert "stockout" in waiting["reason"]
    assert waiting["until"] is not None


def test_list_calls_grow_with_zones_and_not_with_vms(lab: Lab) -> None:
    lab.sweep()
    before = lab.cloud.control.log(limit=1)[-1]["number"]
    lab.sweep()
    methods = [entry["method"] for entry in lab.cloud.control.log(limit=500, after=before)]
    of_fleet = [method for method in methods if method.startswith(("tpu.", "github."))]
    assert of_fleet == ["tpu.projects.locations.nodes.list", "github.list_runners"] or of_fleet == [
        "github.list_runners",
        "tpu.projects.locations.nodes.list",
    ], "three VMs of one zone and one repository are two lists"


OF_ANOTHER_VERSION = b'{"version": 7, "drains": "all", "until": 5}'


@pytest.mark.parametrize("damage", [b"", b"[]", OF_ANOTHER_VERSION], ids=["empty", "list", "version"])
@pytest.mark.parametrize("name", [bucket_names.requests_object, bucket_names.memory_object, bucket_names.lease_object])
def test_a_record_that_cannot_be_read_keeps_no_vm_from_being_healed_and_is_kept(
    lab: Lab, name: Callable[[str], str], damage: bytes
) -> None:
    request = DrainRequest(subject=VMS[1], by="ada", since=datetime(2026, 11, 21, tzinfo=UTC), minutes=5)
    lab.records.update(bucket_names.requests_object("ci"), lambda body: with_drains(body, [request]))
    lab.sweep()
    lab.records.update_content(name("ci"), lambda _: damage, "application/json")
    generation = lab.records.generation(name("ci"))
    lab.records.update_content(bucket_names.sweep_object("ci"), lambda _: damage, "application/json")
    lab.cloud.control.preempt(lab.path(VMS[0]))
    swept = lab.sweep()
    assert ("recreate", VMS[0], "done") in did(swept)
    assert lab.record(bucket_names.orders_object(VMS[1]))["drain"], "nobody ended its drain"
    assert lab.record(bucket_names.sweep_object("ci"))["at"] == swept.at.isoformat()
    damaged = name is bucket_names.requests_object or (damage, name) != (OF_ANOTHER_VERSION, bucket_names.lease_object)
    found = {each.subject: each.reason for each in lab.sweep().decision.findings if each.rule == "record-unreadable"}
    assert found.keys() == ({name("ci")} if damaged else set())
    if name is bucket_names.requests_object:
        assert "the last requests that can be read hold" in found[name("ci")]
        assert f"gcloud storage cp 'gs://{lab.records.bucket}/{name('ci')}#" in found[name("ci")]
        assert lab.records.content(name("ci")) == damage, "a person decides what is asked for"
    elif damaged:
        assert f"gcloud storage rm -r gs://{lab.records.bucket}/control/.unreadable/{name('ci')}" in found[name("ci")]
        assert lab.records.content(bucket_names.unreadable_object(name("ci"), generation)) == damage


def test_orders_that_cannot_be_read_are_set_aside_and_written_anew(lab: Lab) -> None:
    lab.sweep()
    name = bucket_names.orders_object(VMS[0])
    restart(lab.records, VMS[0], 3)
    lab.records.update_content(name, lambda _: b"[", "application/json")
    order(lab.records, VMS[0], drain=True)
    assert (lab.record(name)["restart"], lab.record(name)["drain"]) == (3, True)
    lab.records.update(name, lambda _: {"restart": "soon"})
    restart(lab.records, VMS[0], 4)
    assert lab.record(name)["restart"] == 4


def test_a_sweep_touches_its_own_parts_of_the_bucket_alone(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with touched(monkeypatch) as (read, written):
        lab.sweep()
    assert written <= {"control", "runner/orders"}
    assert "runner/orders" in written
    assert read <= {"manifests", "runner", "runner/orders", "reports", "control", "broker"}


def test_a_restart_is_a_new_order_though_the_memory_of_earlier_ones_was_lost(lab: Lab) -> None:
    numbers = []
    for number in (1, 2, 2, 1, 2):
        restart(lab.records, VMS[0], number)
        numbers.append(lab.record(bucket_names.orders_object(VMS[0]))["restart"])
    assert numbers == [1, 2, 2, 3, 4]


@pytest.mark.parametrize("change", [{"version": 2}, {"project": "another-lab"}, {"stack": "nightly"}, {"slots": None}])
def test_a_manifest_that_is_not_to_be_acted_on_stops_the_sweep_before_anything_is_done(
    lab: Lab, change: dict[str, Any]
) -> None:
    lab.cloud.control.preempt(lab.path(VMS[0]))
    lab.records.update(bucket_names.manifest_object("ci"), lambda body: {**(body or {}), **change})
    with pytest.raises(SweepError, match=r"manifests/ci.json: .*; nothing was done"):
        lab.sweep()
    assert lab.nodes()[VMS[0]] == "PREEMPTED"
    assert lab.records.read(bucket_names.memory_object("ci")) is None
