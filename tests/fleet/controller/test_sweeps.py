"""Sweeps of the controller over a real local cloud and its GitHub, by the calls that it makes at Google and GitHub."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from googleapiclient.http import MediaInMemoryUpload

from infra.fleet.controller.act import Actor
from infra.fleet.controller.actions import Create
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.events import Result
from infra.fleet.controller.github import GitHubError, RunnerApi
from infra.fleet.controller.observe import DEADLINE
from infra.fleet.controller.sweep import SweepError
from infra.fleet.controller.vm_records import order, restart
from infra.fleet.google import Api, GoogleError, clients, execute
from infra.fleet.operator_requests import DrainRequest, with_drains
from infra.fleet.place import FleetPlace
from infra.model import bucket_names
from infra.model.clock import machine_clock
from infra.model.stood import read_day
from tests.fleet.declared_records import end_up
from tests.fleet.touched import touched

if TYPE_CHECKING:
    pass
from tests.fleet.controller.swept_lab import REPOSITORY, VMS, ZONE, Lab, did, plain_manifest


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


def test_each_sweep_writes_down_which_vms_of_pools_stand(lab: Lab) -> None:
    def stood() -> list[tuple[str, bool]]:
        day = datetime.fromtimestamp(lab.cloud.control.clock()["seconds"], UTC).date()
        found = read_day(lab.records.body(bucket_names.stood_day_object("ci", day)))
        return [(each.vm, each.end is None) for each in found.vms] if found else []

    lab.sweeper().sweep()
    lab.cloud.control.preempt(VMS[0])
    lab.cloud.control.advance(120)
    lab.sweeper().sweep()
    assert stood() == [(VMS[0], False), (VMS[1], True), (VMS[2], True)]
    lab.cloud.control.advance(120)
    lab.cloud.control.fail("error", method="tpu.projects.locations.nodes.list", code=403)
    lab.sweeper().sweep()
    assert stood() == [(VMS[0], False), (VMS[1], True), (VMS[2], True)], "a list that failed ends nothing"
    lab.cloud.control.mend()
    lab.sweeper().sweep()
    assert stood() == [(VMS[0], False), (VMS[0], True), (VMS[1], True), (VMS[2], True)], "it was made again"


def test_a_record_of_what_stood_that_cannot_be_written_holds_no_sweep(lab: Lab) -> None:
    now = datetime.fromtimestamp(lab.cloud.control.clock()["seconds"], UTC)
    lab.records.update(bucket_names.stood_day_object("ci", now.date()), lambda _: {"version": 99})
    lab.cloud.control.preempt(VMS[0])
    assert {each.result for each in lab.sweeper().sweep().outcomes} == {Result.DONE}
    assert lab.records.body(bucket_names.stood_day_object("ci", now.date())) == {"version": 99}, (
        "people look at it first"
    )


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


def test_github_in_an_outage_is_unknown_and_nothing_is_deleted(lab: Lab) -> None:
    lab.add_node(f"tpu-ci-{ZONE}-9")
    lab.sweep()

    def no_token(scope: str) -> str:
        raise GitHubError(f"{scope}: 502")

    swept = lab.sweep(30, github=RunnerApi(api=lab.github.api, token=no_token))
    assert not swept.observed.github.known
    assert "delete" not in {action for action, _, _ in did(swept)}
    assert f"tpu-ci-{ZONE}-9" in lab.nodes()


def test_a_job_that_began_since_the_look_keeps_its_vm(lab: Lab) -> None:
    vm = f"tpu-ci-{ZONE}-9"
    lab.add_node(vm)
    lab.sweep()
    sweeper, began = lab.sweeper(), []

    def actor(desired: Desired) -> Actor:
        began.append(lab.add_runner(vm, busy=True))
        return sweeper.actor(desired)

    lab.cloud.control.advance(660)
    late = replace(sweeper, actor=actor).sweep()
    assert ("delete", vm, "changed") in did(late)
    assert vm in lab.nodes()


def test_a_source_that_is_too_slow_is_unknown_and_holds_up_no_other(lab: Lab) -> None:
    lab.cloud.control.preempt(lab.path(VMS[0]))
    over = threading.Event()

    def slow(_: str) -> str:
        over.wait(60)
        return "of-the-controller"

    times = iter([0.0, 0.0, 100.0])  # the look begins, its zone is waited for, GitHub is
    sweeper = lab.sweeper(github=RunnerApi(api=lab.github.api, token=slow))
    late = replace(sweeper, observer=replace(sweeper.observer, clock=lambda: next(times, 0.0)))
    swept = late.sweep()
    over.set()
    assert swept.observed.github.reason == f"repos/{REPOSITORY}: no answer within {DEADLINE:g} s"
    assert {str(name) for name, source in swept.observed.sources.items() if not source.known} == {"github"}
    assert ("recreate", VMS[0], "done") in did(swept)


@pytest.mark.parametrize("change", ["another of its name", "alive again", "somebody's now"])
def test_what_is_to_be_deleted_and_is_another_by_then_is_left_alone(lab: Lab, change: str) -> None:
    """Lists lag: what is seen when the sweep looks may be over when it acts."""
    orphan = f"tpu-ci-{ZONE}-9"
    lab.add_node(orphan)
    lab.sweep()
    sweeper = lab.sweeper()

    def actor(desired: Desired) -> Actor:
        if change == "alive again":
            lab.cloud.control.preempt(lab.path(orphan))
        else:
            lab.cloud.control.remove_node(lab.path(orphan))
            lab.cloud.control.advance(1)
            lab.add_node(orphan, **({"owner": "ada"} if change == "somebody's now" else {}))
        return sweeper.actor(desired)

    lab.cloud.control.advance(660)
    swept = replace(sweeper, actor=actor).sweep()
    assert ("delete", orphan, "changed") in did(swept)
    assert orphan in lab.nodes()


def test_a_vm_whose_labels_changed_since_the_look_is_left_alone(lab: Lab) -> None:
    """A run's VM got more time, or somebody made an orphan his own."""
    lab.add_node("run-1", **{"tidepool-run": "77-1", "tidepool-expires": "1"})
    sweeper = lab.sweeper()

    def actor(desired: Desired) -> Actor:
        nodes = lab.google.api(Api.TPU).projects().locations().nodes()
        body = {"labels": {"tidepool-run": "77-1", "tidepool-expires": "99999999999"}}
        execute(nodes.patch(name=lab.path("run-1"), updateMask="labels", body=body), "giving it more time")
        return sweeper.actor(desired)

    assert ("delete", "run-1", "changed") in did(replace(sweeper, actor=actor).sweep())
    assert "run-1" in lab.nodes()


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


def test_a_vm_is_not_made_a_second_time_where_a_list_leaves_it_out(lab: Lab) -> None:
    """Its zone's list lacks it; at one of its slot's other places it stands."""
    away = {**lab.record(bucket_names.manifest_object("ci"))["slots"][0], "zone": "us-central1-a", "capacity": "spot"}
    slots = lab.record(bucket_names.manifest_object("ci"))["slots"]
    slots[0]["fallbacks"] = [away]
    lab.records.update(bucket_names.manifest_object("ci"), lambda body: {**(body or {}), "slots": slots})
    desired, *_ = lab.sweeper()._desired()
    elsewhere = f"projects/{lab.config.project}/locations/us-central1-a/nodes/{VMS[0]}"
    lab.cloud.control.remove_node(lab.path(VMS[0]))
    lab.cloud.control.add_node(elsewhere, {"acceleratorType": "v5litepod-4", "runtimeVersion": "v2-alpha-tpuv5-lite"})
    action = Create(slot=VMS[0], place=desired.slots[0].home, rule="slot-absent", reason="")
    outcome = lab.sweeper().actor(desired).do(action)
    assert (outcome.result, outcome.text) == (Result.CHANGED, "it stands in us-central1-a")
    assert VMS[0] in lab.nodes()


FALLBACK = "us-central1-a"


def with_fallbacks(lab: Lab, of: int = len(VMS)) -> None:
    """The first VMs of the pool may stand in another zone too."""
    slots = lab.record(bucket_names.manifest_object("ci"))["slots"]
    for slot in slots[:of]:
        slot["fallbacks"] = [{**slot, "zone": FALLBACK, "capacity": "spot"}]
    lab.records.update(bucket_names.manifest_object("ci"), lambda body: {**(body or {}), "slots": slots})
    end_up(lab.records, "ci")


def test_a_dark_fallback_zone_keeps_nothing_from_being_made_at_home(lab: Lab) -> None:
    with_fallbacks(lab)
    lab.sweep()
    for vm in VMS[:2]:
        lab.cloud.control.remove_node(lab.path(vm))
    lab.sweep()
    lab.cloud.control.fail("error", code=503, zone=FALLBACK)
    assert did(lab.sweep()) == [("create", vm, "done") for vm in VMS[:2]] + [("report", f"zone {FALLBACK}", "done")]


def test_a_fallback_zone_that_goes_dark_while_a_sweep_acts_holds_up_only_what_may_be_there(lab: Lab) -> None:
    """The zone was listed, so what stands in it is asked once more; only its own silence is told of it."""
    with_fallbacks(lab, of=1)
    lab.sweep()
    lab.cloud.control.remove_node(lab.path(VMS[0]))
    lab.sweep()
    lab.cloud.control.preempt(lab.path(VMS[2]))
    lab.cloud.control.fail("error", code=503, zone=FALLBACK, method="tpu.projects.locations.nodes.get")
    with clients(lab.config.project, lab.cloud.url, hurried=True) as google:
        actor = partial(Actor, google=google, records=lab.records, github=lab.api)
        sweeper = replace(lab.sweeper(), actor=lambda desired: actor(desired=desired))
        lab.cloud.control.advance(120)
        swept = sweeper.sweep()
    assert did(swept) == [("recreate", VMS[2], "done"), ("create", VMS[0], "failed")]


def test_a_memory_that_was_lost_while_a_fallback_zone_is_dark_makes_no_second_vm(lab: Lab) -> None:
    with_fallbacks(lab)
    elsewhere = lab.path(VMS[0]).replace(ZONE, FALLBACK)
    lab.cloud.control.remove_node(lab.path(VMS[0]))
    node = {"acceleratorType": "v5litepod-4", "runtimeVersion": "v2-alpha-tpuv5-lite"}
    lab.cloud.control.add_node(elsewhere, node)
    lab.cloud.control.fail("error", code=503, zone=FALLBACK)
    for _ in range(3):
        assert ("create", VMS[0]) not in [each[:2] for each in did(lab.sweep())]


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


def test_old_orders_of_a_name_keep_no_vm_from_jobs_for_ever(lab: Lab) -> None:
    for vm in VMS[:2]:
        order(lab.records, vm, drain=True, bundle="cd" * 32)
    request = DrainRequest(subject=VMS[1], by="ada", since=datetime(2026, 11, 21, tzinfo=UTC), minutes=5)
    lab.records.update(bucket_names.requests_object("ci"), lambda body: with_drains(body, [request]))
    lab.sweep()
    orders = [lab.record(bucket_names.orders_object(vm)) for vm in VMS[:2]]
    assert [(each["drain"], each["bundle"]) for each in orders] == [(False, "ab" * 32), (True, "ab" * 32)]


def test_orders_and_the_last_sweep_are_records_that_others_read(lab: Lab) -> None:
    lab.sweep()
    assert lab.record(bucket_names.orders_object(VMS[0])) == {
        "version": 1,
        "image": "none",
        "bundle": "ab" * 32,
        "restart": 0,
        "drain": False,
    }
    assert lab.record(bucket_names.sweep_object("ci"))["pools"]["tpu-ci"]["online"] == 3


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


def test_a_truncated_manifest_stops_the_sweep(lab: Lab) -> None:
    media = {"bucket": lab.config.bucket.name, "name": bucket_names.manifest_object("ci")}
    lab.cloud.control.preempt(lab.path(VMS[0]))
    whole = json.dumps(lab.record(media["name"])).encode()
    body = MediaInMemoryUpload(whole[: len(whole) // 2], mimetype="application/json")
    execute(lab.google.api(Api.STORAGE).objects().insert(**media, media_body=body), "cutting it")
    with pytest.raises(GoogleError, match="it is not JSON"):
        lab.sweep()
    assert lab.nodes()[VMS[0]] == "PREEMPTED"


def test_a_sweep_whose_memory_somebody_else_wrote_stops_and_writes_nothing(lab: Lab) -> None:
    lab.sweep()
    sweeper = lab.sweeper()

    def actor(desired: Desired) -> Actor:
        lab.records.update(bucket_names.memory_object("ci"), lambda body: {**(body or {}), "sweeps": 77})
        return sweeper.actor(desired)

    with pytest.raises(SweepError, match="another sweep wrote the memory"):
        replace(sweeper, actor=actor).sweep()
    assert lab.record(bucket_names.memory_object("ci"))["sweeps"] == 77
