"""A stack with queues of a lab of its own, and the objects of its queues."""

from __future__ import annotations

from typing import Any, Final

from infra.model.queue_objects import queue_objects
from infra.model.schema import StackConfig
from tests.model import clustered

CLUSTER: Final[dict[str, Any]] = clustered.CLUSTER | {
    "cpu_pools": [{"name": "batch", "machine_type": "n2-highmem-16", "zones": ["us-central2-b"], "maximum": 40}]
}
RESERVATION = {"name": "lab", "project": "my-lab-tpus", "zone": "us-central2-b", "generation": "v4", "chips": 64}
SLICES = [
    {"accelerator": "v4-32", "zone": "us-central2-b", "capacity": {"reserved": "lab"}, "number": 2},
    {"accelerator": "v4-32", "zone": "us-central2-b", "capacity": "spot", "buffer": 1, "maximum": 6},
    {"accelerator": "v4-8", "zone": "us-central2-b", "capacity": "on-demand", "number": 4},
]
TEAMS = [
    {"name": "pretraining", "weight": 3, "members": ["group:research@my-lab.org"]},
    {"name": "rl", "accelerators": ["v4-8"], "account": "trainer@my-lab-tpus.iam.gserviceaccount.com"},
]


def stack(
    slices: list[dict[str, Any]] = SLICES, cluster: Any = CLUSTER, store: Any = None, secrets: Any = None, **queues: Any
) -> StackConfig:
    return clustered.clustered(
        cluster=cluster,
        slices=slices,
        reservations=[RESERVATION],
        queues={"teams": TEAMS} | queues,
        store=store,
        secrets=secrets,
    )


def objects(config: StackConfig) -> tuple[dict[str, Any], ...]:
    assert config.queues is not None
    return queue_objects(config, config.queues)


def of(config: StackConfig, kind: str) -> dict[str, dict[str, Any]]:
    """Objects of a kind by name, with their namespace where that tells them apart."""
    named = ((each["metadata"], each) for each in objects(config) if each["kind"] == kind)
    return {"/".join(filter(None, (told.get("namespace"), told["name"]))): each for told, each in named}
