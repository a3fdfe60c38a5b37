"""Records what the real controllers answer to Dask classes and groups, which run for long.

`python -m tests.jobs.record_workloads [SCENARIO ...]` starts for each a control plane with simulated nodes and the
controllers of Kueue, JobSet, LeaderWorkerSet and Dask (`tests/local/kubernetes/operators.py`), and writes a file.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from infra.jobs.evidence import holds
from infra.jobs.gke import KUEUE
from infra.jobs.request import Resources
from infra.model.addons import addons
from infra.model.dask import dask_objects
from infra.model.group_objects import CURRICULUM, ROLE_LABEL, ROLLOUT, TRAIN, group_objects
from tests.jobs.queued_plane import TEAM, Lab, QueuedPlane, running_plane, until
from tests.jobs.record_controllers import keep
from tests.local.kubernetes.operators import running_dask, running_lws
from tests.local.kubernetes.simulated_nodes import cpu_node, slice_nodes
from tests.model.workloads import CLUSTER, MATH, TRANSFORM, stack

_SLICES: Final = [
    {"accelerator": "v4-32", "zone": "us-central2-b", "capacity": "spot", "buffer": 1, "maximum": 1},
    {"accelerator": "v4-8", "zone": "us-central2-b", "capacity": "on-demand", "number": 3},
]
_BATCH: Final = {"name": "batch", "machine_type": "n2-standard-16", "zones": ["us-central2-b"], "maximum": 2}
_QUEUES: Final = {"teams": [{"name": TEAM}], "preemption": "lower-priority"}


def work_lab() -> Lab:
    """A class of two workers, and a group of a learner on v4-32 and three actors on v4-8; room for no more."""
    config = stack(
        batch=[TRANSFORM | {"team": TEAM}],
        groups=[MATH | {"team": TEAM, "priority": "low"}],
        slices=_SLICES,
        cluster=CLUSTER | {"cpu_pools": [_BATCH]},
        queues=_QUEUES,
    )
    nodes = [
        *slice_nodes("v4-32", "v4-32-a"),
        *(node for number in range(3) for node in slice_nodes("v4-8", f"v4-8-{number}", spot=False)),
        *(cpu_node(f"batch-{number}", "batch", 16, 64) for number in range(2)),
    ]
    return Lab(config=config, nodes=nodes, operators=(running_lws, running_dask))


def dask_class(plane: QueuedPlane) -> None:
    """A class comes up, asks for more workers than its quota has, and loses a node."""
    (declared,) = plane.lab.config.batch
    for body in dask_objects(declared):
        plane.make(body)
    named = {"dask.org/cluster-name": declared.name}
    until(lambda: (_running(plane, **named), len(_workers(plane))) == (3, 2), "scheduler and workers run")
    plane.seen("running")
    at = f"/apis/kubernetes.dask.org/v1/namespaces/{TEAM}/daskworkergroups/{declared.name}-default"
    plane.api.call("PATCH", at, {"spec": {"worker": {"replicas": 4}}}, content="application/merge-patch+json")
    until(lambda: _waiting(plane) == 1 and _running(plane, **named) == 4, "one of four waits")
    plane.seen("one of four waits")
    node = next(each["spec"]["nodeName"] for each in _workers(plane) if each["spec"].get("nodeName"))
    plane.api.call("DELETE", f"/api/v1/nodes/{node}")
    until(lambda: _running(plane, **named) < 4, "the workers of the node are gone")
    plane.seen("a node is gone")
    plane.rejoin(node)
    until(lambda: _running(plane, **named) == 4, "as many run again")
    plane.seen("running again")


def group(plane: QueuedPlane) -> None:
    """Every role is admitted and placed; a job of higher priority takes the learner's slice for a while; then one VM of
    the slice is taken."""
    (declared,) = plane.lab.config.groups
    for body in group_objects(declared):
        plane.make(body)
    wanted = {CURRICULUM: 1, TRAIN: 4, ROLLOUT: 3}
    until(lambda: {role: _running(plane, **{ROLE_LABEL: role}) for role in wanted} == wanted, "every role runs")
    plane.seen("running")
    urgent = plane.submit("urgent", 1, resources=Resources.with_tpu("v4-32"), priority="high")
    plane.runs(urgent)
    until(lambda: _running(plane, **{ROLE_LABEL: TRAIN}) == 0 and _waiting(plane) == 1, "the learner waits")
    plane.seen("the learner waits")
    for pod in plane.pods("urgent"):
        plane.ends(pod, 0)
    until(lambda: _running(plane, **{ROLE_LABEL: TRAIN}) == 4, "the learner goes on")
    plane.seen("the learner goes on")
    node = _pods(plane, **{ROLE_LABEL: TRAIN})[1]["spec"]["nodeName"]
    plane.api.call("DELETE", f"/api/v1/nodes/{node}")
    until(lambda: _running(plane, **{ROLE_LABEL: TRAIN}) < 4, "the slice is broken")
    plane.seen("a VM is gone")
    plane.rejoin(node)
    until(lambda: _running(plane, **{ROLE_LABEL: TRAIN}) == 4, "the learner goes on")
    plane.seen("running again")


SCENARIOS: Final[Mapping[str, Callable[[QueuedPlane], None]]] = {each.__name__: each for each in (dask_class, group)}


def _pods(plane: QueuedPlane, **labels: str) -> list[dict[str, Any]]:
    selector = ",".join(f"{name}={value}" for name, value in labels.items())
    return plane.api.call("GET", f"/api/v1/namespaces/{TEAM}/pods", query={"labelSelector": selector})["items"]


def _running(plane: QueuedPlane, **labels: str) -> int:
    found = _pods(plane, **labels)
    return sum(
        each["status"].get("phase") == "Running" and "deletionTimestamp" not in each["metadata"] for each in found
    )


def _workers(plane: QueuedPlane) -> list[dict[str, Any]]:
    return _pods(plane, **{"dask.org/component": "worker"})


def _waiting(plane: QueuedPlane) -> int:
    """How many workloads have no quota."""
    found = plane.api.call("GET", f"{KUEUE}/namespaces/{TEAM}/workloads")["items"]
    return sum(not holds(each, "QuotaReserved") and not holds(each, "Finished") for each in found)


def main(names: list[str]) -> None:
    lab = work_lab()
    versions = {each.name: each.version for each in addons(lab.config)}
    for name in names or list(SCENARIOS):
        with (
            tempfile.TemporaryDirectory(prefix="tidepool-record-") as folder,
            running_plane(Path(folder), lab=lab) as plane,
        ):
            keep(plane, SCENARIOS[name], versions)


if __name__ == "__main__":
    main(sys.argv[1:])
