"""A job request as a submission to Ray's job server (`POST /api/jobs/`).

Pure. Ray knows no slices: it is for jobs without TPU and for slices of one VM, whose `TPU-TYPE-head` resource Ray's TPU
nodes carry. Larger jobs are refused, because gangs on Ray would need a scheduler of our own.

https://docs.ray.io/en/latest/cluster/running-applications/job-submission/rest.html (2026-10)
"""

from __future__ import annotations

import json
import shlex
from typing import Any, Final

from infra.jobs.jobset import REQUEST
from infra.jobs.quantities import quantity
from infra.jobs.request import JobRequest
from infra.model.errors import ConfigError, Problem

JOBS: Final = "/api/jobs/"


def ray_job(request: JobRequest, attempt: int = 0) -> dict[str, Any]:
    """The body of one attempt. ConfigError for what Ray cannot carry."""
    accelerator, resources = request.resources.accelerator, request.resources
    if problems := list(_problems(request)):
        raise ConfigError(problems)
    body: dict[str, Any] = {
        "submission_id": submission_id(request.name, attempt),
        "entrypoint": shlex.join(request.entry_point.argv),
        "runtime_env": {"env_vars": dict(request.environment)},
        "metadata": {REQUEST: json.dumps(request.to_json(), sort_keys=True)},
    }
    if resources.cpu:
        body["entrypoint_num_cpus"] = quantity(resources.cpu)
    if resources.memory:
        body["entrypoint_memory"] = int(quantity(resources.memory))
    if accelerator is not None:
        chips = float(accelerator.chips)
        body["entrypoint_resources"] = {"TPU": chips, f"TPU-{accelerator.name}-head": 1.0}
    return body


def submission_id(name: str, attempt: int) -> str:
    """Ray keeps a submission for ever under its id, so that each attempt has one of its own."""
    return f"{name}-{attempt}"


def _problems(request: JobRequest) -> list[Problem]:
    subject, gke = f"job {request.name} on Ray", "send it to a cluster with --backend gke"
    found = []
    if request.replicas > 1 or request.resources.hosts > 1:
        asked = f"{request.replicas} x {request.resources.hosts} hosts"
        found.append(Problem(subject, asked, "a job on Ray has at most one VM", gke))
    if request.queue:
        found.append(Problem(subject, f"queue {request.queue}", "Ray does not know queues of Kueue", gke))
    if request.secrets:
        found.append(Problem(subject, ", ".join(request.secrets), "Ray mounts no secrets", gke))
    return found
