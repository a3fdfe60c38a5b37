"""A stack on a local cloud and its GitHub, with a controller that sweeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.cloud.control import CloudClock, Control
from infra.fleet.controller.act import Actor
from infra.fleet.controller.github import RunnerApi
from infra.fleet.controller.observe import Observer
from infra.fleet.controller.sweep import Sweeper, Swept
from infra.fleet.google import Api, Clients, execute
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.model.manifest import manifest
from infra.model.schema import StackConfig
from tests.fleet.declared_records import end_up
from tests.model.given import pool

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud


REPOSITORY = "a-lab/code"
ZONE = "us-west4-a"
VMS = [f"tpu-ci-{ZONE}-{index}" for index in range(3)]
POOLS = pool(name="tpu-ci", zones="{us-west4-a: 3}", capacity="preemptible", serves=f"[{REPOSITORY}]")


class Lab:
    """A stack on a local cloud: its fleet bucket, its manifest, a sweeper, and runners that are put there by hand."""

    def __init__(self, cloud: TestCloud, config: StackConfig, google: Clients) -> None:
        self.cloud, self.config, self.google = cloud, config, google
        self.github = Control(cloud.url)
        self.github.add_repository(REPOSITORY)
        self.github.add_token("of-the-controller", "controller")
        body = {"name": config.bucket.name, "location": "us", "versioning": {"enabled": True}}
        execute(google.api(Api.STORAGE).buckets().insert(project=config.project, body=body), "making a bucket")
        self.records = Records(google=google, bucket=config.bucket.name)
        self.records.update(bucket_names.manifest_object(config.stack), lambda _: plain_manifest(config))
        end_up(self.records, config.stack)
        self.api = RunnerApi(api=self.github.api, token=lambda _: "of-the-controller")
        self.registrations = 0
        for vm in VMS:
            self.add_node(vm)
            self.add_runner(vm)

    def sweeper(self, github: RunnerApi | None = None) -> Sweeper:
        return sweeper(self.cloud, self.config, self.google, github or self.api)

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


def sweeper(cloud: TestCloud, config: StackConfig, google: Clients, github: RunnerApi) -> Sweeper:
    """Of a stack of a local cloud, by its clock."""
    records, bucket = Records(google=google, bucket=config.bucket.name), config.bucket.name
    return Sweeper(
        stack=config.stack,
        records=records,
        observer=Observer(project=config.project, bucket=bucket, endpoint=cloud.url, github=github),
        actor=lambda desired: Actor(
            google=google, records=records, github=github, desired=desired, sleep=lambda _: None
        ),
        clock=CloudClock(cloud.control),
    )


def plain_manifest(config: StackConfig) -> dict[str, Any]:
    """The manifest, its VMs in the default network and as the default account, which need no making here."""
    document = manifest(config, bundle="ab" * 32, startup_script="#!/bin/sh")
    for slot in document["slots"]:
        slot["node"] = {
            key: value for key, value in slot["node"].items() if key not in ("networkConfig", "serviceAccount")
        }
    return document


def did(swept: Swept) -> list[tuple[str, str, str]]:
    """What was done, orders of what to run left out."""
    return [
        (action["do"], action["subject"], action["result"])
        for action in swept.to_json()["actions"]
        if action["do"] != "assign"
    ]
