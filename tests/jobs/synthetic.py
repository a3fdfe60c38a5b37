"""Requests and API objects that tests of jobs share."""

from __future__ import annotations

from typing import Any

from infra.jobs.request import Command, JobRequest, Resources
from infra.model.gke_shapes import TPU_RESOURCE, gke_shapes

IMAGE = "us-docker.pkg.dev/lab/images/train@sha256:" + "0a" * 32


def request(name: str = "llama", **more: Any) -> JobRequest:
    """A job of two slices of v4-32 unless told otherwise."""
    given: dict[str, Any] = {
        "entry_point": Command(("python", "train.py")),
        "resources": Resources.with_tpu("v4-32", 2, cpu="200", memory="300Gi"),
        "image": IMAGE,
        "queue": "v4-32",
    }
    return JobRequest(name=name, **given | more)


def condition(kind: str, status: str = "True", reason: str = "", message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def node(
    name: str,
    *,
    spot: bool = False,
    labels: dict[str, str] | None = None,
    taints: tuple[str, ...] = (),
    ready: bool = True,
) -> dict[str, Any]:
    told = {"cloud.google.com/gke-spot": "true"} if spot else {}
    return {
        "metadata": {"name": name, "labels": told | (labels or {})},
        "spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]},
        "status": {"conditions": [condition("Ready", "True" if ready else "Unknown")]},
    }


def pod(
    index: int = 0,
    host: int = 0,
    *,
    phase: str = "Running",
    code: int | None = None,
    disrupted: str = "",
    on: str = "",
    spot: bool = False,
    ended: str = "Error",
    **status: Any,
) -> dict[str, Any]:
    """A pod of a slice. code: its container's exit code. disrupted: reason of DisruptionTarget. on: its node."""
    state = {} if code is None else {"state": {"terminated": {"exitCode": code, "reason": ended}}}
    return {
        "metadata": {
            "name": f"llama-slice-{index}-{host}-abcde",
            "labels": {
                "jobset.sigs.k8s.io/job-index": str(index),
                "batch.kubernetes.io/job-completion-index": str(host),
            },
        },
        "spec": {
            "nodeName": on or f"node-{index}-{host}",
            "containers": [{"name": "job"}],
            "nodeSelector": {"cloud.google.com/gke-spot": "true"} if spot else {},
        },
        "status": {
            "phase": phase,
            "conditions": [condition("DisruptionTarget", reason=disrupted)] if disrupted else [],
            "containerStatuses": [{"name": "job", **state}],
            **status,
        },
    }


def xpk_jobset(name: str, namespace: str) -> dict[str, Any]:
    """Two slices of v4-32 as Google's xpk asks for them (its template of 2026-08), restarted up to four times."""
    shape = gke_shapes()["v4-32"]
    chips = {TPU_RESOURCE: str(shape.chips_per_node)}
    container = {
        "name": "jax-tpu",
        "image": IMAGE,
        "command": ["bash", "-c", "python train.py"],
        "env": [{"name": "JOBSET_NAME", "value": name}],
        "ports": [{"containerPort": port} for port in (8471, 8080, 8431)],
        "securityContext": {"privileged": True},
        "resources": {"limits": chips},
    }
    pod_spec = {
        "restartPolicy": "Never",
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "terminationGracePeriodSeconds": 30,
        "nodeSelector": dict(shape.node_labels),
        "tolerations": [{"key": TPU_RESOURCE, "operator": "Exists"}],
        "containers": [container],
    }
    ends = {"operator": "NotIn", "values": [42, *range(127, 256)]}
    job = {
        "parallelism": shape.nodes,
        "completions": shape.nodes,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": ends}]},
        "template": {"spec": pod_spec},
    }
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"kueue.x-k8s.io/queue-name": "v4-32", "xpk.google.com/workload": name},
            "annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"},
        },
        "spec": {
            "failurePolicy": {
                "maxRestarts": 4,
                "rules": [{"action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]}],
            },
            "replicatedJobs": [{"name": "slice-job", "replicas": 2, "template": {"spec": job}}],
        },
    }
