"""A VM from its boot to its third registration: the real shell files, the real broker, signed tokens, GitHub's runners.

The VM is a sandbox whose metadata server gives out the local cloud's identity tokens and whose bucket is the local
cloud's. In place of Docker stands a script that does what GitHub's program in the container does.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from bench.cloud.control import CloudClock, Control
from bench.guests.guests import Guests
from infra.fleet.broker.serve import service
from infra.fleet.runner.supervisor.boot import STEPS
from infra.model import bucket_names
from infra.model.runner_names import vm_of
from tests.fleet.broker.broker_world import ADMIN, BUCKET, PROJECT, REPO, SECOND, VM, World
from tests.fleet.sandbox import IMAGE, NEEDED, Sandbox, sandbox

RUNNER_PROGRAM = """
tell() { "$REAL_CURL" -fsS --data "$2" "%s/_tidepool/$1"; }
mine="{\\"jit\\":\\"$jit\\"}"
tell connect "$mine" >/dev/null || exit 1
echo "2026-11-21 08:00:00Z: Listening for Jobs"
job=$(tell take_work "$mine" | jq -r '.name // empty')
[[ -n $job ]] || exit 0
echo "2026-11-21 08:00:01Z: Running job: $job"
tell advance '{"seconds": 60}' >/dev/null
tell end_job "$mine" >/dev/null || exit 1
echo "2026-11-21 08:01:01Z: Job $job completed with result: Succeeded"
"""
"""What runs in the container: it comes online, takes a job if there is one, which takes a minute, and ends."""


@pytest.fixture
def vm(tmp_path: Path, world: World, tool: Callable[[str], str]) -> Iterator[Sandbox]:
    for needed in NEEDED:
        tool(needed)
    world.host.application = service(world.settings, world.lines.append, clock=CloudClock(world.cloud.control))
    world.services.append(world.host.application)
    with sandbox(tmp_path) as made:
        made.metadata = {"attributes/tidepool-bucket": BUCKET}
        made.storage = world.cloud.url
        made.identity = lambda audience: world.token(VM, audience)
        made.publish(images={"tpu-ci": {"us-west4": IMAGE}}, broker=world.host.url)
        made.flag("container", RUNNER_PROGRAM % world.cloud.url)
        for name, content in made.objects.items():
            upload(world, name, content)
        yield made


def upload(world: World, name: str, content: bytes) -> None:
    if name.endswith(".json"):
        world.write(name, json.loads(content))
    else:
        world.records.put_once(name, content, "application/gzip")


def test_a_vm_boots_registers_runs_a_job_cleans_up_and_registers_again(world: World, vm: Sandbox) -> None:
    jobs = [world.hub.queue_job(REPO, ["tpu-ci"], name=name) for name in ("first", "second")]

    booted = vm.boot()
    assert booted.status == 0, booted.log
    assert booted.calls[-1] == "systemctl restart --no-block tidepool-supervisor.service"
    served = vm.supervise(sleeps=1)

    record = world.records.read(bucket_names.report_object("tpu-ci", VM))
    assert record is not None
    report = record.body
    told = [event["event"] for event in report["events"] if not event["event"].startswith("step-")]
    assert told.count("registered") == 3
    assert told.count("job-ended") == 2
    assert [step["step"] for step in report["boot"]] == list(STEPS), "a guest of the local cloud boots alike"
    assert {step["outcome"] for step in report["boot"]} == {"done"}

    granted = [line for line in world.lines if line["outcome"] == "granted"]
    assert len(granted) == len(world.lines) == 3
    assert {vm_of(line["runner"]) for line in granted} == {VM}
    assert len({line["runner"] for line in granted}) == 3
    assert len({line["instance"] for line in granted}) == 1, "every token names the same machine"
    assert world.binding()["instance"] == granted[0]["instance"]

    for job, line in zip(jobs, granted, strict=False):
        ended = github_job(world, job["id"])
        assert (ended["conclusion"], ended["runner_name"]) == ("success", line["runner"])
    assert [runner["name"] for runner in world.runners()] == [granted[2]["runner"]], "GitHub forgets who has served"

    order = [call.partition(" ")[0] for call in served.calls if call.startswith(("fuser", "docker run"))]
    assert order == ["fuser", "docker"] * 3, "the TPU is cleaned before every registration"
    for registration in (vm.path / "jits").read_text().split():
        assert registration not in booted.log + served.log + json.dumps(report)

    guest = guest_report(world)
    assert (guest["phase"], guest["image"], guest["bundle"]) == ("idle", report["image"], report["bundle"])
    assert list(guest) == list(report), "a guest reports as a VM does"
    assert guest["boot"][0].keys() == report["boot"][0].keys()
    assert {event["event"] for event in guest["events"]} < {event["event"] for event in report["events"]}


def guest_report(world: World) -> dict[str, Any]:
    """What a guest of the local cloud reports of a VM in the same fleet."""
    metadata = {"stack": "ci", "pool": "tpu-ci", "region": "us-west4", "bucket": BUCKET}
    world.add_vm(SECOND)
    told = {"metadata": {f"tidepool-{key}": value for key, value in metadata.items()}}
    world.cloud.control.edit_node(f"projects/{PROJECT}/locations/us-west4-a/nodes/{SECOND}", told)
    Guests(Control(world.cloud.url), lambda _: world.host.url).advance(60)
    record = world.records.read(bucket_names.report_object("tpu-ci", SECOND))
    assert record is not None
    return record.body


def github_job(world: World, number: int) -> dict[str, Any]:
    parts = urlsplit(world.hub.api)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    path = f"{parts.path}/repos/{REPO}/actions/jobs/{number}"
    connection.request("GET", path, headers={"authorization": f"token {ADMIN}"})
    found = json.loads(connection.getresponse().read())
    connection.close()
    return found
