"""Records what the real controllers answer to jobs, to Dask classes and to groups.

`python -m tests.jobs.record_workloads [SCENARIO ...]` starts for each a control plane with simulated nodes and the
controllers of Kueue and JobSet, with those of LeaderWorkerSet and Dask where it needs them
(`bench/tests/kubernetes/operators.py`), and writes a file.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, Final

from bench.tests.kubernetes.operators import running_dask, running_lws
from bench.tests.kubernetes.simulated_nodes import cpu_node, slice_nodes
from infra.jobs.evidence import holds
from infra.jobs.gke import KUEUE
from infra.jobs.request import Resources
from infra.model.addons import addons
from infra.model.dask import dask_objects
from infra.model.group_objects import CURRICULUM, ROLE_LABEL, ROLLOUT, TRAIN, group_objects
from tests.jobs.queued_plane import TEAM, Lab, QueuedPlane, running_plane, spot_lab, until
from tests.jobs.record_controllers import keep, preempted, success
from tests.model.workloads import CLUSTER, MATH, TRANSFORM, stack

_SLICES: Final = [
    {"accelerator": "v4-32", "zone": "us-central2-b", "capacity": "spot", "buffer": 1, "maximum": 1},
    {"accelerator": "v4-8", "zone": "us-central2-b", "capacity": "on-demand", "number": 3},
]
_POOLS: Final = [
    {"name": "batch", "machine_type": "n2-standard-16", "zones": ["us-central2-b"], "maximum": 1},
    {"name": "dask", "machine_type": "n2-highmem-8", "zones": ["us-central2-b"], "maximum": 2},
]
_QUEUES: Final = {"teams": [{"name": TEAM}], "preemption": "lower-priority"}
_DASK: Final = "dask.org/cluster-name"
_WORKER_OF_FIRST: Final = "dask.org/cluster-name=transform,dask.org/component=worker"
_LEARNER: Final = f"{ROLE_LABEL}={TRAIN}"
_CLASS: Final = TRANSFORM | {"team": TEAM, "pool": "dask", "tasks": 2}


def work_lab() -> Lab:
    """Two classes that want all of their workers, of whose nine pods the quota has room for eight; a group of a learner
    on v4-32 and three actors on v4-8, which takes every slice."""
    config = stack(
        batch=[_CLASS | {"minimum": 2, "maximum": 2}, _CLASS | {"name": "late", "minimum": 0, "maximum": 5}],
        groups=[MATH | {"team": TEAM, "priority": "low", "checkpoints": {"bucket": "somebody-elses"}}],
        slices=_SLICES,
        cluster=CLUSTER | {"cpu_pools": _POOLS},
        queues=_QUEUES,
    )
    nodes = [
        *slice_nodes("v4-32", "v4-32-a"),
        *(node for number in range(3) for node in slice_nodes("v4-8", f"v4-8-{number}", spot=False)),
        cpu_node("batch-0", "batch", 16, 64),
        *(cpu_node(f"dask-{number}", "dask", 8, 64) for number in range(2)),
    ]
    return Lab(config=config, nodes=nodes, operators=(running_lws, running_dask))


def dask_class(plane: QueuedPlane) -> None:
    """A class comes up; another one has quota for four of its five workers; a node is lost and comes again."""
    for declared, running in zip(plane.lab.config.batch, (3, 8), strict=True):
        for body in dask_objects(declared):
            if body["kind"] == "DaskCluster":
                body["spec"]["worker"]["replicas"] = declared.maximum
            plane.make(body)
        until(lambda running=running: _running(plane, _DASK) == running, f"{declared.name} runs")
        if running == 3:
            plane.seen("the first runs")
    until(lambda: _waiting(plane) == 1, "a worker waits")
    plane.seen("a worker of the second waits")
    node = _pods(plane, _WORKER_OF_FIRST)[0]["spec"]["nodeName"]
    plane.api.call("DELETE", f"/api/v1/nodes/{node}")
    until(lambda: _running(plane, _DASK) == 4, "its pods are gone")
    plane.seen("a node is gone")
    plane.rejoin(node)
    until(lambda: _running(plane, _DASK) == 8, "as many run again")
    plane.seen("running again")


def group(plane: QueuedPlane) -> None:
    """Every role is admitted and placed; a job of higher priority takes the learner's slice for a while; then one VM of
    the slice is taken."""
    (declared,) = plane.lab.config.groups
    for body in group_objects(declared):
        plane.make(body)
    wanted = {CURRICULUM: 1, TRAIN: 4, ROLLOUT: 3}
    until(lambda: {role: _running(plane, f"{ROLE_LABEL}={role}") for role in wanted} == wanted, "every role runs")
    plane.seen("running")
    urgent = plane.submit("urgent", 1, resources=Resources.with_tpu("v4-32"), priority="high")
    plane.runs(urgent)
    until(lambda: _running(plane, _LEARNER) == 0 and _waiting(plane) == 1, "the learner waits")
    plane.seen("the learner waits")
    for pod in plane.pods("urgent"):
        plane.ends(pod, 0)
    until(lambda: _running(plane, _LEARNER) == 4, "the learner goes on")
    plane.seen("the learner goes on")
    node = _pods(plane, _LEARNER)[1]["spec"]["nodeName"]
    plane.api.call("DELETE", f"/api/v1/nodes/{node}")
    until(lambda: _running(plane, _LEARNER) < 4, "the slice is broken")
    plane.seen("a VM is gone")
    plane.rejoin(node)
    until(lambda: _running(plane, _LEARNER) == 4, "the learner goes on")
    plane.seen("running again")


SCENARIOS: Final[Mapping[FunctionType, Callable[[], Lab]]] = {
    success: spot_lab,
    preempted: spot_lab,
    dask_class: work_lab,
    group: work_lab,
}


def _pods(plane: QueuedPlane, selector: str) -> list[dict[str, Any]]:
    return plane.api.call("GET", f"/api/v1/namespaces/{TEAM}/pods", query={"labelSelector": selector})["items"]


def _running(plane: QueuedPlane, selector: str) -> int:
    stay = [each for each in _pods(plane, selector) if "deletionTimestamp" not in each["metadata"]]
    return sum(each["status"].get("phase") == "Running" for each in stay)


def _waiting(plane: QueuedPlane) -> int:
    """How many workloads have no quota."""
    found = plane.api.call("GET", f"{KUEUE}/namespaces/{TEAM}/workloads")["items"]
    return sum(not holds(each, "QuotaReserved") and not holds(each, "Finished") for each in found)


def main(names: list[str]) -> None:
    for scenario, made in SCENARIOS.items():
        if scenario.__name__ in (names or [scenario.__name__]):
            lab = made()
            with (
                tempfile.TemporaryDirectory(prefix="tidepool-record-") as folder,
                running_plane(Path(folder), lab=lab) as plane,
            ):
                keep(plane, scenario, {each.name: each.version for each in addons(lab.config)})


if __name__ == "__main__":
    main(sys.argv[1:])
