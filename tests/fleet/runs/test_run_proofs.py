"""Runs of one pool share an account: no VM of it finds another run's source, nor says how that run ended."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench.cloud.control import CloudClock
from infra.fleet.broker.identity import google_keys
from infra.fleet.records import Record
from infra.fleet.runner.supervisor.report import audience, sealed
from infra.fleet.runs.cloud import BucketLedger, BucketObjects, GoogleTpuVms
from infra.fleet.runs.decide import HostStatus
from infra.fleet.runs.ports import RunError, RunPorts
from infra.fleet.runs.reports import HostReports
from infra.fleet.runs.run import Run
from infra.model import bucket_access, bucket_names
from infra.model.catalogue import CapacityKind
from infra.model.run_records import RunVmRecord
from tests.fleet.runs.archives import packed
from tests.fleet.runs.test_whole_runs import A, B, Lab, lab

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

__all__ = ("lab",)
MINE, SIBLING, ELSEWHERE = "nights-run-7-1", "nights-run-8-1", "nights-run-9-1"
OBJECT = "runs/work/nights/nights-run-7-1/key/us-central1-b/0/status.json"


# What a sibling finds.


def metadata(lab: Lab) -> dict[str, Any]:
    """What the VM of the run was told."""
    (node,) = (each for each in lab.cloud.control.nodes() if each["name"].endswith(MINE))
    return json.loads(node["metadata"]["tidepool-run"])


def test_what_a_run_sends_is_below_a_prefix_that_no_vm_of_its_pool_can_find(lab: Lab) -> None:
    """The pool's account opens objects by name alone, and the name is told to the VM and to nobody else."""
    seen: list[dict[str, Any]] = []

    def look(lab: Lab) -> None:
        if lab.log and not seen:
            seen.append(metadata(lab))

    lab.meanwhile = look
    ended = lab.run(lab.request("sh", "-c", "echo begun; sleep 0.3"), tree=packed(a="b"))
    key = seen[0]["prefix"].split("/")[4]
    assert len(bytes.fromhex(key)) == 16
    assert seen[0]["tree"] == f"runs/work/nights/{MINE}/{key}/tree.tar.gz"
    assert key != Run(request=lab.request(), run="7", attempt=1, ports=lab.ports(lab.request())).key, "each has its own"
    records = [json.dumps(asdict(each), default=str) for each in lab.records().values()]
    assert not [line for line in (*lab.said, json.dumps(ended.to_json()), *records) if key in line]


def test_no_account_of_a_pool_lists_the_bucket(lab: Lab) -> None:
    assert not [key for key in bucket_access.LISTERS if key.startswith("pool/")]
    own = [part for part in bucket_access.parts(lab.config) if part.key == "pool/nights"]
    conditions = {bucket_access.only_below(lab.config.bucket.name, part.prefix) for part in own}
    objects = f'resource.name.startsWith("projects/_/buckets/{lab.config.bucket.name}/objects/'
    assert {part.prefix for part in own if part.writes} == {"reports/nights/", bucket_names.run_work_prefix("nights")}
    assert all(each.startswith(objects) and " || " not in each for each in conditions)


def test_an_object_of_a_run_that_cannot_be_read_is_not_named_to_the_readers_of_a_log(lab: Lab) -> None:
    lab.cloud.control.fail("error", method="storage.objects.get", code=400)
    objects = BucketObjects(lab.google, lab.config.bucket.name)
    for read in (objects.get, objects.report):
        with pytest.raises(RunError, match=r"^reading status\.json of the run in gs://") as caught:
            read(OBJECT)
        assert "key" not in str(caught.value)


# What a run comes to, by what it is told.


def test_hosts_of_a_slice_bring_back_into_folders_of_their_own(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, nothing = packed(**{"out/z": "y"}), hashlib.sha256(b"").hexdigest()
    said = HostStatus("ended", 0, log=nothing, results=hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(HostReports, "read", lambda *_: said)
    monkeypatch.setattr(BucketObjects, "get", lambda _, name: content if name.endswith("results.tar.gz") else None)
    assert lab.run(lab.request(hosts=2), into=tmp_path).results == ("host-0/out/z", "host-1/out/z")


def test_a_run_whose_vm_says_nothing_that_is_proved_ends_unproved(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(reports: HostReports, host: int, *_: Any) -> None:
        reports.doubts[host] = "host 0: it has no proof"

    monkeypatch.setattr(HostReports, "read", read)
    ended = lab.run(lab.request())
    assert (ended.reason, ended.says.partition(": ")[2]) == ("unproved", "host 0: it has no proof")


def test_a_create_that_is_refused_is_told_with_the_vm_and_its_zone(lab: Lab) -> None:
    lab.cloud.control.fail("error", method="tpu.projects.locations.nodes.create", code=400)
    ended = lab.run(lab.request())
    assert (ended.reason, f"creating {MINE} in {A}" in ended.says) == ("refused", True), ended


def test_a_vm_that_is_taken_before_it_is_ready_is_a_stockout(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    real = GoogleTpuVms.node

    def node(vms: GoogleTpuVms, zone: str, name: str) -> Mapping[str, Any] | None:
        found = real(vms, zone, name)
        return (found and zone == A and {**found, "state": "PREEMPTED"}) or found

    monkeypatch.setattr(GoogleTpuVms, "node", node)
    assert lab.run(lab.request()).zone == B
    assert f"{A} spot: stockout: the VM became PREEMPTED before it was READY" in lab.said


def test_a_vm_that_was_seen_after_its_end_ended_then_on_its_day_in_utc(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    time.tzset()
    try:
        day = datetime(2026, 11, 21, tzinfo=UTC)
        asked = int(day.timestamp()) + 60
        ledger = lab.ports(lab.request()).ledger
        assert isinstance(ledger, BucketLedger)
        record = RunVmRecord(
            vm=MINE, run="7", suite="tpu", stack="ci", pool="nights", accelerator="v6e-1", zone=A,
            capacity=CapacityKind.SPOT, asked=asked, expires=asked + 3600, start=asked,
        )  # fmt: skip
        ledger.keep(record)
        for at, seen, end in ((100, 500, 100), (200, 50, 100), (200, 500, 500)):
            ledger.settle(record, asked + at, asked + seen)
            assert [each.end for each in ledger.days(day, day)] == [asked + end]
    finally:
        monkeypatch.undo()
        time.tzset()


# What a sibling says.


def status(name: str = OBJECT, **more: Any) -> str:
    return json.dumps({"version": 1, "object": name, "phase": "ended", "code": 0, **more}, separators=(",", ":"))


def vm_as(account: str) -> dict[str, Any]:
    return {
        "acceleratorType": "v6e-1",
        "runtimeVersion": "v2-alpha-tpuv6e",
        "serviceAccount": {"email": account},
    }


@dataclass
class Pair:
    """A VM of a run, one of another run of its pool that was made before it, and one in another zone."""

    cloud: TestCloud
    found: Record | None = None
    reports: HostReports = field(init=False)

    def __post_init__(self) -> None:
        for vm, zone in ((SIBLING, A), (ELSEWHERE, B), (MINE, A)):
            body = vm_as("nights@my-lab.iam.gserviceaccount.com")
            self.cloud.wall.advance(600)
            self.cloud.control.add_node(f"projects/my-lab/locations/{zone}/nodes/{vm}", body)
        self.node = next(each for each in self.cloud.control.nodes() if each["name"].endswith(MINE))
        given: Mapping[str, Any] = dict.fromkeys(("vms", "ledger", "clock", "sleep", "tell", "log"))
        keys = google_keys(self.cloud.url, CloudClock(self.cloud.control))
        self.reports = HostReports(ports=RunPorts(objects=self, keys=keys, **given))  # type: ignore[arg-type] # ty: ignore[invalid-argument-type]

    def report(self, _name: str) -> Record | None:
        return self.found

    def signed(self, vm: str, text: str, **token: Any) -> str:
        return sealed(text, self.cloud.control.identity_token(vm, audience(text), **token))

    def heard(self, text: str, *, host: int = 0, late: timedelta = timedelta()) -> HostStatus | None:
        """What is believed of a host once this is in its place."""
        generation = self.found.generation + 1 if self.found else 1
        written = CloudClock(self.cloud.control)() + late
        self.found = Record(body=json.loads(text), generation=generation, updated=written, content=text.encode())
        return self.reports.read(host, OBJECT, self.node, A)


@pytest.fixture
def pair(cloud: TestCloud) -> Pair:
    return Pair(cloud)


FORGED: dict[str, tuple[Callable[[Pair], str], str]] = {
    "without proof": (lambda pair: status(), "it has no proof"),
    "by a sibling": (lambda pair: pair.signed(SIBLING, status()), "another machine wrote it|is older than the VM"),
    "by a sibling whose token names no machine": (
        lambda pair: pair.signed(SIBLING, status(), full=False), "another machine wrote it"
    ),
    "in another zone": (lambda pair: pair.signed(ELSEWHERE, status()), f"written in {B}, and the VM is in {A}"),
    "as another account": (
        lambda pair: pair.signed(MINE, status(), claims={"email": "other@my-lab.iam.gserviceaccount.com"}),
        "other@my-lab.iam.gserviceaccount.com wrote it, which is not the VM's account",
    ),
    "with the proof of another text": (
        lambda pair: pair.signed(MINE, status(code=1)).replace('"code":1', '"code":0'), "its proof is foreign-audience"
    ),
    "of another run": (lambda pair: pair.signed(MINE, status(OBJECT.replace("key", "yek"))), "for another run"),
    "with a code that is none": (lambda pair: pair.signed(MINE, status(code="0")), "its code is no number"),
}  # fmt: skip


@pytest.mark.parametrize("how", FORGED)
def test_an_end_that_is_not_the_vms_own_is_not_believed(pair: Pair, how: str) -> None:
    forge, why = FORGED[how]
    running = pair.heard(pair.signed(MINE, status(phase="preparing", code=None)))
    assert (running and running.phase, pair.reports.doubts) == ("preparing", {})
    assert pair.heard(forge(pair)) == running
    assert re.search(why, pair.reports.doubts[0]), pair.reports.doubts
    ended = pair.heard(pair.signed(MINE, status(code=3, log="l", results="r")))
    assert (ended, pair.reports.doubts) == (HostStatus("ended", 3, log="l", results="r"), {})


def test_a_proof_that_is_written_again_later_is_a_copy(pair: Pair) -> None:
    assert pair.heard(pair.signed(MINE, status()), late=timedelta(minutes=11)) is None
    assert pair.reports.doubts == {0: "host 0: it is a copy of an older one"}


def test_one_host_says_nothing_for_another(pair: Pair) -> None:
    assert pair.heard(pair.signed(MINE, status(phase="running", code=None))) is not None
    assert pair.heard(pair.signed(MINE, status()), host=1) is None


def test_without_googles_keys_nothing_is_known_and_nothing_is_forged(pair: Pair) -> None:
    pair.cloud.control.fail("error", method="*certs*", code=503)
    with pytest.raises(RunError, match="reading Google's keys"):
        pair.heard(pair.signed(MINE, status()))
    assert pair.reports.doubts == {}


def test_a_sibling_that_knew_the_prefix_would_change_neither_end_nor_results(lab: Lab, tmp_path: Any) -> None:
    """A whole run, while another VM of its pool writes into it all that it can."""

    def forge(lab: Lab) -> None:
        if not lab.log or MINE not in lab.nodes:
            return
        prefix = metadata(lab)["prefix"]
        objects = BucketObjects(lab.google, lab.config.bucket.name)
        if SIBLING not in lab.nodes:
            (mine,) = (each for each in lab.cloud.control.nodes() if each["name"].endswith(MINE))
            place = f"projects/{lab.config.project}/locations/{A}/nodes/{SIBLING}"
            lab.cloud.control.add_node(place, vm_as(mine["serviceAccount"]["email"]))
            forged = packed(**{"out/z": "forged"})
            text = status(f"{prefix}0/status.json", results=hashlib.sha256(forged).hexdigest())
            token = lab.cloud.control.identity_token(SIBLING, audience(text))
            objects.put(f"{prefix}0/status.json", sealed(text, token).encode())
        if (objects.get(f"{prefix}0/results.tar.gz") or b"") not in (b"", packed(**{"out/z": "forged"})):
            objects.put(f"{prefix}0/results.tar.gz", packed(**{"out/z": "forged"}))

    lab.meanwhile = forge
    request = lab.request("sh", "-c", 'echo begun; echo y >"$TIDEPOOL_OUT/z"; sleep 1; exit 3', results=("out/z",))
    ended = lab.run(request, into=tmp_path / "back")
    lab.cloud.control.remove_node(SIBLING)
    assert (ended.reason, ended.code) == ("failed", 3), (ended, lab.said)
    assert not (tmp_path / "back" / "out" / "z").exists() or (tmp_path / "back" / "out" / "z").read_text() == "y\n"
