"""Jobs as JobSets of one namespace of a cluster.

Owns which objects are asked for and changed. How they are rendered is `jobset`'s, what they mean `standing`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from infra.jobs.client import Clock, JobError, JobPhase, JobState, RealClock
from infra.jobs.evidence import Body, findings, holds, place_in_gang, without_node
from infra.jobs.jobset import CANCELLED, JOB, JOBSETS, jobset
from infra.jobs.kube import Kube, KubeError
from infra.jobs.request import JobRequest
from infra.jobs.standing import Evidence, state
from infra.jobs.waiting import free_slices, no_queue
from infra.model.gke_shapes import TPU_RESOURCE
from infra.model.queue_objects import QUEUE_LABEL

KUEUE: Final = "/apis/kueue.x-k8s.io/v1beta2"
VISIBILITY: Final = "/apis/visibility.kueue.x-k8s.io/v1beta2"
_NO_JOBSETS: Final = "the cluster has no JobSet installed; `./tidepool up` of its stack installs it"
_OF_JOBSET: Final = "jobset.sigs.k8s.io/jobset-name"
GONE_WITHIN: Final = 120.0
"""Seconds that the objects of an ended job may take to go."""


@dataclass(frozen=True, slots=True)
class GkeClient:
    """The namespace of its place; a request is submitted to the namespace that it names."""

    kube: Kube
    clock: Clock = field(default_factory=RealClock)

    @property
    def namespace(self) -> str:
        return self.kube.place.namespace

    def submit(self, request: JobRequest) -> GkeJob:
        body = jobset(request)
        self._check_queue(request)
        job = GkeJob(self, request.name, request.namespace)
        if self.kube.find(job.path) is not None:
            self._make_room(job)
        try:
            self.kube.create(f"{JOBSETS}/namespaces/{request.namespace}/jobsets", body)
        except KubeError as error:
            if error.status != 404:
                raise
            if self.kube.find(JOBSETS) is None:
                raise JobError(_NO_JOBSETS) from None
            raise JobError(
                f"the cluster has no namespace {request.namespace}; --namespace names another, and teams of "
                "tidepool:queues have one each"
            ) from None
        return job

    def jobs(self) -> tuple[JobState, ...]:
        listed = self.kube.find(f"{JOBSETS}/namespaces/{self.namespace}/jobsets", labelSelector=JOB)
        if listed is None:
            raise JobError(_NO_JOBSETS)
        workloads = self.workloads(self.namespace)
        newest = sorted(listed["items"], key=lambda each: each["metadata"].get("creationTimestamp", ""), reverse=True)
        pending = {queue: self.pending(self.namespace, queue) for queue in {_queue(each) for each in newest} if queue}
        return tuple(
            # What ended a job that failed is in its pods and Jobs, which are asked for of such a one alone.
            GkeJob(self, each["metadata"]["name"], self.namespace).standing(each)
            if holds(each, "Failed")
            else state(Evidence(jobset=each, workload=_owned(workloads, each), pending=pending.get(_queue(each))))
            for each in newest
        )

    def job(self, name: str) -> GkeJob:
        return GkeJob(self, name, self.namespace)

    def free_slices(self, request: JobRequest) -> int:
        """How many slices of a request fit now into the ClusterQueue behind its queue; as many as it may have where it
        has no queue. JobError where the queue is not there."""
        accelerator = request.resources.accelerator
        if accelerator is None or not request.queue:
            return request.resources.slice_counts[-1]
        local = self.kube.find(f"{KUEUE}/namespaces/{request.namespace}/localqueues/{quote(request.queue)}")
        behind = local and self.kube.find(f"{KUEUE}/clusterqueues/{local['spec']['clusterQueue']}")
        if not behind:
            raise JobError(f"namespace {request.namespace} has no queue {request.queue} with a ClusterQueue behind it")
        return free_slices(behind, TPU_RESOURCE, accelerator.chips)

    def replace(self, request: JobRequest) -> GkeJob:
        """Submit a job anew in place of one that runs; its program is sent the checkpoint signal."""
        job = GkeJob(self, request.name, request.namespace)
        self._take_away(job, GONE_WITHIN + request.grace)
        self.kube.create(f"{JOBSETS}/namespaces/{request.namespace}/jobsets", jobset(request))
        return job

    def workloads(self, namespace: str) -> Sequence[Body]:
        """Kueue's Workloads; none where Kueue is not installed."""
        return (self.kube.find(f"{KUEUE}/namespaces/{namespace}/workloads") or {"items": ()})["items"]

    def names(self, path: str) -> tuple[str, ...] | None:
        """Names of the objects in a list, in order; None where the kind is not served, or may not be read."""
        try:
            found = self.kube.find(path)
        except KubeError as error:
            if error.status == 403:
                return None
            raise
        return None if found is None else tuple(sorted(each["metadata"]["name"] for each in found["items"]))

    def queues(self, namespace: str) -> tuple[str, ...] | None:
        """The LocalQueues of a namespace; None where Kueue is not installed, or they may not be read."""
        return self.names(f"{KUEUE}/namespaces/{namespace}/localqueues")

    def pending(self, namespace: str, queue: str) -> Sequence[Body] | None:
        """Who waits in a LocalQueue, in order; None where Kueue's visibility API does not answer or may not be read."""
        path = f"{VISIBILITY}/namespaces/{namespace}/localqueues/{quote(queue)}/pendingworkloads"
        try:
            found = self.kube.find(path)
        except KubeError as error:
            if error.status in (403, 503):
                return None
            raise
        return None if found is None else found.get("items") or ()

    def _check_queue(self, request: JobRequest) -> None:
        """JobError where the queue or the priority class of a request is not there: Kueue would say nothing, and the
        job would wait for ever."""
        if not request.queue:
            return
        queues = self.queues(request.namespace)
        # A namespace that is not there has no queues either; the submission itself tells that.
        if queues is not None and request.queue not in queues and (queues or self._has_namespace(request.namespace)):
            raise JobError(f"{request.name}: {no_queue(request.queue, request.namespace, queues)}")
        classes = self.names(f"{KUEUE}/workloadpriorityclasses") if request.priority else None
        if classes is not None and request.priority not in classes:
            known = ", ".join(classes) or "none"
            raise JobError(f"{request.name}: no WorkloadPriorityClass {request.priority}; there are: {known}")

    def _has_namespace(self, namespace: str) -> bool:
        """Whether a namespace is there, as far as one may ask."""
        try:
            return self.kube.find(f"/api/v1/namespaces/{quote(namespace)}") is not None
        except KubeError as error:
            if error.status == 403:
                return False
            raise

    def _make_room(self, job: GkeJob) -> None:
        """Take an ended job of the same name away; JobError where it has not ended, or does not go."""
        if (stands := job.state()).phase is not JobPhase.ENDED:
            raise JobError(f"{job.name} is {stands.phase}; cancel it first, or take another name")
        self._take_away(job, GONE_WITHIN)

    def _take_away(self, job: GkeJob, within: float) -> None:
        self.kube.delete(job.path)
        until = self.clock.monotonic() + within
        while self.kube.find(job.path) is not None:
            if self.clock.monotonic() >= until:
                raise JobError(f"the earlier {job.name} is not gone after {within:.0f} s; look at its finalizers")
            self.clock.sleep(1)


@dataclass(frozen=True, slots=True)
class GkeJob:
    """One JobSet."""

    client: GkeClient
    name: str
    namespace: str

    @property
    def path(self) -> str:
        return f"{JOBSETS}/namespaces/{self.namespace}/jobsets/{quote(self.name)}"

    def state(self) -> JobState:
        return self.standing(self._jobset())

    def standing(self, found: Body) -> JobState:
        """How the job of this JobSet stands, by all that belongs to it."""
        kube, pods = self.client.kube, self._pods()
        names = sorted({pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")})
        nodes = {name: node for name in names if (node := kube.find(f"/api/v1/nodes/{name}")) is not None}
        selector = f"{_OF_JOBSET}={self.name}"
        jobs = kube.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs", labelSelector=selector)["items"]
        queue = _queue(found)
        seen = Evidence(
            jobset=found,
            jobs=jobs,
            workload=self._workload(found),
            pending=self.client.pending(self.namespace, queue) if queue else None,
            queues=self.client.queues(self.namespace) if queue else None,
            found=findings(pods, nodes, {}),
            without_node=without_node(pods),
        )
        return state(seen)

    def logs(self, tail: int) -> Iterator[str]:
        for pod in sorted(self._pods(), key=lambda each: each["metadata"]["name"]):
            name, (index, host) = pod["metadata"]["name"], place_in_gang(pod)
            for container in pod["spec"]["containers"]:
                path = f"/api/v1/namespaces/{self.namespace}/pods/{name}/log"
                try:
                    text = self.client.kube.text(path, container=container["name"], tailLines=str(tail))
                except KubeError as error:
                    if error.status != 400:  # a container that has not begun has no log
                        raise
                    continue
                yield from (f"{index}/{host} {line}" for line in text.splitlines())

    def cancel(self) -> None:
        found = self._jobset()
        if state(Evidence(jobset=found)).phase is JobPhase.ENDED:
            return
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        patch: dict[str, Any] = {"metadata": {"annotations": {CANCELLED: now}}}
        workload = self._workload(found)
        if workload is None:
            patch["spec"] = {"suspend": True}
        self.client.kube.merge(self.path, patch)
        if workload is not None:  # Kueue would start again what was suspended without its knowing
            name = workload["metadata"]["name"]
            self.client.kube.merge(f"{KUEUE}/namespaces/{self.namespace}/workloads/{name}", {"spec": {"active": False}})

    def _jobset(self) -> dict[str, Any]:
        found = self.client.kube.find(self.path)
        if found is None:
            where = f"namespace {self.namespace} of {self.client.kube.place.said}"
            raise JobError(f"there is no job {self.name} in {where}")
        return found

    def _pods(self) -> Sequence[Body]:
        selector = f"{_OF_JOBSET}={self.name}"
        return self.client.kube.get(f"/api/v1/namespaces/{self.namespace}/pods", labelSelector=selector)["items"]

    def _workload(self, found: Body) -> Body | None:
        return _owned(self.client.workloads(self.namespace), found)


def _owned(workloads: Sequence[Body], owner: Body) -> Body | None:
    uid = owner["metadata"].get("uid")
    owned = (each for each in workloads if uid in {o["uid"] for o in each["metadata"].get("ownerReferences", ())})
    return next(owned, None)


def _queue(found: Body) -> str:
    return found["metadata"].get("labels", {}).get(QUEUE_LABEL, "")
