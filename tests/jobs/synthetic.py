"""Requests and API objects that tests of jobs share."""

from __future__ import annotations

from typing import Any

from infra.jobs.request import Command, JobRequest, Resources

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
