"""What is recorded of jobs: scenarios of this project's own client on queues, and how one is kept as a file.

`record_workloads` records them. The other files were recorded on 2026-11 versions, by scenarios that are not kept.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FunctionType

from infra.jobs.client import JobPhase
from infra.jobs.evidence import holds
from tests.jobs.queued_plane import (
    QueuedPlane,
    now,
    until,
)
from tests.jobs.recording import FOLDER, written


def success(plane: QueuedPlane) -> None:
    """A job of two slices is admitted, placed one pod a VM and one slice a pool, and every program ends with 0."""
    job = plane.submit("llama", 2)
    plane.runs(job)
    plane.seen("running")
    for pod in plane.pods("llama"):
        plane.ends(pod, 0)
    until(lambda: job.state().phase is JobPhase.ENDED, "it has ended")
    until(lambda: holds(plane.workload("llama"), "Finished"), "Kueue knows")
    plane.seen("ended")


def preempted(plane: QueuedPlane) -> None:
    """Google takes one spot VM of a slice, with notice: its pods are told to end, and then the node is gone."""
    job = plane.submit("llama", 2)
    plane.runs(job)
    node = plane.pods("llama")[0]["spec"]["nodeName"]
    plane.shuts_down(node, "llama")
    plane.caught("told to end", "TerminationByKubelet")
    plane.api.call("DELETE", f"/api/v1/nodes/{node}")
    until(lambda: plane.jobset("llama")["status"].get("restarts", 0) == 1, "JobSet has restarted it")
    until(lambda: len(plane.pods("llama")) > 0, "pods are made again")
    plane.seen("without the node")
    plane.rejoin(node)
    plane.runs(job, restarts=1)
    plane.seen("running again")


def keep(plane: QueuedPlane, scenario: FunctionType, versions: Mapping[str, str]) -> None:
    """Let a scenario happen and write its file. One that does not end has a last moment `stuck`."""
    name = scenario.__name__
    try:
        scenario(plane)
    except AssertionError as error:
        plane.seen("stuck")
        sys.stderr.write(f"{name}: {error}\n")
    told = {**versions, "kubernetes": plane.api.call("GET", "/version")["gitVersion"]}
    about = {"about": scenario.__doc__, "versions": told, "recorded": now()[:10]}
    path = FOLDER / f"{name}.json"
    path.write_text(written(about | {"moments": plane.moments}), encoding="utf-8")
    sys.stdout.write(f"{name}: {', '.join(plane.moments)}\n")
    sys.stdout.flush()
