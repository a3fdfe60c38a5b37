"""A stack with Dask classes and groups of a lab of its own, and its objects."""

from __future__ import annotations

from typing import Any, Final

from infra.model.dask import dask_objects
from infra.model.group_objects import group_objects
from infra.model.schema import StackConfig
from tests.model import clustered

IMAGE: Final = "us-central2-docker.pkg.dev/my-lab-tpus/images/work@sha256:" + "0" * 64
CLUSTER: Final[dict[str, Any]] = clustered.CLUSTER | {
    "cpu_pools": [
        {"name": "batch", "machine_type": "n2-standard-16", "zones": ["us-central2-b"], "maximum": 40},
        {"name": "batch-highmem", "machine_type": "n2-highmem-64", "zones": ["us-central2-b"], "maximum": 8},
    ],
}
SLICES: Final = [
    {"accelerator": "v4-32", "zone": "us-central2-b", "capacity": "spot", "buffer": 1, "maximum": 3},
    {"accelerator": "v4-8", "zone": "us-central2-b", "capacity": "on-demand", "number": 4},
    {"accelerator": "v4-8", "zone": "us-central2-b", "capacity": "spot", "buffer": 0, "maximum": 2},
]
TEAMS: Final = [
    {"name": "data"},
    {"name": "rl", "account": "trainer@my-lab-tpus.iam.gserviceaccount.com"},
]
TRANSFORM: Final[dict[str, Any]] = {
    "name": "transform", "team": "data", "pool": "batch", "image": IMAGE, "memory": "4GB", "cpus": 1, "tasks": 8,
    "minimum": 2, "maximum": 40, "priority": "low",
}  # fmt: skip
DEDUP: Final[dict[str, Any]] = {
    "name": "dedup", "team": "data", "pool": "batch-highmem", "image": IMAGE, "memory": "350GB", "cpus": 16,
    "maximum": 7,
}  # fmt: skip
MATH: Final[dict[str, Any]] = {
    "name": "math", "team": "rl", "image": IMAGE, "priority": "high",
    "train": {"accelerator": "v4-32", "command": ["python", "-m", "lab.learn"]},
    "rollout": {"accelerator": "v4-8", "slices": 3, "command": ["python", "-m", "lab.act"]},
    "curriculum": {"pool": "batch", "command": ["python", "-m", "lab.lessons"]},
    "checkpoints": {"bucket": "my-lab-tpus-math", "location": "us-central2"},
}  # fmt: skip
CODE: Final[dict[str, Any]] = {
    "name": "code", "team": "rl", "image": IMAGE,
    "train": {"accelerator": "v4-8", "command": ["python", "-m", "lab.learn"]},
    "rollout": {"accelerator": "v4-32", "slices": 2, "command": ["python", "-m", "lab.act"]},
    "curriculum": {"pool": "batch", "command": ["python", "-m", "lab.lessons"]},
    "checkpoints": {"bucket": "somebody-elses"},
}  # fmt: skip


def stack(
    *,
    batch: Any = (TRANSFORM, DEDUP),
    groups: Any = (MATH, CODE),
    slices: Any = SLICES,
    cluster: Any = CLUSTER,
    queues: Any = None,
) -> StackConfig:
    """queues: None for the two teams."""
    return clustered.clustered(
        cluster=cluster,
        slices=slices,
        queues={"teams": TEAMS} if queues is None else queues or None,
        batch=list(batch),
        groups=list(groups),
    )


def objects(config: StackConfig) -> tuple[dict[str, Any], ...]:
    """Of all classes and groups."""
    return (
        *(each for declared in config.batch for each in dask_objects(declared)),
        *(each for group in config.groups for each in group_objects(group)),
    )


def of(config: StackConfig, kind: str) -> dict[str, dict[str, Any]]:
    """Objects of a kind by name."""
    return {each["metadata"]["name"]: each for each in objects(config) if each["kind"] == kind}


def pod_specs(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The pods that an object brings about."""
    spec = body.get("spec", {})
    if body["kind"] == "DaskCluster":
        return [spec["worker"]["spec"], spec["scheduler"]["spec"]]
    if body["kind"] == "LeaderWorkerSet":
        return [spec["leaderWorkerTemplate"]["workerTemplate"]["spec"]]
    return [spec["template"]["spec"]] if "template" in spec else []
