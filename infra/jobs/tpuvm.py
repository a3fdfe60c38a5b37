"""A job request as one TPU VM (or slice of VMs) that is made for the run and deleted after it.

Pure. A declared pool's node says network, identity and capacity; this adds the run's name, labels and start-up script.
The script tells each host's exit code in guest attributes, where the TPU API reads them
(`nodes.getGuestAttributes`, https://cloud.google.com/tpu/docs/reference/rest, 2026-09).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from infra.jobs.evidence import Body, tpu_outcome
from infra.jobs.jobset import TPU_BUSY, enter_script
from infra.jobs.outcomes import Outcome, gang_outcome
from infra.jobs.request import JobRequest
from infra.model.errors import ConfigError, Problem
from infra.model.node import STARTUP_SCRIPT_KEY, NodeSpec

EXIT_CODE: Final = "tidepool/exit-code"
"""Guest attribute (namespace and key) that each host writes when its program has ended."""
_ATTRIBUTES: Final = "http://metadata.google.internal/computeMetadata/v1/instance/guest-attributes"
_DOCKER: Final = (
    "docker", "run", "--rm", "--net=host", "--device=/dev/vfio:/dev/vfio", "--shm-size=100g", "--cap-add=SYS_RESOURCE",
    "--ulimit=memlock=68719476736:68719476736",
)  # fmt: skip


def run_node(request: JobRequest, pool_node: NodeSpec) -> NodeSpec:
    """The node to create for one run. pool_node: any slot of the pool in whose place it stands.

    ConfigError for what a VM for one run cannot carry.
    """
    if problems := list(_problems(request, pool_node)):
        raise ConfigError(problems)
    metadata = {**pool_node.metadata, "enable-guest-attributes": "TRUE", STARTUP_SCRIPT_KEY: startup_script(request)}
    return replace(
        pool_node,
        name=request.name,
        description=f"Tidepool job {request.name}",
        labels={**pool_node.labels, "tidepool-job": request.name},
        metadata=metadata,
    )


def startup_script(request: JobRequest) -> str:
    """Runs the image once and tells the exit code; it must not run again when the VM restarts."""
    environment = {**request.environment, "TIDEPOOL_SIGNAL": request.checkpoint_signal, "TIDEPOOL_SETTLE": "0"}
    told = (f"--env={name}={value}" for name, value in sorted(environment.items()))
    stop = f"--stop-timeout={request.grace}"
    entry = ("--entrypoint=/bin/sh", request.image, "-c", enter_script(), "enter", *request.entry_point.argv)
    docker = shlex.join((*_DOCKER, stop, "--name", request.name, *told, *entry))
    limit = f"timeout --signal=TERM --kill-after={request.grace} {request.time_limit} " if request.time_limit else ""
    return (
        "#!/bin/sh\n"
        f"mark=/var/lib/{request.name}.started\n"
        '[ -e "$mark" ] && exit 0\n'
        'touch "$mark"\n'
        f"{limit}{docker}\n"
        f"curl -fsS -X PUT --data \"$?\" -H 'Metadata-Flavor: Google' {_ATTRIBUTES}/{EXIT_CODE}\n"
    )


def run_outcome(tpu: Body | None, codes: Mapping[int, int], hosts: int) -> Outcome | None:
    """How the run ended; None while it goes on. tpu: the node, None once it is deleted. codes: exit code by host."""
    if tpu is None:
        return Outcome.CANCELLED
    if seen := tpu_outcome(tpu):
        return seen[0]
    outcomes = [_of_code(code) for code in codes.values()]
    whole = len(codes) == hosts or any(each is not Outcome.SUCCESS for each in outcomes)
    return gang_outcome(outcomes) if whole else None


def _of_code(code: int) -> Outcome:
    if code == TPU_BUSY:
        return Outcome.FAILED
    return Outcome.ERROR if code else Outcome.SUCCESS


def _problems(request: JobRequest, pool_node: NodeSpec) -> list[Problem]:
    subject, found = f"job {request.name} on a TPU VM", []
    gke = "send it to a cluster with --backend gke"
    if not request.image:
        found.append(Problem(subject, "", "a job on a TPU VM needs an image, by digest", "--image IMAGE@sha256:..."))
    if request.replicas > 1:
        found.append(Problem(subject, f"{request.replicas} slices", "a job on a TPU VM has one slice", gke))
    accelerator = request.resources.accelerator
    if accelerator is None or accelerator.name != pool_node.accelerator_type:
        asked = accelerator.name if accelerator else "no TPU"
        found.append(
            Problem(subject, asked, f"the pool has {pool_node.accelerator_type}", "another pool, or that type")
        )
    if request.queue or request.secrets:
        found.append(Problem(subject, "queue or secrets", "a TPU VM has no queue and mounts no secrets", gke))
    return found
