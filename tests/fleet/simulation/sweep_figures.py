"""What a sweep of a healthy fleet costs: `python -m tests.fleet.simulation.sweep_figures [VMS...]`. Judges nothing.

The local cloud with its GitHub is one process, the controller another. It sweeps a fleet that another one swept before,
as a job of Cloud Run's does. VMs and runners are put there; nothing has a guest.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final
from unittest.mock import patch

import httplib2
import urllib3

from infra.fleet.controller import sweep as sweeping
from infra.fleet.controller.act import Actor
from infra.fleet.controller.github import RunnerApi
from infra.fleet.controller.observe import Observer
from infra.fleet.controller.sweep import Sweeper
from infra.fleet.google import Api, clients, execute
from infra.fleet.records import Records, encode
from infra.local.cloud import daemon
from infra.local.cloud.github.control import GitHubControl
from infra.model import bucket_names
from infra.model.catalogue import CapacityKind
from infra.model.manifest import manifest
from tests.fleet.declared_records import end_up
from tests.model.given import parse, pool, stack_text

NAME: Final = "tests.fleet.simulation.sweep_figures"
PROJECT, BUCKET, STACK, REPOSITORY = "my-lab", "my-lab-ci", "ci", "a-lab/code"
TOKEN: Final = "a-token-of-the-local-github"
V5E: Final = ("us-west4-a", "us-central1-a", "europe-west4-b", "us-west1-c", "us-south1-a", "us-east1-b")
V6E: Final = (
    *("us-central1-b", "us-east1-d", "us-east5-a", "us-east5-b", "europe-west4-a", "asia-northeast1-b"),
    *("southamerica-west1-a", "us-central1-a", "us-central1-c", "us-west1-c", "us-east5-c", "us-south1-a"),
)
UNLISTED: Final = {"v5litepod-4": V5E[5:], "v6e-4": V6E[7:]}
SIZES: Final = {6: 3, 100: 3, 1000: 6, 10_000: 12}
"""Zones by VMs."""
SWEEPS: Final = 9


def main(vms: int) -> None:
    """A fleet, a process that gives its VMs their first orders, and the one that is measured."""
    with tempfile.TemporaryDirectory() as folder:
        url = daemon.ensure_running(Path(folder)).url
        try:
            put(url, vms)
            swept = [sys.executable, "-m", NAME, "--controller", url, str(vms)]
            subprocess.run(swept, check=True, stdout=subprocess.DEVNULL)
            subprocess.run(swept, check=True)
        finally:
            daemon.stop(Path(folder))


def put(url: str, vms: int) -> None:
    hub, fleet = GitHubControl(url), declared(vms)
    hub.keep_repository(REPOSITORY)
    hub.add_token(TOKEN, "controller")
    with clients(PROJECT, url) as google:
        body = {"name": BUCKET, "location": "us"}
        execute(google.api(Api.STORAGE).buckets().insert(project=PROJECT, body=body), "making a bucket")
        records = Records(google=google, bucket=BUCKET)
        records.update(bucket_names.manifest_object(STACK), lambda _: fleet)
        end_up(records, STACK)
    for number, slot in enumerate(fleet["slots"]):
        hub.add_node(f"projects/{PROJECT}/locations/{slot['zone']}/nodes/{slot['name']}", slot["node"])
        hub.add_runner(REPOSITORY, f"{slot['name']}-{number:06x}", status="online")


def declared(vms: int, capacity: CapacityKind = CapacityKind.PREEMPTIBLE) -> dict[str, Any]:
    number = SIZES.get(vms, 3)
    accelerator, zones = ("v5litepod-4", V5E[:number]) if number <= len(V5E) else ("v6e-4", V6E)
    unlisted = ", ".join(f"{zone}: for these figures" for zone in zones if zone in UNLISTED[accelerator])
    counts = {zone: vms // len(zones) + (index < vms % len(zones)) for index, zone in enumerate(zones)}
    given = pool(
        name="tpu-ci",
        zones="{" + ", ".join(f"{zone}: {count}" for zone, count in counts.items()) + "}",
        capacity=capacity.value,
        serves=f"[{REPOSITORY}]",
        accelerator=accelerator,
        unlisted_zone=f"{{{unlisted}}}" if unlisted else None,
    )
    return manifest(parse(stack_text(pools=given)), bundle="ab", startup_script="#!/bin/sh")


@dataclass(slots=True)
class Meter:
    """What one sweep came to. asked: calls by what they are."""

    asked: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    deciding: list[float] = field(default_factory=list)

    def wrapped(self, method: Any, url_at: int) -> Any:
        def request(*given: Any, **more: Any) -> Any:
            self.asked[kind(str(given[url_at]))] += 1
            return method(*given, **more)

        return request

    def timed(self, decide: Any) -> Any:
        def timed(*given: Any) -> Any:
            began = time.process_time()
            decision = decide(*given)
            self.deciding.append(time.process_time() - began)
            return decision

        return timed


def kind(url: str) -> str:
    path = url.partition("?")[0]
    if path.endswith("/actions/runners"):
        return "runners"
    return "nodes" if path.endswith("/nodes") else "others"


def controller(url: str, vms: int) -> None:
    """Sweep after sweep, as the command does."""
    meter, before = Meter(), peak()
    github = RunnerApi(api=GitHubControl(url).api, token=lambda _: TOKEN)
    swept = None
    with (
        clients(PROJECT, url) as google,
        patch.object(sweeping, "decide", meter.timed(sweeping.decide)),
        patch.object(httplib2.Http, "request", meter.wrapped(httplib2.Http.request, 1)),
        patch.object(urllib3.PoolManager, "request", meter.wrapped(urllib3.PoolManager.request, 2)),
    ):
        records = Records(google=google, bucket=BUCKET)
        sweeper = Sweeper(
            stack=STACK,
            records=records,
            observer=Observer(project=PROJECT, bucket=BUCKET, endpoint=url, github=github),
            actor=lambda desired: Actor(google=google, records=records, github=github, desired=desired),
            clock=lambda: datetime.now(UTC),
        )
        for _ in range(SWEEPS):
            meter.asked.clear()
            began, worked = time.perf_counter(), time.process_time()
            swept = sweeper.sweep()
            meter.seconds.append(time.perf_counter() - began)
            meter.processor.append(time.process_time() - worked)
        memory = records.read(bucket_names.memory_object(STACK))
    assert swept is not None
    assert swept.settled, swept.to_json()
    assert memory is not None
    size = len(encode(memory.body))
    asked, zones = meter.asked, len(swept.desired.zones)
    lists = f"of them {asked['nodes']} lists of nodes and {asked['runners']} of runners"
    print(  # noqa: T201
        f"{vms} VMs in {zones} zones: {asked.total()} calls, {lists}; memory.json {size / 1000:.0f} kB; "
        f"peak memory {peak()} MB, {before} MB before the first sweep"
    )
    for when, kept in (("the first sweep of a process", slice(1)), ("later ones", slice(1, None))):
        took, worked, decided = (median(each[kept]) for each in (meter.seconds, meter.processor, meter.deciding))
        print(  # noqa: T201
            f"  {when}: {took:.2f} s, {worked:.2f} s of processor time, {1000 * decided:.1f} ms of it deciding"
        )


def peak() -> int:
    """Largest resident megabytes so far; Linux counts in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 // 1_000_000


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--controller", at, fleet_size]:
            controller(at, int(fleet_size))
        case sizes:
            for each in map(int, sizes or SIZES):
                main(each)
