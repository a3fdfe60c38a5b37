"""A job request as one command on a TPU VM that is made for it and deleted after it (docs/runs.md).

Pure. A run has one VM, whole, for a limited time, and neither queues nor secrets of a cluster: what asks for those is
refused with the backend that has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from infra.jobs.request import JobRequest
from infra.model.errors import ConfigError, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class VmJob:
    """One run. image: empty for the VM's own system. limit: seconds of the command."""

    accelerator: str
    command: tuple[str, ...]
    image: str
    env: Mapping[str, str]
    limit: int


def vm_job(request: JobRequest) -> VmJob:
    """ConfigError with everything that one VM cannot give."""
    accelerator = request.resources.accelerator
    if (problems := list(_problems(request))) or accelerator is None or request.time_limit is None:
        raise ConfigError(problems)
    return VmJob(
        accelerator=accelerator.name,
        command=request.entry_point.argv,
        image=request.image,
        env=dict(request.environment),
        limit=request.time_limit,
    )


def _problems(request: JobRequest) -> Iterator[Problem]:
    subject, gke = f"job {request.name} on a TPU VM", "send it to a cluster"
    if request.resources.accelerator is None:
        yield Problem(f"{subject}: resources", "", "a TPU VM is for a job with a TPU", "--tpu TYPE, such as v4-8")
    if request.replicas > 1:
        yield Problem(f"{subject}: slices", str(request.replicas), "a run has one slice", gke)
    if request.time_limit is None:
        yield Problem(f"{subject}: time_limit", "", "a VM that is made for a run has an end", "--time-limit 1h")
    for where, asked, rule in (
        ("queue", request.queue, "TPU VMs know no queues"),
        ("service_account", request.service_account, "a VM acts as its pool's account"),
        ("secrets", ", ".join(sorted(request.secrets)), "a run mounts no secrets"),
        ("disk", request.resources.disk, "a run has the disk of its VM"),
    ):
        if asked:
            yield Problem(f"{subject}: {where}", asked, rule, gke)
    if request.checkpoint_signal != "TERM":
        yield Problem(f"{subject}: checkpoint_signal", request.checkpoint_signal, "a run is ended by TERM", "TERM")
