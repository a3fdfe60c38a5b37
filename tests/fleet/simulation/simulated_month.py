"""A month of nights and labelled runs on the local cloud, by its clock: runs, janitor, results, reports and cost.

Real, over HTTP: `Run` with its ports, the controller's sweeps, results and their reports, what GitHub is told, cost, a
client that is killed. Not real: time, and what a VM does, which here is done for it: its status and its results are
objects that appear when they are due (tests/fleet/runs/test_whole_runs.py runs the VM's own program).
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from click.testing import CliRunner

from bench.cloud.control import Control
from infra.cli.app import cli
from infra.fleet.controller.github import RunnerApi
from infra.fleet.google import Api, Clients, execute
from infra.fleet.records import Records
from infra.fleet.runs.cloud import BucketObjects
from infra.fleet.runs.decide import RunEnd
from infra.fleet.runs.run import Run
from infra.fleet.runs.signals import cancellable
from infra.github.client import WORKFLOW_LOGIN
from infra.model import bucket_names, names
from infra.model.manifest import manifest
from infra.model.run_labels import read as run_labels
from infra.model.run_records import Ceilings, RunVmRecord, day_records
from infra.model.runs import RunRequest
from infra.model.schema import StackConfig
from infra.operations.run_on import RunOrder, run_request
from tests.fleet.controller.swept_lab import sweeper
from tests.fleet.declared_records import end_up
from tests.fleet.simulation.killed_client import ports
from tests.fleet.simulation.played_vm import INSTALLS, Planned, PlayedVm

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

A, B = "us-central1-b", "us-east5-a"
SUITE, REPOSITORY, TOKEN = "tpu", "lab/serving", "workflow-token"
SWEEP: Final = 240.0
"""Seconds between two sweeps while a VM stands."""
GRACE: Final = SWEEP + 120.0
"""For how long a VM may stand once its run has ended, or its time to live is over: a sweep, and its deletion."""


@dataclass
class Stood:
    """One VM as the cloud had it. ready, until: when it was first and last seen READY. last: when last seen at all."""

    run: str
    expires: float
    zone: str
    ready: float | None = None
    until: float = 0.0
    last: float = 0.0


@dataclass
class Month:
    """stood: every VM of a run, by name. ended: when each run's client ended, or was killed. reports: one a result."""

    cloud: TestCloud
    config: StackConfig
    google: Clients
    folder: Path
    commits: Mapping[str, str]
    stood: dict[str, Stood] = field(default_factory=dict)
    ended: dict[str, RunEnd | None] = field(default_factory=dict)
    over: dict[str, float] = field(default_factory=dict)
    reports: dict[str, dict[str, Any]] = field(default_factory=dict)
    planned: Planned | None = None
    _guests: dict[str, PlayedVm] = field(default_factory=dict)
    _swept: float = 0.0

    def __post_init__(self) -> None:
        self.cloud.control.set_compression(1)
        self.github = Control(self.cloud.url)
        permissions = {"pull-requests": "write", "issues": "write", "statuses": "write"}
        self.github.add_token(TOKEN, WORKFLOW_LOGIN, app=True, permissions=permissions)
        self.github.add_repository(REPOSITORY)
        results_bucket = self.config.results.bucket.name if self.config.results else ""
        for bucket in (self.config.bucket.name, results_bucket):
            body = {"name": bucket, "location": "us-central1"}
            execute(self.google.api(Api.STORAGE).buckets().insert(project=self.config.project, body=body), "a bucket")
        self.records = Records(google=self.google, bucket=self.config.bucket.name)
        document = manifest(self.config, bundle="ab" * 32, startup_script="#!/bin/sh")
        self.records.update(bucket_names.manifest_object(self.config.stack), lambda _: document)
        runs = self.config.runs
        assert runs is not None
        ceilings = Ceilings(runs.per_day, runs.at_once).to_json()
        self.records.update(bucket_names.run_ceilings_object(self.config.stack), lambda _: ceilings)
        end_up(self.records, self.config.stack)
        self.objects = BucketObjects(self.google, self.config.bucket.name)

    @property
    def now(self) -> float:
        return self.cloud.wall.seconds

    # Time

    def wait_until(self, moment: float) -> None:
        """Nothing is asked for meanwhile, but the controller sweeps while a VM stands."""
        while self._look():
            if self.now + SWEEP > moment:
                break
            self._pass(SWEEP)
        self._pass(max(0.0, moment - self.now))
        self._look()

    def _sleep(self, asked: float) -> None:
        """At least as long as asked for; longer where nothing happens until the next event that is planned."""
        told = self._look()
        due = [each["due"] for each in told if each["due"] is not None]
        ready = {f"{name.rpartition('/')[2]} {name.split('/')[3]}" for name in _ready(told)}
        due += [guest.ends for name, guest in self._guests.items() if name in ready and not guest.done]
        due += [self._swept + SWEEP] if told else []
        self._pass(max(asked, min((each for each in due if each > self.now), default=0.0) - self.now))
        self._look()

    def _pass(self, seconds: float) -> None:
        self.cloud.wall.advance(seconds)

    def _look(self) -> list[dict[str, Any]]:
        """Note what stands, let guests live, and sweep where it is time; every node, with what is due of it."""
        told = Control(self.cloud.url).guests()["nodes"]
        for each in told:
            self._note(each["node"])
        if not told:
            self._swept = self.now
        elif self.now - self._swept >= SWEEP:
            self._swept = self.now
            self.sweep()
        return told

    def _note(self, node: Mapping[str, Any]) -> None:
        name, labels = node["name"].rpartition("/")[2], run_labels(node["labels"])
        assert labels is not None, f"{name} is nobody's"
        zone = node["name"].split("/")[3]
        stood = self.stood.setdefault(f"{name} {zone}", Stood(labels.run, labels.expires, zone))
        stood.last = self.now
        if node["state"] == "READY":
            stood.ready, stood.until = stood.ready or self.now, self.now
            self._played(name, zone, node).live(self.now)

    def _played(self, name: str, zone: str, node: Mapping[str, Any]) -> PlayedVm:
        key = f"{name} {zone}"
        if key not in self._guests:
            assert self.planned is not None
            prefix = json.loads(node["metadata"]["tidepool-run"])["prefix"]
            token = partial(self.cloud.control.identity_token, node["name"])
            self._guests[key] = PlayedVm(self.objects, token, prefix, self.planned, self.now)
        return self._guests[key]

    # Runs

    def run(self, planned: Planned) -> None:
        """One run as its job does it, with what befalls it; then its result is kept and told."""
        self.wait_until(planned.at.timestamp())
        self.planned = planned
        for zone in (A, B)[: planned.zones]:
            self.cloud.control.fail("stockout", zone=zone)
        if planned.befalls.startswith("killed"):
            self._killed(planned)
        else:
            self.ended[planned.run] = self._client(planned)
        self.over[planned.run] = self.now
        self.cloud.control.mend()
        ended = self.ended[planned.run]
        if ended is not None and ended.results:
            self._tell(planned, ended)

    def request(self) -> RunRequest:
        order = RunOrder(
            accelerator="v6e-1", command=("tests",), suite=SUITE, results=("out/*.xml",), zones=(A, B), rounds=2
        )
        made = run_request(self.config, order)
        # The network and the accounts are the program's, which is not applied here.
        of_the_program = ("networkConfig", "serviceAccount")
        places = tuple(
            place.model_copy(update={"node": {k: v for k, v in place.node.items() if k not in of_the_program}})
            for place in made.places
        )
        return made.model_copy(update={"places": places})

    def _client(self, planned: Planned) -> RunEnd:
        request, into = self.request(), self.folder / planned.run

        befalls = [planned.befalls] if planned.befalls else []

        def sleep(seconds: float) -> None:
            if self._runs() and befalls:
                self._pass(INSTALLS / 2)
                if befalls.pop() == "cancelled":
                    signal.raise_signal(signal.SIGTERM)
                self.cloud.control.preempt(names.run_vm_name(request.pool, planned.run, 1))
            self._sleep(seconds)

        with cancellable():
            port = ports(request, self.google, lambda: self.now, sleep)
            return Run(request=request, run=planned.run, attempt=1, ports=port, into=into).whole()

    def _killed(self, planned: Planned) -> None:
        """The client is a process, which goes on with a line for each of its waits, until it is killed."""
        client = subprocess.Popen(
            [sys.executable, "-m", "tests.fleet.simulation.killed_client", self.cloud.url, planned.run],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3],
        )  # fmt: skip
        assert client.stdin is not None
        assert client.stdout is not None
        line = self.request().model_dump_json()
        with client:
            while not (self._runs() if planned.befalls == "killed" else self._created()):
                client.stdin.write(f"{line}\n")
                client.stdin.flush()
                asked, line = client.stdout.readline(), ""
                assert asked, "the client ended by itself"
                self._sleep(float(asked))
            client.kill()
        self.ended[planned.run] = None

    def _created(self) -> bool:
        """Whether the VM of the run that is at work was seen."""
        return any(stood.run == self._run for stood in self.stood.values())

    def _runs(self) -> bool:
        """Whether its tests run, and its client has seen that."""
        return any(
            stood.run == self._run and stood.ready and stood.ready < self.now and not self._guests[name].done
            for name, stood in self.stood.items()
        )

    @property
    def _run(self) -> str:
        return self.planned.run if self.planned else ""

    # What is told of it

    def _tell(self, planned: Planned, ended: RunEnd) -> None:
        """As a job's steps do, by the commands."""
        told, out = self.folder / f"{planned.run}.json", self.folder / planned.run / "out"
        told.write_text(json.dumps(ended.to_json()))
        of = ("--branch", "main") if planned.pull is None else ("--branch", "edit", "--pull", str(planned.pull))
        self._results(
            "publish", SUITE, "--run", planned.run, "--hardware", ended.accelerator, "--version", "jax=0.8.0", *of,
            "--commit", self.commits[planned.run], "--at", f"{planned.at:%Y-%m-%dT%H:%M:%S}", "--vm", str(told),
            "--junit", str(out / "junit.xml"), "--coverage", str(out / "coverage.xml"),
        )  # fmt: skip
        self.reports[planned.run] = self._results("report", SUITE, "--run", planned.run, "--post")

    def _results(self, *words: str) -> dict[str, Any]:
        posting = {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": self.github.api, "GITHUB_REPOSITORY": REPOSITORY}
        done = CliRunner().invoke(cli, ["results", *words, "--json"], env=posting, prog_name="tidepool")
        said = json.loads(done.stdout)
        assert "error" not in said, said
        return said

    # The controller

    def sweep(self) -> None:
        sweeper(self.cloud, self.config, self.google, self._api).sweep()

    @property
    def _api(self) -> RunnerApi:
        return RunnerApi(api=self.github.api, token=lambda _: TOKEN)

    def day(self, planned: Planned) -> dict[str, RunVmRecord]:
        """What the fleet bucket has of the VMs of that day, by run."""
        return {
            each.run: each for each in day_records(self.records.body(bucket_names.run_day_object(planned.at.date())))
        }


def _ready(told: list[dict[str, Any]]) -> list[str]:
    return [each["node"]["name"] for each in told if each["node"]["state"] == "READY"]


def outlived(stood: Stood, month: Month) -> float:
    """For how many seconds a VM stood after its run had ended; after its time to live, where its client was killed."""
    ended = stood.expires if month.ended[stood.run] is None else month.over[stood.run]
    return max(0.0, stood.last - ended)
