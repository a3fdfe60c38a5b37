"""Jobs as JobSets of one namespace of a cluster.

Owns which objects are asked for and changed. How they are rendered is `jobset`'s, what they mean `standing`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from infra.jobs.client import Clock, JobError, JobPhase, JobState, RealClock
from infra.jobs.evidence import Body, findings, holds, place_in_gang, without_node
from infra.jobs.jobset import CANCELLED, JOBSETS, jobset
from infra.jobs.kube import Kube, KubeError
from infra.jobs.kueue import KUEUE, Kueue
from infra.jobs.request import JobRequest
from infra.jobs.standing import Evidence, asked, state
from infra.model.clock import machine_clock  # noqa: TID251 - a kubeconfig names a cluster and no cloud
from infra.model.queue_objects import QUEUE_LABEL

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

    @property
    def kueue(self) -> Kueue:
        """What Kueue and namespaces of the cluster say."""
        return Kueue(self.kube)

    def submit(self, request: JobRequest) -> GkeJob:
        """Through the queue that serves it, where it names none. ConfigError for one that could never start."""
        jobset(request)  # what cannot be rendered asks no cluster
        request = self.kueue.admissible(request)
        job = GkeJob(self, request.name, request.namespace)
        if self.kube.find(job.path) is not None:
            self._make_room(job)
        try:
            self.kube.create(f"{JOBSETS}/namespaces/{request.namespace}/jobsets", jobset(request))
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
        """Whoever submitted them: they wait in the same queues."""
        listed = self.kube.find(f"{JOBSETS}/namespaces/{self.namespace}/jobsets")
        if listed is None:
            raise JobError(_NO_JOBSETS)
        workloads = self.kueue.workloads(self.namespace)
        newest = sorted(listed["items"], key=lambda each: each["metadata"].get("creationTimestamp", ""), reverse=True)
        pending = {
            queue: self.kueue.pending(self.namespace, queue) for queue in {_queue(each) for each in newest} if queue
        }
        return tuple(
            # What ended a job that failed is in its pods and Jobs, which are asked for of such a one alone.
            GkeJob(self, each["metadata"]["name"], self.namespace).standing(each)
            if holds(each, "Failed")
            else state(Evidence(jobset=each, workload=_owned(workloads, each), pending=pending.get(_queue(each))))
            for each in newest
        )

    def job(self, name: str) -> GkeJob:
        return GkeJob(self, name, self.namespace)

    def replace(self, request: JobRequest) -> GkeJob:
        """Submit a job anew in place of one that runs; its program is sent the checkpoint signal."""
        job = GkeJob(self, request.name, request.namespace)
        self._take_away(job, GONE_WITHIN + request.grace)
        self.kube.create(f"{JOBSETS}/namespaces/{request.namespace}/jobsets", jobset(request))
        return job

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

    def request(self) -> JobRequest | None:
        """What it was submitted as; None of one that others made, or that another version wrote."""
        return asked(self._jobset())[0]

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
            warnings=self._warnings(),
            workload=self._workload(found),
            pending=self.client.kueue.pending(self.namespace, queue) if queue else None,
            queues=self.client.kueue.queues(self.namespace),
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
        now = machine_clock().isoformat(timespec="seconds").replace("+00:00", "Z")
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

    def _warnings(self) -> Sequence[Body]:
        """What went wrong with objects of its namespace, as their controllers noted it; none where that is closed."""
        try:
            path = f"/api/v1/namespaces/{self.namespace}/events"
            return self.client.kube.get(path, fieldSelector="type=Warning")["items"]
        except KubeError as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            return ()

    def _workload(self, found: Body) -> Body | None:
        return _owned(self.client.kueue.workloads(self.namespace), found)


def _owned(workloads: Sequence[Body], owner: Body) -> Body | None:
    uid = owner["metadata"].get("uid")
    owned = (each for each in workloads if uid in {o["uid"] for o in each["metadata"].get("ownerReferences", ())})
    return next(owned, None)


def _queue(found: Body) -> str:
    return found["metadata"].get("labels", {}).get(QUEUE_LABEL, "")
