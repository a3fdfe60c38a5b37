"""Sweeps of the controller over a real local cloud and its GitHub, by the calls that it makes at Google and GitHub."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from googleapiclient.http import MediaInMemoryUpload

from infra.components.controller import SWEEP_SECONDS
from infra.fleet.controller.act import ACTING_SECONDS, CALL_SECONDS, DELETE_SECONDS, Actor
from infra.fleet.controller.actions import Action, Create
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.events import Result
from infra.fleet.controller.github import GitHubError, RunnerApi
from infra.fleet.controller.lease import SWEEP_TIME, UP_TIME, Lease, LeaseKind, LeaseTakenError, held, wall_clock
from infra.fleet.controller.observe import DEADLINE, Observer
from infra.fleet.controller.outcomes import ActionOutcome
from infra.fleet.controller.sweep import Sweeper, SweepError, Swept, summary
from infra.fleet.controller.vm_records import order, restart
from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.fleet.operator_requests import DrainRequest, with_drains
from infra.fleet.records import Records
from infra.fleet.status.derive import status
from infra.fleet.status.look import look
from infra.local.cloud.control import CloudClock
from infra.local.cloud.github.control import GitHubControl
from infra.model import bucket_names
from infra.model.manifest import manifest
from infra.model.schema import StackConfig
from infra.model.stood import read_day
from tests.fleet.declared_records import end_up
from tests.fleet.touched import touched
from tests.model.given import parse, pool, stack_text

if TYPE_CHECKING:
    from infra.local.cloud.testing import TestCloud

REPOSITORY = "a-lab/code"
ZONE = "us-west4-a"
VMS = [f"tpu-ci-{ZONE}-{index}" for index in range(3)]
POOLS = pool(name="tpu-ci", zones="{us-west4-a: 3}", capacity="preemptible", serves=f"[{REPOSITORY}]")


class Lab:
    """A stack on a local cloud: its fleet bucket, its manifest, a sweeper, and runners that are put there by hand."""

    def __init__(self, cloud: TestCloud, config: StackConfig, google: Clients) -> None:
        self.cloud, self.config, self.google = cloud, config, google
        self.github = GitHubControl(cloud.url)
        self.github.add_repository(REPOSITORY)
        self.github.add_token("of-the-controller", "controller")
        body = {"name": config.bucket.name, "location": "us"}
        execute(google.api(Api.STORAGE).buckets().insert(project=config.project, body=body), "making a bucket")
        self.records = Records(google=google, bucket=config.bucket.name)
        self.records.update(bucket_names.manifest_object(config.stack), lambda _: _plain(config))
        end_up(self.records, config.stack)
        self.api = RunnerApi(api=self.github.api, token=lambda _: "of-the-controller")
        self.registrations = 0
        for vm in VMS:
            self.add_node(vm)
            self.add_runner(vm)

    def sweeper(self, github: RunnerApi | None = None) -> Sweeper:
        api = github or self.api
        return Sweeper(
            stack=self.config.stack,
            records=self.records,
            observer=Observer(
                project=self.config.project,
                bucket=self.config.bucket.name,
                endpoint=self.cloud.url,
                github=api,
            ),
            actor=lambda desired: Actor(
                google=self.google, records=self.records, github=api, desired=desired, sleep=lambda _: None
            ),
            clock=CloudClock(self.cloud.control),
        )

    def sweep(self, minutes: float = 2, **given: Any) -> Swept:
        self.cloud.control.advance(minutes * 60)
        return self.sweeper(**given).sweep()

    def nodes(self) -> dict[str, str]:
        return {node["name"].rpartition("/")[2]: node["state"] for node in self.cloud.control.nodes()}

    def add_node(self, vm: str, **labels: str) -> None:
        ours = {"tidepool-managed": "true", "tidepool-stack": "ci", "tidepool-pool": "tpu-ci"}
        node = {
            "acceleratorType": "v5litepod-4",
            "runtimeVersion": "v2-alpha-tpuv5-lite",
            "schedulingConfig": {"preemptible": True},
            "labels": labels or ours,
        }
        self.cloud.control.add_node(self.path(vm), node)

    def add_runner(self, vm: str, status: str = "online", *, busy: bool = False) -> str:
        self.registrations += 1
        name = f"{vm}-{self.registrations:06x}"
        self.github.add_runner(REPOSITORY, name, status=status, busy=busy, labels=["tpu-ci"])
        return name

    def runners(self) -> set[str]:
        return {runner.name for runner in self.api.runners(f"repos/{REPOSITORY}")}

    def path(self, vm: str) -> str:
        return f"projects/{self.config.project}/locations/{ZONE}/nodes/{vm}"

    def record(self, name: str) -> dict[str, Any]:
        record = self.records.read(name)
        assert record is not None
        return record.body


def _plain(config: StackConfig) -> dict[str, Any]:
    """The manifest, its VMs in the default network and as the default account, which need no making here."""
    document = manifest(config, bundle="ab" * 32, startup_script="#!/bin/sh")
    for slot in document["slots"]:
        slot["node"] = {
            key: value for key, value in slot["node"].items() if key not in ("networkConfig", "serviceAccount")
        }
    return document


@pytest.fixture
def lab(ticking_cloud: TestCloud) -> Iterator[Lab]:
    config = parse(stack_text(pools=POOLS))
    with clients(config.project, ticking_cloud.url) as google:
        yield Lab(ticking_cloud, config, google)


def did(swept: Swept) -> list[tuple[str, str, str]]:
    """What was done, orders of what to run left out."""
    return [
        (action["do"], action["subject"], action["result"])
        for action in swept.to_json()["actions"]
        if action["do"] != "assign"
    ]


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
    declared = _plain(lab.config)["slots"][0]["node"]
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


def test_a_vm_is_not_made_a_second_time_where_a_list_leaves_it_out(lab: Lab) -> None:
    """Its zone's list lacks it; at one of its slot's other places it stands."""
    away = {**lab.record(bucket_names.manifest_object("ci"))["slots"][0], "zone": "us-central1-a", "capacity": "spot"}
    slots = lab.record(bucket_names.manifest_object("ci"))["slots"]
    slots[0]["fallbacks"] = [away]
    lab.records.update(bucket_names.manifest_object("ci"), lambda body: {**(body or {}), "slots": slots})
    desired, _ = lab.sweeper()._desired()
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


def test_the_controller_and_up_never_act_together(lab: Lab) -> None:
    wall = lambda: datetime.now(UTC)  # noqa: E731
    with held(lab.records, "ci", LeaseKind.UP, wall, timedelta(minutes=1)):
        with pytest.raises(LeaseTakenError, match="tidepool up"):
            lab.sweep()
        with pytest.raises(LeaseTakenError), held(lab.records, "ci", LeaseKind.CONTROLLER, wall, SWEEP_TIME):
            pass
    lab.sweep()


def test_while_up_holds_the_lease_status_calls_nothing_unhealthy_that_is_being_made(lab: Lab) -> None:
    lab.cloud.control.remove_node(lab.path(VMS[0]))
    observer, clock = lab.sweeper().observer, CloudClock(lab.cloud.control)
    with held(lab.records, "ci", LeaseKind.UP, wall_clock, UP_TIME):
        meanwhile = status(look("ci", observer, clock))
    (pool,) = meanwhile.pools
    assert (meanwhile.healthy, pool.ready, pool.unhealthy) == (False, 2, ())
    assert meanwhile.next[0].what.startswith("an engine is at work on the stack: `./tidepool up` is at work until ")
    with held(lab.records, "ci", LeaseKind.CONTROLLER, wall_clock, SWEEP_TIME):
        swept = status(look("ci", observer, clock))
    assert [trouble.subject for trouble in swept.pools[0].unhealthy] == [VMS[0]], "a sweep is no engine"


def test_what_a_plain_apply_declares_is_left_to_it_for_half_an_hour(lab: Lab) -> None:
    """The manifest comes first, and nobody holds the lease: what it makes next must not be made a second time."""
    lab.cloud.control.remove_node(lab.path(VMS[0]))
    lab.records.update(bucket_names.manifest_object("ci"), lambda body: {**(body or {}), "broker": "https://b.example"})
    (waits,) = (each for each in lab.sweep().decision.waiting if each.subject == VMS[0])
    assert (waits.rule, waits.until is not None) == ("slot-declared", True)
    assert VMS[0] not in lab.nodes()
    lab.cloud.control.advance(31 * 60)
    lab.sweep()
    assert VMS[0] in lab.nodes()


def test_once_an_up_has_ended_with_a_manifest_nobody_is_waited_for(lab: Lab) -> None:
    lab.cloud.control.remove_node(lab.path(VMS[0]))
    lab.records.update(bucket_names.manifest_object("ci"), lambda body: {**(body or {}), "broker": "https://b.example"})
    end_up(lab.records, "ci")
    lab.sweep()
    assert VMS[0] in lab.nodes(), "also where the sweep before it held the lease meanwhile"


def test_an_up_that_cannot_look_up_its_manifest_gives_its_lease_back_all_the_same(lab: Lab) -> None:
    before = lab.record(bucket_names.lease_object("ci"))["applied"]
    lab.cloud.control.fail(
        "error", method="storage.objects.get", name=f"*{bucket_names.manifest_object('ci')}", code=403
    )
    end_up(lab.records, "ci")
    lab.cloud.control.mend()
    assert lab.record(bucket_names.lease_object("ci"))["applied"] == before
    Lease(
        records=lab.records, stack="ci", kind=LeaseKind.CONTROLLER, holder="b", time=SWEEP_TIME, clock=wall_clock
    ).take()


def test_a_lease_whose_holder_died_is_succeeded_when_its_time_is_over(lab: Lab) -> None:
    now = [datetime(2026, 11, 21, 12, tzinfo=UTC)]
    given: dict[str, Any] = {"records": lab.records, "stack": "ci", "time": SWEEP_TIME, "clock": lambda: now[0]}
    Lease(kind=LeaseKind.CONTROLLER, holder="a", **given).take()
    second = Lease(kind=LeaseKind.CONTROLLER, holder="b", **given)
    now[0] += SWEEP_TIME - timedelta(seconds=1)
    with pytest.raises(LeaseTakenError):
        second.take()
    now[0] += timedelta(seconds=1)
    second.take()
    Lease(kind=LeaseKind.CONTROLLER, holder="a", **given).give_back()
    assert lab.record(bucket_names.lease_object("ci"))["holder"] == "b", "who is late ends nobody's lease"


@pytest.mark.parametrize(("ahead", "held_back"), [(-4, True), (1, True), (15, True), (16, False), (60 * 24, False)])
def test_a_lease_of_a_holder_whose_clock_is_off_holds_as_long_as_it_makes_sense(
    lab: Lab, ahead: int, held_back: bool
) -> None:
    """A holder behind by less than the lease, or ahead by a quarter of an hour, is believed."""
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    given: dict[str, Any] = {"records": lab.records, "stack": "ci"}
    off = lambda: now + timedelta(minutes=ahead)  # noqa: E731
    Lease(kind=LeaseKind.UP, holder="off", time=UP_TIME, clock=off, **given).take()
    right = Lease(kind=LeaseKind.CONTROLLER, holder="right", time=SWEEP_TIME, clock=lambda: now, **given)
    if held_back:
        with pytest.raises(LeaseTakenError):
            right.take()
    else:
        right.take()


def test_a_sweep_that_loses_its_lease_does_no_more_and_remembers_what_it_did(lab: Lab) -> None:
    lab.cloud.control.preempt(lab.path(VMS[0]))
    lab.cloud.control.remove_node(lab.path(VMS[1]))
    now = [datetime(2026, 11, 21, 12, tzinfo=UTC)]

    class Robbed(Actor):
        def do(self, action: Action) -> ActionOutcome:
            done = super().do(action)
            now[0] += timedelta(minutes=2)
            thief = {"kind": "up", "holder": "another", "until": (now[0] + timedelta(minutes=5)).isoformat()}
            self.records.update(bucket_names.lease_object("ci"), lambda _: thief)
            return done

    def actor(desired: Desired) -> Actor:
        return Robbed(google=lab.google, records=lab.records, github=lab.api, desired=desired, sleep=lambda _: None)

    swept = replace(lab.sweeper(), actor=actor, wall=lambda: now[0]).sweep()
    assert did(swept) == [("recreate", VMS[0], "deferred"), ("create", VMS[1], "failed")]
    assert all("the lease was lost: `./tidepool up` (" in each.text for each in swept.outcomes[:2])
    assert lab.nodes().get(VMS[0]) in (None, "DELETING"), "its delete was sent, and it is made again later"
    assert lab.record(bucket_names.memory_object("ci")).get("creating", {}) == {}
    assert lab.record(bucket_names.lease_object("ci"))["holder"] == "another"


def test_a_lease_that_a_long_look_used_up_is_renewed_before_anything_is_done(lab: Lab) -> None:
    lab.cloud.control.remove_node(lab.path(VMS[0]))
    now, left = [datetime(2026, 11, 21, 12, tzinfo=UTC)], []
    sweeper = lab.sweeper()

    class Late(Actor):
        def do(self, action: Action) -> ActionOutcome:
            left.append(datetime.fromisoformat(lab.record(bucket_names.lease_object("ci"))["until"]) - now[0])
            return super().do(action)

    def actor(desired: Desired) -> Actor:
        now[0] += SWEEP_TIME - timedelta(seconds=10)
        return Late(google=lab.google, records=lab.records, github=lab.api, desired=desired)

    replace(sweeper, actor=actor, wall=lambda: now[0]).sweep()
    assert left == [SWEEP_TIME] * 4, "one VM is made, and three are told what they run"


def test_a_memory_that_cannot_be_read_stops_the_sweep_and_says_what_to_do(lab: Lab) -> None:
    lab.records.update(bucket_names.memory_object("ci"), lambda _: {"version": 7})
    with pytest.raises(SweepError, match="delete gs://"):
        lab.sweep()


def test_a_sweep_touches_its_own_parts_of_the_bucket_alone(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with touched(monkeypatch) as (read, written):
        lab.sweep()
    assert written <= {"control", "runner/orders"}
    assert "runner/orders" in written
    assert read <= {"manifests", "runner", "runner/orders", "reports", "control"}


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


def test_a_vm_that_is_there_already_was_made(lab: Lab) -> None:
    """A create whose answer was lost is asked for again."""
    sweeper = lab.sweeper()
    desired, _ = sweeper._desired()
    outcome = sweeper.actor(desired).do(Create(slot=VMS[0], place=desired.slots[0].home, rule="slot-absent", reason=""))
    assert (outcome.result, outcome.text) == (Result.DONE, "it exists already")


def test_a_delete_that_takes_long_leaves_its_create_to_a_later_sweep(lab: Lab) -> None:
    lab.cloud.control.preempt(lab.path(VMS[0]))
    waited: list[float] = []

    class Slow(Actor):
        """At a TPU API whose deletes are never over."""

        def _node(self, zone: str, name: str) -> Mapping[str, Any] | None:
            seen.setdefault(name, super()._node(zone, name) or {})
            return seen[name]

    def actor(desired: Desired) -> Actor:
        given: dict[str, Any] = {"google": lab.google, "records": lab.records, "github": lab.api, "desired": desired}
        return Slow(**given, began=0.0, clock=lambda: sum(waited), sleep=waited.append)

    seen: dict[str, Mapping[str, Any]] = {}
    swept = replace(lab.sweeper(), actor=actor).sweep()
    assert did(swept) == [("recreate", VMS[0], "deferred")]
    assert "1 deferred" in summary(swept), "a VM was deleted"
    assert sum(waited) == DELETE_SECONDS
    assert lab.record(bucket_names.memory_object("ci")).get("creating", {}) == {}
    lab.cloud.control.advance(600)
    assert did(lab.sweep()) == [("create", VMS[0], "done")]


def test_a_replacement_whose_delete_was_sent_counts_though_its_create_could_not_be_asked_for(lab: Lab) -> None:
    lab.sweep()
    execute(
        lab.google.api(Api.TPU).projects().locations().nodes().stop(name=lab.path(VMS[0]), body={}), "stopping a VM"
    )
    lab.cloud.control.advance(600)
    looked: list[str] = []

    class Blind(Actor):
        """At a TPU API that says nothing after the delete."""

        def _node(self, zone: str, name: str) -> Mapping[str, Any] | None:
            looked.append(name)
            if len(looked) > 1:
                raise GoogleError("looking up a VM", "503", status=503)
            return super()._node(zone, name)

    actor = partial(Blind, google=lab.google, records=lab.records, github=lab.api)
    swept = replace(lab.sweeper(), actor=lambda desired: actor(desired=desired)).sweep()
    assert did(swept) == [("recreate", VMS[0], "deferred")]
    memory = lab.record(bucket_names.memory_object("ci"))
    assert memory["vms"][VMS[0]]["remade"] == 1
    assert len(memory["replacements"]["tpu-ci"]) == 1


def test_a_list_of_operations_that_fails_does_not_blind_its_zone(lab: Lab) -> None:
    lab.cloud.control.preempt(lab.path(VMS[0]))
    lab.sweep()
    lab.cloud.control.preempt(lab.path(VMS[1]))
    lab.cloud.control.fail("error", code=503, method="tpu.projects.locations.operations.list")
    swept = lab.sweep()
    assert f"operations {ZONE}" in [str(name) for name, source in swept.observed.sources.items() if not source.known]
    assert swept.observed.zone_known(ZONE)
    assert ("recreate", VMS[1], "done") in did(swept)


def calls(lab: Lab, swept: Callable[[], object]) -> list[str]:
    """Methods of the TPU API that were called, as `nodes.create`."""
    before = lab.cloud.control.log(limit=1)[-1]["number"]
    swept()
    methods = [entry["method"] for entry in lab.cloud.control.log(limit=500, after=before)]
    return [method.removeprefix("tpu.projects.locations.") for method in methods if method.startswith("tpu.")]


def test_after_the_first_trouble_of_a_place_the_rest_of_it_waits(lab: Lab) -> None:
    for vm in VMS:
        lab.cloud.control.remove_node(lab.path(vm))
    lab.cloud.control.fail("error", code=400, method="tpu.projects.locations.nodes.create")
    came_to: list[Swept] = []
    assert calls(lab, lambda: came_to.append(lab.sweep())).count("nodes.create") == 1
    assert did(came_to[0]) == [("create", VMS[0], "failed"), ("create", VMS[1], "left")]
    attempts = lab.record(bucket_names.memory_object("ci"))["vms"]
    assert [attempts[vm].get("attempts", 0) for vm in VMS[:2]] == [1, 0], "what was left comes first the next time"


def test_a_zone_that_fails_is_asked_once_more_and_not_for_each_of_its_vms(lab: Lab) -> None:
    lab.sweep()
    for vm in VMS[:2]:
        lab.cloud.control.preempt(lab.path(vm))
    lab.cloud.control.fail("error", code=503, method="tpu.projects.locations.nodes.get")
    with clients(lab.config.project, lab.cloud.url, hurried=True) as google:
        sweeper = lab.sweeper()
        actor = partial(Actor, google=google, records=lab.records, github=lab.api)
        swept = replace(sweeper, actor=lambda desired: actor(desired=desired)).sweep()
    assert did(swept) == [("recreate", VMS[0], "failed"), ("recreate", VMS[1], "left")]


def test_deletes_are_sent_together_and_then_waited_for(lab: Lab) -> None:
    lab.sweep()
    for vm in VMS[:2]:
        lab.cloud.control.preempt(lab.path(vm))
    changing = [each for each in calls(lab, lab.sweep) if each in ("nodes.delete", "nodes.create")]
    assert changing[:2] == ["nodes.delete"] * 2


def test_a_sweep_that_is_killed_has_learned_what_a_place_refused(lab: Lab) -> None:
    for vm in VMS[:2]:
        lab.cloud.control.remove_node(lab.path(vm))
    lab.cloud.control.fail("error", code=400, method="tpu.projects.locations.nodes.create")

    class Killed(Actor):
        def do(self, action: Action) -> ActionOutcome:
            if self.troubles:
                raise KeyboardInterrupt
            return super().do(action)

    actor = partial(Killed, google=lab.google, records=lab.records, github=lab.api)
    with pytest.raises(KeyboardInterrupt):
        replace(lab.sweeper(), actor=lambda desired: actor(desired=desired)).sweep()
    (entry,) = lab.record(bucket_names.memory_object("ci"))["backoff"].values()
    assert entry["trouble"] == "refused"


def test_a_sweep_begins_nothing_after_its_time_and_ends_before_its_job_is_killed(lab: Lab) -> None:
    lab.cloud.control.preempt(lab.path(VMS[0]))
    actor = partial(Actor, google=lab.google, records=lab.records, github=lab.api, began=0.0)
    late = replace(lab.sweeper(), actor=lambda desired: actor(desired=desired, clock=lambda: ACTING_SECONDS)).sweep()
    assert ("recreate", VMS[0], "left") in did(late)
    assert lab.nodes()[VMS[0]] == "PREEMPTED"
    last = 5 * 2 * CALL_SECONDS
    assert 2 * DEADLINE + ACTING_SECONDS + last < SWEEP_SECONDS, "looking, acting, and the calls of the last action"


def test_a_sweep_whose_memory_somebody_else_wrote_stops_and_writes_nothing(lab: Lab) -> None:
    lab.sweep()
    sweeper = lab.sweeper()

    def actor(desired: Desired) -> Actor:
        lab.records.update(bucket_names.memory_object("ci"), lambda body: {**(body or {}), "sweeps": 77})
        return sweeper.actor(desired)

    with pytest.raises(SweepError, match="another sweep wrote the memory"):
        replace(sweeper, actor=actor).sweep()
    assert lab.record(bucket_names.memory_object("ci"))["sweeps"] == 77
