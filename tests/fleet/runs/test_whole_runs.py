"""Whole runs over real HTTP: the VM's own program on a simulated guest, obstacles, cancels, kills, and the janitor."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench.cloud.control import CloudClock, Control
from bench.guests.runs import RunGuests
from infra.fleet.broker.identity import google_keys
from infra.fleet.google import Api, Clients, clients, execute
from infra.fleet.records import Records
from infra.fleet.runs.cloud import BucketLedger, BucketObjects, GoogleTpuVms
from infra.fleet.runs.decide import RunEnd
from infra.fleet.runs.delete import clean_up
from infra.fleet.runs.ports import RunPorts
from infra.fleet.runs.run import Run
from infra.model import bucket_names
from infra.model.catalogue import AcceleratorType
from infra.model.run_records import Ceilings, RunVmRecord, day_records
from infra.model.runs import RunRequest, RunTimes, run_places
from infra.model.schema import StackConfig
from tests.fleet.runs.archives import packed
from tests.model.given import parse, pool, stack_text

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

ROOT = Path(__file__).parents[3]
A, B = "us-central1-b", "us-east5-a"
NIGHTS = pool(
    name="nights", accelerator="v6e-1", zones=f"{{{A}: 0}}", capacity="spot", trust="fork",
    fallback=f"[{{zone: {B}, capacity: on-demand}}]",
)  # fmt: skip
RUNS = f"{{pool: nights, accelerators: [v6e-1], zones: [{A}, {B}], per_day: 3, at_once: 2, time_to_live_minutes: 60}}"
TIMES = RunTimes(create=600, ready=600, limit=600, delete=30, spare=60)


@dataclass
class Lab:
    """A stack's bucket on a local cloud, and runs on it. said: what people are told. log: what commands printed."""

    cloud: TestCloud
    config: StackConfig
    google: Clients
    folder: Path
    said: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    pace: float = 1.0
    meanwhile: Callable[[Lab], object] = lambda _: None

    @property
    def guests(self) -> RunGuests:
        return RunGuests(Control(self.cloud.url), self.folder / "guests")

    def request(self, *command: str, **given: Any) -> RunRequest:
        places = run_places(self.config, AcceleratorType.parse("v6e-1"), (), given.pop("kinds", ()))
        plain = [
            place.model_copy(
                update={"node": {k: v for k, v in place.node.items() if k not in ("networkConfig", "serviceAccount")}}
            )
            for place in places
        ]
        usual: dict[str, Any] = {
            "stack": "ci", "project": self.config.project, "bucket": self.config.bucket.name, "pool": "nights",
            "accelerator": "v6e-1", "places": plain, "zones": (A, B), "contained": True,
            "command": command or ("true",), "times": TIMES, "suite": "tpu",
        }  # fmt: skip
        return RunRequest(**usual | given)

    def declare(self, per_day: int = 3, at_once: int = 2, stack: str = "ci") -> None:
        """What `up` declares of a stack's runs."""
        name, body = bucket_names.run_ceilings_object(stack), Ceilings(per_day, at_once).to_json()
        Records(google=self.google, bucket=self.config.bucket.name).update(name, lambda _: body)

    def run(self, request: RunRequest, run: str = "7", **given: Any) -> RunEnd:
        return Run(request=request, run=run, attempt=1, ports=self.ports(request), **given).whole()

    def ports(self, request: RunRequest) -> RunPorts:
        clock = CloudClock(self.cloud.control)
        return RunPorts(
            vms=GoogleTpuVms(self.google),
            objects=BucketObjects(self.google, request.bucket),
            ledger=BucketLedger(Records(google=self.google, bucket=request.bucket), request.stack),
            keys=google_keys(self.cloud.url, clock),
            clock=lambda: clock().timestamp(),
            sleep=self.sleep,
            tell=self.said.append,
            log=lambda _, piece: self.log.append(piece.decode()),
            poll=5.0,
        )

    def sleep(self, seconds: float) -> None:
        """A moment of real time, in which the guest works, and as much of the cloud's as was asked for."""
        self.slept.append(seconds)
        self.cloud.control.advance(seconds * self.pace)
        self.guests.settle()
        self.meanwhile(self)
        time.sleep(0.05)

    @property
    def nodes(self) -> dict[str, str]:
        return {node["name"].rpartition("/")[2]: node["state"] for node in self.cloud.control.nodes()}

    def records(self) -> dict[str, RunVmRecord]:
        """Of today and of the day before: a client counts by the wall's clock, and the cloud's runs ahead of it."""
        today = datetime.fromtimestamp(self.cloud.control.clock()["seconds"], UTC).date()
        kept = Records(google=self.google, bucket=self.config.bucket.name)
        bodies = [kept.body(bucket_names.run_day_object(day)) for day in (today - timedelta(days=1), today)]
        return {each.vm: each for body in bodies for each in day_records(body)}


@pytest.fixture
def lab(cloud: TestCloud, tmp_path: Path) -> Iterator[Lab]:
    config = parse(stack_text(pools=NIGHTS, runs=RUNS))
    with clients(config.project, cloud.url) as google:
        body = {"name": config.bucket.name, "location": "us"}
        execute(google.api(Api.STORAGE).buckets().insert(project=config.project, body=body), "making a bucket")
        made = Lab(cloud, config, google, tmp_path)
        made.declare()
        yield made
        for node in cloud.control.nodes():
            cloud.control.remove_node(node["name"])
        made.guests.settle()


def test_a_command_runs_in_a_copy_of_the_tree_and_brings_back_its_results(lab: Lab, tmp_path: Path) -> None:
    lines = (
        "cat sub/a.txt", 'echo "run $RUN as $WHO"', "mkdir r", "echo x >r/one.xml", "ln -s /etc/passwd r/two.xml",
        'echo y >"$TIDEPOOL_OUT/z"', "ln -s /etc l",
    )  # fmt: skip
    script = "\n".join(lines)
    request = lab.request(
        "sh", "-c", script, env={"RUN": "{run}", "WHO": "me"}, results=("r/*.xml", "l/passwd", "out/z", "missing")
    )  # fmt: skip
    ended = lab.run(request, tree=packed(**{"sub/a.txt": "of the tree\n"}), into=tmp_path / "back")
    assert (ended.reason, ended.code, ended.left) == ("done", 0, ""), (ended, lab.log)
    assert "".join(lab.log) == "of the tree\nrun 7-1 as me\n"
    assert ended.results == ("out/z", "r/one.xml"), "a link brings back nothing"
    assert (tmp_path / "back" / "r" / "one.xml").read_text() == "x\n"
    assert lab.nodes == {}
    (record,) = lab.records().values()
    assert (record.vm, record.zone, record.capacity, record.suite, record.reason) == (
        "nights-run-7-1", A, "spot", "tpu", "done"
    )  # fmt: skip
    assert record.end is not None
    assert record.start is not None
    assert record.end - record.start == ended.vm_seconds > 0


def test_a_command_that_takes_too_long_is_ended_on_the_vm(lab: Lab) -> None:
    lab.pace, limit = 0.05, TIMES.model_copy(update={"limit": 1})
    ended = lab.run(lab.request("sh", "-c", "trap 'echo asked; exit 1' TERM; sleep 60 & wait", times=limit))
    assert (ended.reason, lab.nodes) == ("timed-out", {})
    assert lab.log[:1] in (["asked\n"], ["Terminated\nasked\n"])


# Obstacles.


def test_zones_and_kinds_are_tried_in_turn_and_what_came_of_each_is_told(lab: Lab) -> None:
    lab.cloud.control.fail("stockout", zone=A)
    lab.cloud.control.limit(project=lab.config.project, zone=B, generation="v6e", chips=0, capacity="preemptible")
    ended = lab.run(lab.request("true", kinds=("spot", "on-demand")))
    assert (ended.reason, ended.zone, ended.capacity) == ("done", B, "on-demand"), lab.said
    told = [line.split(":")[0:2] for line in lab.said if ": " in line and not line.startswith("asking")]
    assert [(place, what.strip()) for place, what in told] == [
        (f"{A} spot", "stockout"), (f"{B} spot", "quota"), (f"{A} on-demand", "stockout"),
    ]  # fmt: skip


def test_a_create_whose_answer_is_lost_is_still_the_runs_own(lab: Lab) -> None:
    lab.cloud.control.fail("lost", method="tpu.projects.locations.nodes.create", count=1)
    ended = lab.run(lab.request("true"))
    assert (ended.reason, lab.nodes) == ("done", {}), lab.said


def test_a_zone_whose_service_says_nothing_keeps_no_other_zone_from_its_turn(lab: Lab) -> None:
    def mend(lab: Lab) -> None:
        if f"asking for v6e-1 in {B}, preemptible" in lab.said:
            lab.cloud.control.mend()

    lab.meanwhile = mend
    for method, code in (("create", 503), ("get", 400), ("delete", 400)):  # a client waits before it repeats a 503
        lab.cloud.control.fail("error", method=f"tpu.projects.locations.nodes.{method}", zone=A, code=code)
    ended = lab.run(lab.request("true", kinds=("preemptible",)))
    assert (ended.reason, ended.zone) == ("done", B), lab.said
    assert sum(lab.slept) < TIMES.create / 2


def test_looks_that_fail_do_not_end_a_command(lab: Lab) -> None:
    def fail(lab: Lab) -> None:
        if lab.log:
            lab.meanwhile = lambda _: None
            for method in ("storage.objects.get", "tpu.projects.locations.nodes.get"):
                lab.cloud.control.fail("error", method=method, code=400, count=2)

    lab.meanwhile = fail
    ended = lab.run(lab.request("sh", "-c", "echo begun; sleep 0.5; echo over"))
    assert (ended.reason, "".join(lab.log)) == ("done", "begun\nover\n"), ended
    assert any(line.startswith("looking again: ") for line in lab.said)


def test_what_no_metadata_can_hold_is_refused_before_anything_is_made(lab: Lab) -> None:
    ended = lab.run(lab.request("true", env={"A": "x" * 300_000}), tree=packed(a="b"))
    assert ended.reason == "refused"
    assert "and metadata holds 262144; shorten the command or its variables" in ended.says
    assert (lab.said, lab.records()) == ([], {})


# Ceilings.


def test_runs_over_the_ceiling_of_a_day_make_nothing(lab: Lab) -> None:
    for run in ("1", "2", "3"):
        assert lab.run(lab.request(), run).done
    ended = lab.run(lab.request(), "4")
    assert ended.reason == "ceiling"
    assert ended.says.startswith("runs of stack ci have made 3 VMs on 2026-11-21 (UTC), and may make 3 a day")
    assert len(lab.records()) == 3
    lab.declare(per_day=4)
    assert lab.run(lab.request(), "4").done, "an edit of the stack file reaches runs that nobody generated anew"


# Ends that nobody planned.


@pytest.mark.parametrize("who", ["client", "clean-up"])
def test_a_list_that_leaves_the_vm_out_keeps_it_from_nobody(lab: Lab, who: str) -> None:
    """Lists lag; the record says what the VM is called, and where it stands."""

    def lie(lab: Lab) -> None:
        if lab.log:
            lab.meanwhile = lambda _: None
            lab.cloud.control.fail("missing", method="tpu.projects.locations.nodes.list", probability=1.0)
            if who == "clean-up":
                ports = lab.ports(lab.request())
                assert clean_up((A, B), "7", ports, until=ports.clock() + 60) == ""

    lab.meanwhile = lie
    lab.run(lab.request("sh", "-c", "echo begun; sleep 0.3"))
    lab.cloud.control.mend()
    assert lab.nodes == {}
    assert lab.records()["nights-run-7-1"].end is not None


def test_what_cannot_be_deleted_is_told_with_its_zone(lab: Lab) -> None:
    lab.cloud.control.fail("error", method="tpu.projects.locations.nodes.delete", code=400)
    ended = lab.run(lab.request())
    assert (ended.reason, ended.done, ended.left) == ("done", False, f"nights-run-7-1 in {A} (READY)")
    assert lab.records()["nights-run-7-1"].end is None, "it stands, and counts"


# The job of a generated workflow: the same code as a process, ended and killed.


class Job:
    """`python -m infra.fleet.runs` as GitHub's runner starts it, while guests live."""

    def __init__(self, lab: Lab, request: RunRequest, *verb: str) -> None:
        self.lab = lab
        self.folder = lab.folder / "job"
        self.folder.mkdir(exist_ok=True)
        # A job counts by the wall's clock, behind which the cloud's shall not be.
        lab.cloud.control.advance(max(0.0, time.time() - lab.cloud.control.clock()["seconds"]))
        told = {
            "REQUEST": request.model_dump_json(), "RUN_ID": "7", "ATTEMPT": "1", "COMMIT": "f" * 40,
            "POLL_SECONDS": "0.1", "PROJECT": request.project, "BUCKET": request.bucket, "DELETE_SECONDS": "30",
            "ZONES": " ".join(request.zones),
            "RESULTS": str(self.folder / "results"), "GITHUB_OUTPUT": str(self.folder / "output"),
            "TIDEPOOL_GOOGLE_ENDPOINT": lab.cloud.url, "PATH": os.environ["PATH"], "HOME": str(self.folder),
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-m", "infra.fleet.runs", *(verb or ("run",))],
            env=told, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.lines: list[str] = []

    def until(self, wanted: str) -> None:
        """Let guests live until it says so."""
        reader = threading.Thread(target=self._read, daemon=True)
        reader.start()
        deadline = time.monotonic() + 60
        while not any(wanted in line for line in self.lines):
            assert time.monotonic() < deadline, self.lines
            assert self.process.poll() is None or any(wanted in line for line in self.lines), self.lines
            self.step()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(line.rstrip("\n"))

    def step(self) -> None:
        self.lab.cloud.control.advance(1)
        self.lab.guests.settle()
        time.sleep(0.05)

    def end(self) -> int:
        deadline = time.monotonic() + 60
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.lines
            self.step()
        if self.process.stdout and not self.process.stdout.closed:
            time.sleep(0.1)
            self.process.stdout.close()
        return self.process.returncode


def killed(lab: Lab, seconds: int = 60) -> None:
    """A job whose command would run for so long, ended by kill -9 once it began."""
    job = Job(lab, lab.request("sh", "-c", f"echo begun; sleep {seconds}"))
    job.until("| begun")
    job.process.kill()
    assert job.end() == -signal.SIGKILL


def test_a_jobs_result_says_what_the_vm_does_not_decide(lab: Lab) -> None:
    said = json.dumps(
        {
            "ok": True,
            "run": "forged",
            "missing": "forged",
            "tests": {"t": {"seconds": 1, "outcome": "failed"}},
            "seconds": 2,
        }
    )
    script = f"echo '{said}' >\"$TIDEPOOL_OUT/result.json\"; echo '::error::forged'; exit 1"
    job = Job(lab, lab.request("sh", "-c", script, results=("out/result.json",)))
    job.until("vmSeconds")
    assert job.end() == 1
    assert "| ::error::forged" in job.lines
    result = json.loads((job.folder / "results" / "tpu.json").read_text())
    assert (result["ok"], result["run"], result["suite"], result["commit"]) == (False, "7-1", "tpu", "f" * 40)
    assert result["missing"] == "", "the VM does not say that it was taken back"
    assert (result["seconds"], result["tests"]["t"]["outcome"]) == (2, "failed")
    result = job.folder / "results" / "tpu.json"
    assert (job.folder / "output").read_text() == f"ended=failure\nreason=failed\nresult={result}\n"


@pytest.mark.parametrize(
    "sent", [signal.SIGTERM, signal.SIGHUP, pytest.param(signal.SIGINT, marks=pytest.mark.heavy)], ids=str
)
def test_a_job_that_is_ended_deletes_its_vm_first(lab: Lab, sent: signal.Signals) -> None:
    job = Job(lab, lab.request("sh", "-c", "echo begun; sleep 60"))
    job.until("| begun")
    job.process.send_signal(sent)
    job.until("vmSeconds")
    assert job.end() == 1
    assert (lab.nodes, (job.folder / "output").read_text().partition("=")[2].partition("\n")[0]) == ({}, "cancelled"), (
        job.lines
    )


def test_a_job_that_is_killed_leaves_its_vm_to_the_clean_up_of_its_run(lab: Lab) -> None:
    killed(lab)
    assert lab.nodes == {"nights-run-7-1": "READY"}
    assert lab.records()["nights-run-7-1"].end is None, "it stands, and counts"
    assert Job(lab, lab.request(), "delete").end() == 0
    assert lab.nodes == {}
    record = lab.records()["nights-run-7-1"]
    assert record.reason == "client-lost"
    assert record.end is not None
    assert record.start is not None
    assert record.start < record.end < record.expires
    assert record.vm_seconds(record.expires) < TIMES.limit, "it stood until then, and no longer"
    lab.cloud.control.advance(300)
    assert Job(lab, lab.request(), "delete").end() == 0
    assert lab.records()["nights-run-7-1"] == record, "it is ended once"
    lab.declare(at_once=1)
    assert lab.run(lab.request(), "8").done, "it takes nobody's place"


def test_two_clients_of_one_run_never_share_a_vm(lab: Lab) -> None:
    def second(lab: Lab) -> None:
        if lab.log:
            lab.meanwhile = lambda _: None
            ends.append(lab.run(lab.request("echo", "mine")))

    ends: list[RunEnd] = []
    lab.meanwhile = second
    ended = lab.run(lab.request("sh", "-c", "echo begun; sleep 0.5; echo over"))
    assert (ended.reason, "".join(lab.log)) == ("done", "begun\nover\n")
    assert [each.reason for each in ends] == ["refused"]
    assert ends[0].says == "nights-run-7-1 was claimed by another client: two runs never share a number"
    assert [each.reason for each in lab.records().values()] == ["done"]
