"""What a sweep of a healthy fleet costs: `python -m tests.fleet.simulation.sweep_figures [VMS...]`. Judges nothing.

The local cloud with its GitHub is one process, the controller another (`measured_sweep`). It sweeps a fleet that
another one swept before, as a job of Cloud Run's does. VMs and runners are put there; nothing has a guest.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.cloud import daemon
from bench.cloud.github.control import GitHubControl
from infra.fleet.bundle import STUB
from infra.fleet.controller.github import RunnerApi
from infra.fleet.google import Api, clients, execute
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.model.catalogue import CapacityKind
from infra.model.manifest import manifest
from infra.model.runner_names import runner_name
from tests.fleet.declared_records import end_up
from tests.model.given import parse, pool, stack_text

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
MOST_SWEEPS: Final = 30


def main(vms: int) -> None:
    """A fleet, processes that give its VMs their first orders, the one that is measured, and a wave."""
    with tempfile.TemporaryDirectory() as folder:
        url = daemon.ensure_running(Path(folder)).url
        try:
            put(url, vms)
            while not swept(url, 1)["settled"]:
                pass
            found = swept(url, SWEEPS)
            told(vms, found)
            back(url, vms, lambda: swept(url, 1))
        finally:
            daemon.stop(Path(folder))


def swept(url: str, sweeps: int) -> Any:
    """What sweeps of another process cost."""
    given = {"url": url, "ahead": GitHubControl(url).clock()["offset"], "sweeps": sweeps, "token": TOKEN}
    given |= {"project": PROJECT, "bucket": BUCKET, "stack": STACK}
    command = [sys.executable, "-m", "tests.fleet.simulation.measured_sweep", json.dumps(given)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def put(url: str, vms: int) -> None:
    hub, fleet = GitHubControl(url), declared(vms)
    for slot in fleet["slots"]:
        # The default ones, which need no making here.
        del slot["node"]["networkConfig"], slot["node"]["serviceAccount"]
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
        hub.add_runner(REPOSITORY, runner(slot["name"], number), status="online")


def runner(vm: str, number: int) -> str:
    return runner_name(vm, f"{number:06x}")


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
    return manifest(parse(stack_text(pools=given)), bundle="ab", startup_script=STUB.read_text(encoding="utf-8"))


def back(url: str, vms: int, measure: Callable[[], Any]) -> None:
    """Google takes every tenth VM at once; a sweep every two minutes, until one has nothing to do.

    A runner of each VM that was made again comes online within those minutes.
    """
    hub, turns = GitHubControl(url), []
    github, numbers = RunnerApi(api=hub.api, token=lambda _: TOKEN), itertools.count(vms)
    runners = {each.vm: each for each in github.runners(f"repos/{REPOSITORY}")}
    lost = {node["name"] for node in hub.nodes()[::10]}
    for name in lost:
        hub.edit_node(name, {"state": "PREEMPTED"})
        gone = runners[name.rpartition("/")[2]]
        github.remove(gone.scope, gone.id)
    while True:
        turns.append(measure())
        if turns[-1]["settled"] or len(turns) > MOST_SWEEPS:
            break
        hub.advance(120)
        for node in hub.nodes():
            if node["name"] in lost and node["state"] == "READY":
                lost.remove(node["name"])
                hub.add_runner(REPOSITORY, runner(node["name"].rpartition("/")[2], next(numbers)), status="online")
    worst, most = max(turns, key=lambda turn: sum(turn["seconds"])), max(turn["peak"] for turn in turns)
    took, worked = sum(worst["seconds"]), sum(worst["processor"])
    print(  # noqa: T201
        f"  after a wave of one in ten: settled after {len(turns)} sweeps; the longest took {took:.1f} s, "
        f"{worked:.1f} s of processor time; peak memory {most} MB"
    )
    for turn in turns:
        print(f"    {sum(turn['seconds']):.1f} s: {turn['summary']}")  # noqa: T201


def told(vms: int, found: Mapping[str, Any]) -> None:
    asked = found["asked"]
    print(  # noqa: T201
        f"{vms} VMs in {SIZES.get(vms, 3)} zones: {sum(asked.values())} calls, of them {asked['nodes']} lists of nodes "
        f"and {asked['runners']} of runners; peak memory {found['peak']} MB, {found['before']} MB of it imports"
    )
    for when, kept in (("the first sweep of a process", slice(1)), ("later ones", slice(1, None))):
        took, worked, decided = (median(found[each][kept]) for each in ("seconds", "processor", "deciding"))
        print(  # noqa: T201
            f"  {when}: {took:.2f} s, {worked:.2f} s of processor time, {1000 * decided:.1f} ms of it deciding"
        )


if __name__ == "__main__":
    for each in map(int, sys.argv[1:] or SIZES):
        main(each)
