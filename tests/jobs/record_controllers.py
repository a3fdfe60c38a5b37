"""Records what the real controllers of Kueue and JobSet answer to this project's queues and jobs.

`python -m tests.jobs.record_controllers [SCENARIO ...]` starts a control plane with simulated nodes and both
controllers
(`TIDEPOOL_KUEUE` and `TIDEPOOL_JOBSET`, see `bench/tests/kubernetes/operators.py`), submits jobs with this project's
own client, and writes one file for each scenario. The other files were recorded on 2026-11 versions, by scenarios that
are not kept.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType
from typing import Final

from infra.jobs.client import JobPhase
from infra.jobs.evidence import holds
from infra.model.addons import addons
from tests.jobs.queued_plane import (
    QueuedPlane,
    disrupted,
    now,
    running_plane,
    until,
)
from tests.jobs.recording import FOLDER, written
from tests.model.queued import stack


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
    plane.caught("told to end", disrupted("TerminationByKubelet"))
    plane.api.call("DELETE", f"/api/v1/nodes/{node}")
    until(lambda: plane.jobset("llama")["status"].get("restarts", 0) == 1, "JobSet has restarted it")
    until(lambda: len(plane.pods("llama")) > 0, "pods are made again")
    plane.seen("without the node")
    plane.rejoin(node)
    plane.runs(job, restarts=1)
    plane.seen("running again")


SCENARIOS: Final[Mapping[str, FunctionType]] = {each.__name__: each for each in (success, preempted)}


def keep(plane: QueuedPlane, name: str, scenario: FunctionType, versions: Mapping[str, str]) -> None:
    """Let a scenario happen and write its file. One that does not end has a last moment `stuck`."""
    plane.moments = {}
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


def main(names: list[str]) -> None:
    versions = {each.name: each.version for each in addons(stack()) if each.name in ("kueue", "jobset")}
    with (
        tempfile.TemporaryDirectory(prefix="tidepool-record-") as folder,
        running_plane(Path(folder)) as plane,
    ):
        for name in names or SCENARIOS:
            keep(plane, name, SCENARIOS[name], versions)
            plane.clear()


if __name__ == "__main__":
    main(sys.argv[1:])
