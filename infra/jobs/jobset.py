"""A job request as a JobSet of Kubernetes: one Job a slice, one pod a VM, restarts by what ended the last attempt.

Pure: equal requests, equal objects. JobSet v1alpha2 (chart 0.12, https://jobset.sigs.k8s.io/docs/reference, 2026-10),
Kueue's labels (https://kueue.sigs.k8s.io/docs/tasks/run/jobsets, 2026-10). What runs in a pod is `enter.sh`.

Pods are neither privileged nor on the host's network: policies of the namespace hold for training too. They have no
priority of their own, for the scheduler's preemption does not work beside exclusive placement (JobSet issue 682):
priorities are Kueue's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from infra.jobs.request import JobRequest
from infra.model import names
from infra.model.catalogue import AcceleratorType
from infra.model.errors import ConfigError, Problem
from infra.model.gke_shapes import NODE_POOL_LABEL, TPU_RESOURCE, GkeShape, gke_shape
from infra.model.queue_objects import FROM_STORE, TRAINER, in_queue

API_VERSION: Final = "jobset.x-k8s.io/v1alpha2"
JOBSETS: Final = "/apis/jobset.x-k8s.io/v1alpha2"
INTERRUPTED: Final = "interrupted"
"""Name of the rule by which an attempt that its machines ended is begun again; JobSet's condition names it."""
SLICE: Final = "slice"
"""Name of the one replicated job; job N of it is slice N."""
REQUEST: Final = "tidepool/request"
"""Annotation with the request as JSON, from which a job is submitted anew on another number of slices."""
PREEMPTION_BUDGET: Final = "tidepool/preemption-budget"
"""Annotation: JobSet counts no restart after a preemption, so whoever watches reads the limit here."""
CANCELLED: Final = "tidepool/cancelled-at"
JOB: Final = "tidepool/job"
"""Label of the JobSet and its pods."""

TPU_BUSY: Final = 170
"""`enter.sh` says so of a VM whose TPU another process does not leave."""
SECRET_UNREADABLE: Final = 171
"""`enter.sh` says so where a secret that the job names is not mounted or may not be read."""
MEGASCALE_PORT: Final = 8081
SETTLE_SECONDS: Final = 30
"""How long hosts hold their errors back: a preempted VM's kubelet marks its pods within its 25 s of notice."""
KEPT_SECONDS: Final = 7 * 86400
"""How long an ended job can be asked why."""
SECRETS: Final = "/var/run/tidepool/secrets"
"""A folder for each variable whose value is a secret."""
PORTS: Final = {"tpu-runtime": 8471, "jax": 8080, "metrics": 8431}

_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_JOB_INDEX: Final = "metadata.annotations['jobset.sigs.k8s.io/job-index']"
_TWO_PROCESSES: Final = "tpu7x"
"""A VM of this generation has two NUMA nodes, and one process on each drives half its chips."""


@cache
def enter_script() -> str:
    """What runs around the program, without its comments: it stands in every pod."""
    lines = Path(__file__).with_name("enter.sh").read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.lstrip().startswith("#") and line.strip())


def jobset(request: JobRequest) -> dict[str, Any]:
    """The object to create. ConfigError where the request has no image, which a pod cannot do without."""
    if not request.image:
        rule = "a job in a cluster needs an image, by digest"
        raise ConfigError([Problem(f"job {request.name}: image", "", rule, "--image IMAGE@sha256:...")])
    labels = {JOB: request.name}
    if request.queue:
        labels |= in_queue(request.queue, request.priority)
        if request.time_limit is not None:
            labels["kueue.x-k8s.io/max-exec-time-seconds"] = str(request.time_limit)
    return {
        "apiVersion": API_VERSION,
        "kind": "JobSet",
        "metadata": {
            "name": request.name,
            "namespace": request.namespace,
            "labels": labels,
            "annotations": {
                REQUEST: json.dumps(request.to_json(), sort_keys=True),
                PREEMPTION_BUDGET: str(request.retries.preemptions),
            },
        },
        "spec": {
            # Kueue starts it; without this a cluster whose Kueue is down would start it past every quota.
            **({"suspend": True} if request.queue else {}),
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True, "subdomain": request.name},
            "successPolicy": {"operator": "All", "targetReplicatedJobs": [SLICE]},
            "failurePolicy": failure_policy(request),
            "ttlSecondsAfterFinished": KEPT_SECONDS,
            "replicatedJobs": [replicated_job(request)],
        },
    }


def failure_policy(request: JobRequest) -> dict[str, Any]:
    """Restart as often as there are failures allowed; an attempt that its machines ended is not counted.

    Rules come before jobs: where one slice was preempted and others failed of it, the first rule has the say. Old jobs
    are gone before new ones start, because a slice has room for one.
    """
    interrupted = "RestartJobSetAndIgnoreMaxRestarts" if request.retries.preemptions else "FailJobSet"
    return {
        "maxRestarts": request.retries.failures,
        "restartStrategy": "BlockingRecreate",
        "rules": [
            {"name": INTERRUPTED, "action": interrupted, "onJobFailureReasons": ["PodFailurePolicy"]},
            {"name": "tooLong", "action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]},
        ],
    }


def replicated_job(request: JobRequest) -> dict[str, Any]:
    """One Job for each slice."""
    accelerator = request.resources.accelerator
    spec: dict[str, Any] = {
        "parallelism": request.resources.hosts,
        "completions": request.resources.hosts,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": {"rules": interruptions(request)},
        "template": {"metadata": {"labels": {JOB: request.name}}, "spec": pod_spec(request)},
    }
    if request.time_limit is not None:
        spec["activeDeadlineSeconds"] = request.time_limit
    template: dict[str, Any] = {"spec": spec}
    # Slices of one host share a node pool, which one of them must not take whole; a pod that asks for every chip of
    # its VM has that VM alone anyway.
    if accelerator is not None and accelerator.multi_host:
        template["metadata"] = {"annotations": {_EXCLUSIVE: NODE_POOL_LABEL}}
    return {"name": SLICE, "replicas": request.replicas, "template": template}


def interruptions(request: JobRequest) -> list[dict[str, Any]]:
    """What fails a Job for reasons outside its program: a pod that was evicted, or a TPU that stayed in use."""
    disrupted = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    if request.resources.accelerator is None:
        return [disrupted]
    return [disrupted, {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [TPU_BUSY]}}]


def pod_spec(request: JobRequest) -> dict[str, Any]:
    accelerator = request.resources.accelerator
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": request.grace,
        "containers": containers(request),
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }
    spec["volumes"] += [mounted(at, secret) for at, (_, secret) in enumerate(sorted(request.secrets.items()))]
    # The team's own account alone may read its secrets.
    if account := request.service_account or (TRAINER if request.secrets else ""):
        spec["serviceAccountName"] = account
    # Who names an account that is no team's may want the rights that it has in the cluster.
    if account in ("", TRAINER):
        spec["automountServiceAccountToken"] = False
    if accelerator is not None:
        spec["nodeSelector"] = dict(shape_of(request, accelerator).node_labels)
        spec["tolerations"] = [{"key": TPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"}]
    return spec


def shape_of(request: JobRequest, accelerator: AcceleratorType) -> GkeShape:
    """What GKE calls its slices; ConfigError where GKE has none of the type."""
    shape = gke_shape(accelerator)
    if shape is None:
        rule = "GKE has no machine type for this accelerator"
        raise ConfigError(
            [Problem(f"job {request.name}: resources", accelerator.name, rule, "another accelerator type")]
        )
    return shape


def containers(request: JobRequest) -> list[dict[str, Any]]:
    """One that has every chip of its VM; of a generation with two NUMA nodes two, with half the chips each."""
    accelerator = request.resources.accelerator
    count = 2 if accelerator is not None and accelerator.generation.name == _TWO_PROCESSES else 1
    called = ("job",) if count == 1 else ("job-0", "job-1")
    return [container(request, name, count, index) for index, name in enumerate(called)]


def container(request: JobRequest, name: str, count: int, index: int) -> dict[str, Any]:
    """Container `index` of `count`. What the request says of cpu, memory and disk is of the pod."""
    accelerator, resources = request.resources.accelerator, request.resources
    asked = {"cpu": resources.cpu, "memory": resources.memory, "ephemeral-storage": resources.disk}
    requests = {kind: split(text, count) for kind, text in asked.items() if text}
    body: dict[str, Any] = {
        "name": name,
        "image": request.image,
        "command": ["/bin/sh", "-c", enter_script(), "enter"],
        "args": list(request.entry_point.argv),
        "env": variables(request),
        "resources": {"requests": requests},
        **FROM_STORE,
        "volumeMounts": [
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - the mount point that programs use
            *(
                {"name": f"secret-{at}", "mountPath": f"{SECRETS}/{variable}", "readOnly": True}
                for at, variable in enumerate(sorted(request.secrets))
            ),
        ],
        "securityContext": {"allowPrivilegeEscalation": False},
    }
    if accelerator is not None:
        chips = str(accelerator.chips_per_host // count)
        body["resources"] = {"requests": requests | {TPU_RESOURCE: chips}, "limits": {TPU_RESOURCE: chips}}
        body["securityContext"] = {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["SYS_RESOURCE"]},
        }  # locked memory, as libtpu needs it
        if index == 0:
            body["ports"] = [{"name": port, "containerPort": number} for port, number in PORTS.items()]
    return body


def mounted(at: int, secret: str) -> dict[str, Any]:
    """The volume of a secret, which GKE's add-on fills as the pod's Google account and keeps nowhere else."""
    told = {"secretProviderClass": names.mount_name(secret)}
    csi = {"driver": "secrets-store-gke.csi.k8s.io", "readOnly": True, "volumeAttributes": told}
    return {"name": f"secret-{at}", "csi": csi}


def split(text: str, count: int) -> str:
    """A quantity divided among containers, in thousandths where it is small enough to need them."""
    if count == 1:
        return text
    number, unit = text.rstrip("mkMGTPEi"), text[len(text.rstrip("mkMGTPEi")) :]
    return f"{float(number) / count:g}{unit}"


def variables(request: JobRequest) -> list[dict[str, Any]]:
    """Environment of each host: the request's, the order to end, and of a multislice job who it is among slices."""
    plain = {**request.environment, "TIDEPOOL_SIGNAL": request.checkpoint_signal}
    if request.resources.accelerator is not None:
        plain["TIDEPOOL_SETTLE"] = str(SETTLE_SECONDS)
    multislice = request.resources.accelerator is not None and request.replicas > 1
    if request.secrets:
        plain["TIDEPOOL_SECRETS"] = SECRETS
    if multislice:
        coordinator = f"{request.name}-{SLICE}-0-0.{request.name}"
        plain |= megascale(f"{coordinator}:{MEGASCALE_PORT}", request.replicas)
    listed: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in sorted(plain.items())]
    if multislice:
        listed.append({"name": "MEGASCALE_SLICE_ID", "valueFrom": {"fieldRef": {"fieldPath": _JOB_INDEX}}})
    return listed


def megascale(coordinator: str, slices: int, slice_id: int | None = None) -> Mapping[str, str]:
    """The variables by which slices find one another; libtpu reads them. coordinator: HOST:PORT on slice 0."""
    told = {
        "MEGASCALE_COORDINATOR_ADDRESS": coordinator,
        "MEGASCALE_NUM_SLICES": str(slices),
        "MEGASCALE_PORT": str(MEGASCALE_PORT),
    }
    return told if slice_id is None else told | {"MEGASCALE_SLICE_ID": str(slice_id)}
