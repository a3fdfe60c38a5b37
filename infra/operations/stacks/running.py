"""Training jobs that have not ended in a stack's cluster: what deleting it would end."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from infra.fleet.google import GoogleError
from infra.jobs.client import JobPhase
from infra.jobs.jobset import JOBSETS
from infra.jobs.kube import KubeError
from infra.jobs.standing import Evidence, state
from infra.model.json_shape import JsonShape
from infra.model.schema import StackConfig
from infra.operations.fleet.cluster_api import cluster_api


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob(JsonShape):
    """A job that has not ended. slices: of its accelerator type, or pods where that is empty."""

    namespace: str
    name: str
    phase: str
    slices: int
    accelerator: str

    def __str__(self) -> str:
        on = f" on {self.slices} x {self.accelerator}" if self.accelerator else ""
        return f"{self.name} of {self.namespace}, {self.phase}{on}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJobs:
    """unknown: why they could not be read; empty where they could."""

    jobs: tuple[RunningJob, ...] = ()
    unknown: str = ""


def running_jobs(config: StackConfig, endpoint: str | None) -> RunningJobs:
    """Whoever submitted them, by namespace and name. endpoint: root URL of the local cloud, None on Google."""
    if config.cluster is None:
        return RunningJobs()
    try:
        with cluster_api(config, config.cluster, endpoint) as kube:
            listed = kube.find(JOBSETS + "/jobsets") or {"items": ()}
    except GoogleError as error:
        return RunningJobs() if error.status == HTTPStatus.NOT_FOUND else RunningJobs(unknown=str(error))
    except KubeError as error:
        return RunningJobs(unknown=str(error))
    found = [(each["metadata"]["namespace"], state(Evidence(jobset=each))) for each in listed["items"]]
    return RunningJobs(
        jobs=tuple(
            RunningJob(
                namespace=namespace,
                name=job.name,
                phase=job.phase.value,
                slices=job.replicas,
                accelerator=job.accelerator,
            )
            for namespace, job in sorted(found, key=lambda each: (each[0], each[1].name))
            if job.phase is not JobPhase.ENDED
        )
    )
