"""How a job on Kubernetes stands, from its JobSet, its Jobs and pods, and Kueue's Workload. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from infra.jobs.client import JobPhase, JobState
from infra.jobs.evidence import Body, Finding, condition, holds, weightiest
from infra.jobs.jobset import CANCELLED, INTERRUPTED, REQUEST
from infra.jobs.outcomes import Attempts, Outcome
from infra.jobs.request import JobRequest, Retries, recorded
from infra.jobs.waiting import TOO_LONG, eviction, unknown_to_kueue, waiting
from infra.model.gke_shapes import gke_shapes
from infra.model.queue_objects import QUEUE_LABEL

BACKEND: Final = "gke"
_JOB_REASONS: Final = {
    "DeadlineExceeded": (Outcome.ERROR, "its time limit is over"),
    "PodFailurePolicy": (Outcome.FAILED, "a pod was ended from outside; what ended it is not recorded"),
    "BackoffLimitExceeded": (Outcome.ERROR, "a pod failed; its own record is gone"),
}
"""What is left to say of an attempt whose pods are gone: why a Job failed."""
_RESTARTS: Final = {f"FailurePolicy_{INTERRUPTED}": "PodFailurePolicy", "DefaultFailurePolicy": "BackoffLimitExceeded"}
"""Why JobSet begins a job again, when its Jobs are gone too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that is known of one job. pending: items of Kueue's visibility API, None where it does not answer.
    queues: LocalQueues of its namespace, None where nobody has told them. without_node: pods that have none yet.
    warnings: events of its namespace."""

    jobset: Body
    jobs: Sequence[Body] = ()
    workload: Body | None = None
    pending: Sequence[Body] | None = None
    queues: Sequence[str] | None = None
    found: tuple[Finding, ...] = ()
    without_node: int = 0
    warnings: Sequence[Body] = ()


def state(seen: Evidence) -> JobState:
    """How the job stands, and why."""
    jobset = seen.jobset
    request, unread = asked(jobset)
    phase, outcome = _phase(seen)
    last = weightiest([each for each in seen.found if each.outcome is not Outcome.SUCCESS]) or _of_jobs(seen)
    waits = None
    queue = jobset["metadata"].get("labels", {}).get(QUEUE_LABEL, "")
    if phase is JobPhase.WAITING and seen.workload is not None:
        waits = waiting(seen.workload, seen.pending)
    elif phase is JobPhase.WAITING:
        waits = unknown_to_kueue(queue, jobset["metadata"]["namespace"], seen.queues)
    status = jobset.get("status", {})
    counted = status.get("restartsCountTowardsMax", 0)
    attempts = Attempts(preemptions=status.get("restarts", 0) - counted, failures=counted)
    if phase is JobPhase.ENDED and outcome is None:
        outcome = last.outcome if last else Outcome.ERROR
    return JobState(
        name=jobset["metadata"]["name"],
        backend=BACKEND,
        phase=phase,
        outcome=outcome,
        attempts=attempts,
        retries=request.retries if request else None,
        replicas=jobset["spec"]["replicatedJobs"][0].get("replicas", 1),
        accelerator=_accelerator(jobset, request),
        queue=queue,
        created=jobset["metadata"].get("creationTimestamp", ""),
        waiting=waits,
        last=last,
        because=(*_because(seen, last, attempts, request.retries if request else None), *unread),
    )


def _accelerator(jobset: Body, request: JobRequest | None) -> str:
    """The type whose slices it was submitted for, or, where others wrote it, whose slices its pods select."""
    if request is not None:
        return request.resources.accelerator.name if request.resources.accelerator else ""
    job = jobset["spec"]["replicatedJobs"][0].get("template", {})
    pod = job.get("spec", {}).get("template", {}).get("spec", {})
    selected = pod.get("nodeSelector", {}).items()
    return next((name for name, shape in gke_shapes().items() if shape.node_labels.items() <= selected), "")


def asked(jobset: Body) -> tuple[JobRequest | None, tuple[str, ...]]:
    """The request that a JobSet was made of, None of one that others made; and why one cannot be read."""
    text = jobset["metadata"].get("annotations", {}).get(REQUEST)
    return recorded(text) if text else (None, ())


def _phase(seen: Evidence) -> tuple[JobPhase, Outcome | None]:
    """The outcome is None where what ended it has to say it."""
    jobset = seen.jobset
    if holds(jobset, "Completed"):
        return JobPhase.ENDED, Outcome.SUCCESS
    if CANCELLED in jobset["metadata"].get("annotations", {}):
        return JobPhase.ENDED, Outcome.CANCELLED
    if holds(jobset, "Failed"):
        return JobPhase.ENDED, None
    if _out_of_time(seen):
        return JobPhase.ENDED, Outcome.ERROR
    if jobset["spec"].get("suspend", False):
        return JobPhase.WAITING, None
    rows = jobset.get("status", {}).get("replicatedJobsStatus", ())
    wanted = sum(each.get("replicas", 1) for each in jobset["spec"]["replicatedJobs"])
    ready = sum(each.get("ready", 0) + each.get("succeeded", 0) for each in rows)
    return (JobPhase.RUNNING if ready >= wanted else JobPhase.STARTING), None


def _out_of_time(seen: Evidence) -> bool:
    """Whether Kueue ended it for its time limit: it stays suspended, and would look like one that waits."""
    return seen.workload is not None and eviction(seen.workload) == TOO_LONG


def _of_jobs(seen: Evidence) -> Finding | None:
    if _out_of_time(seen):
        return Finding("the job", *_JOB_REASONS["DeadlineExceeded"])
    reasons = {
        failed["reason"]: each["metadata"]["name"]
        for each in seen.jobs
        if (failed := condition(each, "Failed")) is not None and failed["status"] == "True"
    }
    if (restarting := _RESTARTS.get(_restarting(seen.jobset))) is not None:
        return Finding("the job", *_JOB_REASONS[restarting])
    # What ended from outside outweighs errors, as it does among pods.
    for reason in ("PodFailurePolicy", "DeadlineExceeded", "BackoffLimitExceeded"):
        if reason in reasons:
            return Finding(reasons[reason], *_JOB_REASONS[reason])
    return None


def _restarting(jobset: Body) -> str:
    """By which rule of its failure policy JobSet begins it again at this time; empty where it does not."""
    found = condition(jobset, "RestartingJobSet")
    return found["reason"] if found is not None and found["status"] == "True" else ""


def _because(seen: Evidence, last: Finding | None, attempts: Attempts, retries: Retries | None) -> list[str]:
    lines = []
    if when := seen.jobset["metadata"].get("annotations", {}).get(CANCELLED):
        lines.append(f"cancelled at {when}")
    if last is not None:
        lines.append(f"{last.where}: {last.because}")
        others = [each for each in seen.found if each.outcome not in (Outcome.SUCCESS, last.outcome)]
        lines += [f"{each.where}: {each.because}, which the line above outweighs" for each in others]
    if seen.without_node:
        pods = "1 pod has" if seen.without_node == 1 else f"{seen.without_node} pods have"
        lines.append(f"{pods} no node yet: GKE makes nodes when it has room")
    if _phase(seen)[0] is JobPhase.STARTING:
        lines += _refused(seen)
    if attempts.preemptions:
        of = f" of {retries.preemptions}" if retries else ""
        lines.append(f"restarted after {attempts.preemptions}{of} interruptions")
    if attempts.failures:
        of = f" of {retries.failures}" if retries else ""
        lines.append(f"restarted after {attempts.failures}{of} failures")
    return lines


def _refused(seen: Evidence) -> list[str]:
    """What keeps its Jobs and pods from being made, in its controllers' own words: the last of each object.

    A Job with a pod says nothing: those of its other hosts are refused until GKE has a node for the first one.
    """
    wanted = sum(each.get("replicas", 1) for each in seen.jobset["spec"]["replicatedJobs"])
    lacking = [seen.jobset] if len(seen.jobs) < wanted else []
    lacking += [each for each in seen.jobs if not _has_pods(each)]
    owners = {each["metadata"]["uid"]: each["metadata"]["name"] for each in lacking}
    last = {
        each["involvedObject"]["uid"]: each
        for each in sorted(seen.warnings, key=_when)
        if each["involvedObject"].get("uid") in owners
    }
    said = {uid: f" ({each['reason']})" if each.get("reason") else "" for uid, each in last.items()}
    return [f"{owners[uid]}: {each.get('message', '')}{said[uid]}" for uid, each in last.items()]


def _has_pods(job: Body) -> bool:
    return any(job.get("status", {}).get(name, 0) for name in ("active", "succeeded", "failed"))


def _when(event: Body) -> str:
    """RFC 3339 texts of one form sort by time; events of the newer API have theirs elsewhere."""
    series = event.get("series") or {}
    return series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or ""
