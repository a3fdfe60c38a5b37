"""VMs with guests beside a real broker, on a cloud whose clock only the test moves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import pytest

from bench.cloud import tokens
from bench.cloud.control import CloudClock, Control
from bench.guests.disk import Disk
from bench.guests.guests import Guests
from infra.fleet.broker.serve import service
from infra.model import bucket_names
from tests.fleet.broker.broker_world import BUCKET, MEMBER_ACCOUNT, PROJECT, VM, Host, World, a_world

ZONE = "us-west4-a"
BUNDLE = b"a bundle"


@dataclass(frozen=True, slots=True)
class Lab:
    """One VM, `VM`, that has just become READY."""

    world: World
    control: Control
    guests: Guests

    @property
    def disk(self) -> Disk:
        return self.guests.settle().vms[path()][1]

    @property
    def report(self) -> dict[str, Any]:
        record = self.world.records.read(bucket_names.report_object("tpu-ci", VM))
        assert record is not None
        return dict(record.body)

    @property
    def runners(self) -> dict[str, str]:
        return {runner["name"]: runner["status"] for runner in self.world.runners()}

    def make(self, accelerator: str = "v5litepod-4") -> None:
        """Make the VM, or make it again."""
        metadata = {"stack": "ci", "pool": "tpu-ci", "region": "us-west4", "bucket": BUCKET}
        node = {
            "acceleratorType": accelerator,
            "runtimeVersion": "v2-alpha-tpuv5-lite",
            "labels": {"tidepool-stack": "ci", "tidepool-pool": "tpu-ci"},
            "serviceAccount": {"email": MEMBER_ACCOUNT},
            "schedulingConfig": {"preemptible": True},
            "metadata": {f"tidepool-{key}": value for key, value in metadata.items()},
        }
        self.control.add_node(path(), node)

    def order(self, **orders: Any) -> None:
        self.world.write(bucket_names.orders_object(VM), {"version": 1, **orders})

    def store_bundle(self, content: bytes) -> str:
        sha256 = hashlib.sha256(content).hexdigest()
        self.world.records.put_once(bucket_names.bundle_object(sha256), content, "application/gzip")
        return sha256

    def told(self, event: str) -> list[dict[str, Any]]:
        return [each for each in self.report["events"] if each["event"] == event]


def path() -> str:
    return f"projects/{PROJECT}/locations/{ZONE}/nodes/{VM}"


@pytest.fixture(scope="session", autouse=True)
def few_keys() -> Iterator[None]:
    """A few RSA keys for all worlds in turn: making one takes longer than most tests."""
    keys = cycle([tokens.new_key() for _ in range(3)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "new_key", lambda: next(keys))
        yield


@pytest.fixture(scope="session")
def host() -> Host:
    return Host()


@pytest.fixture
def lab(host: Host) -> Iterator[Lab]:
    with a_world(host) as world:
        world.host.application = service(world.settings, world.lines.append, clock=CloudClock(world.cloud.control))
        world.services.append(world.host.application)
        control = Control(world.cloud.url)
        control.set_compression(1)
        made = Lab(world, control, Guests(control, lambda _: host.url))
        bundle = made.store_bundle(BUNDLE)
        world.write(bucket_names.startup_object(), {"version": 1, "bundle": bundle})
        control.remove_node(VM)
        made.make()
        yield made
