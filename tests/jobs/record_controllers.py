"""Records what the real controllers of Kueue and JobSet answer to this project's queues and jobs.

`python -m tests.jobs.record_controllers [SCENARIO ...]` starts a control plane with simulated nodes and both
controllers
(`TIDEPOOL_KUEUE` and `TIDEPOOL_JOBSET`, see `bench/tests/kubernetes/operators.py`), submits jobs with this project's
own client, and writes one file a scenario. Without `TIDEPOOL_KUEUE` it records what JobSet answers by itself.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType
from typing import Final

from bench.tests.kubernetes.operators import KUEUE
from infra.jobs.client import JobPhase
from infra.jobs.evidence import condition, holds
from infra.jobs.request import Retries
from infra.model.addons import addons
from tests.jobs.queued_plane import (
    POOLS,
    TEAM,
    QueuedPlane,
    disrupted,
    ended,
    now,
    place,
    running_plane,
    until,
)
from tests.jobs.recording import FOLDER, written
from tests.jobs.synthetic import xpk_jobset
from tests.model.queued import stack


def success(plane: QueuedPlane) -> None:
    """A job of two slices is admitted, placed one pod a VM and one slice a pool, and every program ends with 0."""
    job = plane.submit("llama", 2)
    plane.runs(job)
    plane.seen("running")
    for pod in plane.pods("llama"):
        plane.ends(pod, 0)
    until(lambda: job.state().phase is JobPhase.ENDED, "it has ended")
    until(lambda: not plane.queued or holds(plane.workload("llama"), "Finished"), "Kueue knows")
    plane.seen("ended")


def waiting(plane: QueuedPlane) -> None:
    """Three jobs of two slices each on three slices: one runs, two wait in order, and come in turn."""
    jobs = []
    for name in ("first", "second", "third"):
        jobs.append(plane.submit(name, 2))
        until(lambda name=name: bool(plane.workload(name)), f"Kueue has seen {name}")
        time.sleep(1.1)  # Kueue orders by creation times, which have whole seconds.
    plane.runs(jobs[0])
    until(lambda: [place(each) for each in jobs[1:]] == [0, 1], "both have a place")
    plane.seen("two wait")
    for pod in plane.pods("first"):
        plane.ends(pod, 0)
    plane.runs(jobs[1])
    plane.seen("the second has come")


def too_large(plane: QueuedPlane) -> None:
    """A job of more slices than its queue may ever have."""
    plane.put("huge", 4)
    until(lambda: condition(plane.workload("huge"), "QuotaReserved") is not None, "Kueue has seen it")
    plane.seen("waiting")


def outranked(plane: QueuedPlane) -> None:
    """A job of a higher priority takes the quota of a lower one, which waits, and goes on when the other is done."""
    low = plane.submit("low", 2, priority="low")
    plane.runs(low)
    high = plane.submit("high", 2, priority="high")
    plane.runs(high)
    until(lambda: low.state().phase is JobPhase.WAITING, "the low one waits")
    plane.seen("the high one runs")
    for pod in plane.pods("high"):
        plane.ends(pod, 0)
    plane.runs(low)
    plane.seen("the low one goes on")


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


def vanished(plane: QueuedPlane) -> None:
    """A node is gone without a word: the pod garbage collector of Kubernetes finds its pods."""
    job = plane.submit("llama", 1)
    plane.runs(job)
    node = plane.pods("llama")[0]["spec"]["nodeName"]
    plane.api.call("DELETE", f"/api/v1/nodes/{node}")
    plane.caught("found without its node", disrupted("DeletionByPodGC"))
    until(lambda: plane.jobset("llama")["status"].get("restarts", 0) == 1, "JobSet has restarted it")
    plane.rejoin(node)
    plane.runs(job, restarts=1)
    plane.seen("running again")


def drained(plane: QueuedPlane) -> None:
    """An upgrade evicts a pod."""
    job = plane.submit("llama", 1)
    plane.runs(job)
    pod = plane.pods("llama")[0]
    name = pod["metadata"]["name"]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": TEAM}}
    plane.api.call("POST", f"/api/v1/namespaces/{TEAM}/pods/{name}/eviction", body)
    plane.ends(pod, 143)
    plane.caught("told to end", disrupted("EvictionByEvictionAPI"))
    plane.runs(job, restarts=1)
    plane.seen("running again")


def failing(plane: QueuedPlane) -> None:
    """A program that fails each time, with one failure allowed."""
    job = plane.submit("bad", 1, retries=Retries(failures=1))
    plane.runs(job)
    plane.ends(plane.pods("bad")[1], 1)
    plane.runs(job, restarts=1)
    plane.seen("begun again")
    plane.ends(plane.pods("bad")[0], 2)
    until(lambda: job.state().phase is JobPhase.ENDED, "it has ended")
    until(lambda: not plane.queued or holds(plane.workload("bad"), "Finished"), "Kueue knows")
    plane.seen("ended")


def tpu_busy(plane: QueuedPlane) -> None:
    """A host finds its TPU in use."""
    job = plane.submit("llama", 1)
    plane.runs(job)
    plane.ends(plane.pods("llama")[2], 170)
    plane.caught("found in use", ended)
    plane.runs(job, restarts=1)
    plane.seen("running again")


def no_retry(plane: QueuedPlane) -> None:
    """A preemption of a job that allows none."""
    job = plane.submit("once", 1, retries=Retries(preemptions=0, failures=0))
    plane.runs(job)
    plane.shuts_down(plane.pods("once")[0]["spec"]["nodeName"], "once")
    until(lambda: job.state().phase is JobPhase.ENDED, "it has ended")
    plane.seen("ended")


def cancelled(plane: QueuedPlane) -> None:
    """A running job, and one that waits, are cancelled."""
    running, waits = plane.submit("runs", 2), plane.submit("waits", 2)
    plane.runs(running)
    running.cancel()
    waits.cancel()
    until(lambda: not plane.pods("runs"), "its pods are gone")
    until(lambda: condition(plane.workload("runs"), "Evicted") is not None, "Kueue has taken its quota")
    plane.seen("ended")


def out_of_time(plane: QueuedPlane) -> None:
    """A job runs for longer than it may, by Kueue's count of all attempts."""
    job = plane.submit("slow", 1, time_limit=5)
    plane.runs(job)
    until(lambda: not plane.pods("slow"), "its pods are gone")
    until(
        lambda: not plane.workload("slow")["spec"].get("active", True) or holds(plane.jobset("slow"), "Failed"), "ended"
    )
    time.sleep(2)
    plane.seen("ended")


def without_queue(plane: QueuedPlane) -> None:
    """In a namespace of a team a job that names no queue does not start."""
    plane.put("stray", 1, queue="")
    time.sleep(5)
    plane.seen("submitted")


def without_room(plane: QueuedPlane) -> None:
    """A job has quota, and no nodes yet."""
    for host in range(4):
        plane.api.call("DELETE", f"/api/v1/nodes/{POOLS[2]}-{host}")
    first, second = plane.submit("first", 2), plane.submit("second", 1)
    plane.runs(first)
    until(lambda: second.state().phase is JobPhase.STARTING, "it starts")
    time.sleep(5)
    plane.seen("starting")


def forbidden(plane: QueuedPlane) -> None:
    """A policy of the cluster refuses the Jobs of a job that has quota, and then a quota of its namespace the pods."""
    group = "admissionregistration.k8s.io/v1"
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}
    named = {"metadata": {"name": "no-jobs"}}
    policy = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "false", "message": "Jobs carry a cost centre"}],
    }
    binding = {"policyName": "no-jobs", "validationActions": ["Deny"]}
    room = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "no-pods", "namespace": TEAM}}
    plane.make({"apiVersion": group, "kind": "ValidatingAdmissionPolicy", **named, "spec": policy})
    plane.make({"apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding", **named, "spec": binding})
    plane.make(room | {"spec": {"hard": {"pods": "0"}}})
    time.sleep(3)  # Until the API server heeds a policy.
    plane.put("llama", 1)
    until(lambda: "cost centre" in str(plane.client.job("llama").state().because), "its Jobs are refused")
    plane.seen("no Jobs")
    for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        plane.api.call("DELETE", f"/apis/{group}/{kind}/no-jobs")
    until(lambda: "exceeded quota" in str(plane.client.job("llama").state().because), "its pods are refused")
    plane.seen("no pods")
    plane.api.call("DELETE", f"/api/v1/namespaces/{TEAM}/resourcequotas/no-pods")
    plane.runs(plane.client.job("llama"))
    plane.seen("running")


def of_xpk(plane: QueuedPlane) -> None:
    """A JobSet as Google's xpk writes it: admitted, placed, begun again after a preemption, and a success."""
    job = plane.take(xpk_jobset("maxtext", TEAM))
    plane.runs(job)
    plane.seen("running")
    node = plane.pods("maxtext")[0]["spec"]["nodeName"]
    plane.shuts_down(node, "maxtext")
    plane.caught("told to end", disrupted("TerminationByKubelet"))
    plane.api.call("DELETE", f"/api/v1/nodes/{node}")
    plane.rejoin(node)
    plane.runs(job, restarts=1)
    plane.seen("running again")
    for pod in plane.pods("maxtext"):
        plane.ends(pod, 0)
    until(lambda: holds(plane.workload("maxtext"), "Finished"), "Kueue knows")
    plane.seen("ended")


SCENARIOS: Final[Mapping[str, FunctionType]] = {
    each.__name__: each
    for each in (
        success, waiting, too_large, outranked, preempted, vanished, drained, failing, tpu_busy, no_retry, cancelled,
        out_of_time, without_queue, without_room, forbidden, of_xpk,
    )
}  # fmt: skip


WITHOUT_KUEUE: Final = ("success", "preempted", "failing", "drained", "tpu_busy", "no_retry", "vanished")
"""What JobSet alone answers."""


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
    queued = KUEUE in os.environ
    wanted = ("kueue", "jobset") if queued else ("jobset",)
    versions = {each.name: each.version for each in addons(stack()) if each.name in wanted}
    with (
        tempfile.TemporaryDirectory(prefix="tidepool-record-") as folder,
        running_plane(Path(folder), queued=queued) as plane,
    ):
        for name in names or list(SCENARIOS if queued else WITHOUT_KUEUE):
            keep(plane, name, SCENARIOS[name], versions)
            plane.clear()


if __name__ == "__main__":
    main(sys.argv[1:])
