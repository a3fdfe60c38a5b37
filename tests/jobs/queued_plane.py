"""A real control plane with the controllers of JobSet and Kueue and the queues of a stack, for recordings and tests.

What a kubelet would say of a pod is said here; all else is theirs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.cloud.kubernetes.control import kubeconfig
from bench.providers.kubernetes.reach import ClusterApi
from bench.tests.kubernetes.operators import running_jobset, running_kueue
from bench.tests.kubernetes.real_control_plane import real_control_plane
from bench.tests.kubernetes.simulated_nodes import slice_nodes
from infra.jobs.client import JobPhase
from infra.jobs.evidence import condition, holds
from infra.jobs.gke import GkeClient, GkeJob
from infra.jobs.jobset import JOBSETS
from infra.jobs.kube import Kube, place_of
from infra.jobs.request import Resources
from infra.model.schema import StackConfig
from tests.jobs.recording import moment
from tests.jobs.synthetic import request
from tests.model.queued import objects, stack

TEAM: Final = "pretraining"
POOLS: Final = ("v4-32-a", "v4-32-b", "v4-32-c")
_PATIENCE: Final = 180.0
_SLICES: Final = [{"accelerator": "v4-32", "zone": "us-central2-b", "capacity": "spot", "buffer": 1, "maximum": 3}]

Operator = Callable[[Path, Path], AbstractContextManager[None]]
"""Runs a controller, with a folder and a kubeconfig."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """What a stack declares, the nodes that it has, and which controllers are there beside JobSet's and Kueue's."""

    config: StackConfig
    nodes: Sequence[Mapping[str, Any]]
    operators: tuple[Operator, ...] = ()


def spot_lab() -> Lab:
    """Three spot slices of v4-32, and a team."""
    queues: dict[str, Any] = {"teams": [{"name": TEAM}], "priorities": {"low": 100, "high": 1000}}
    config = stack(_SLICES, preemption="lower-priority", **queues)
    return Lab(config=config, nodes=[node for pool in POOLS for node in slice_nodes("v4-32", pool)])


@dataclass
class QueuedPlane:
    """A cluster with the queues of a stack, and what was seen of it."""

    api: ClusterApi
    client: GkeClient
    lab: Lab
    moments: dict[str, Any] = field(default_factory=dict)

    def submit(self, name: str, slices: int = 1, **more: Any) -> GkeJob:
        given: dict[str, Any] = {
            "resources": Resources.with_tpu("v4-32", slices, cpu="200", memory="300Gi"),
            "grace": 1,
            "queue": "v4-32",
        }
        return self.client.submit(request(name, namespace=TEAM, **given | more))

    def seen(self, name: str) -> None:
        self.moments[name] = moment(self.api, TEAM)

    def caught(self, name: str, reason: str) -> None:
        """Keep the first moment in which a pod was disrupted for this reason: its controllers soon take it away."""

        def seen() -> bool:
            self.seen(name)
            pods = (each for at, each in self.moments[name].items() if "/pods/" in at)
            return any((condition(each, "DisruptionTarget") or {}).get("reason") == reason for each in pods)

        until(seen, f"a pod shows what {name!r} is")

    def pods(self, name: str) -> list[dict[str, Any]]:
        at = f"/api/v1/namespaces/{TEAM}/pods"
        found = self.api.call("GET", at, query={"labelSelector": f"jobset.sigs.k8s.io/jobset-name={name}"})["items"]
        return sorted(found, key=lambda each: each["metadata"]["name"])

    def jobset(self, name: str) -> dict[str, Any]:
        return self.api.find(f"{JOBSETS}/namespaces/{TEAM}/jobsets/{name}") or {}

    def workload(self, name: str) -> Mapping[str, Any]:
        found = self.client.kueue.workloads(TEAM)
        return next((each for each in found if each["metadata"]["name"].startswith(f"jobset-{name}-")), {})

    def runs(self, job: GkeJob, restarts: int = 0) -> None:
        """Wait until every pod of it runs, after so many restarts."""
        until(
            lambda: (
                job.state().phase is JobPhase.RUNNING
                and self.jobset(job.name).get("status", {}).get("restarts", 0) == restarts
            ),
            f"{job.name} runs",
        )

    def tell(self, pod: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        """Say a pod's status in its kubelet's place."""
        at = f"/api/v1/namespaces/{TEAM}/pods/{pod['metadata']['name']}/status"
        self.api.call("PATCH", at, {"status": status}, content="application/strategic-merge-patch+json")

    def ends(self, pod: Mapping[str, Any], code: int, **status: Any) -> None:
        """Let its program end with an exit code."""
        at = now()
        ended = {"exitCode": code, "reason": "Completed" if code == 0 else "Error", "startedAt": at, "finishedAt": at}
        containers = [
            {"name": each["name"], "image": each["image"], "imageID": "", "ready": False, "restartCount": 0,
             "state": {"terminated": ended, "running": None}}
            for each in pod["spec"]["containers"]
        ]  # fmt: skip
        self.tell(pod, {"phase": "Failed" if code else "Succeeded", "containerStatuses": containers, **status})

    def shuts_down(self, node: str, name: str) -> None:
        """What a kubelet does within the notice that a spot VM is given: its pods fail, and the node is not ready."""
        disrupted = {
            "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
            "message": "Pod was terminated in response to imminent node shutdown.", "lastTransitionTime": now(),
        }  # fmt: skip
        self.taint(node, "cloud.google.com/impending-node-termination")
        for pod in self.pods(name):
            if pod["spec"].get("nodeName") == node:
                self.ends(pod, 143, reason="Terminated", conditions=[disrupted])

    def taint(self, node: str, key: str) -> None:
        body = self.api.call("GET", f"/api/v1/nodes/{node}")
        taints = [*body["spec"].get("taints", ()), {"key": key, "effect": "NoSchedule", "timeAdded": now()}]
        self.api.call(
            "PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": taints}}, content="application/merge-patch+json"
        )

    def make(self, body: Mapping[str, Any]) -> None:
        """Create an object, by strict validation."""
        served = self.api.kind(body["apiVersion"], body["kind"])
        assert served is not None, body["kind"]
        at = served.of(body["metadata"].get("namespace", ""))
        self.api.call("POST", at, dict(body), query={"fieldValidation": "Strict"})

    def rejoin(self, name: str) -> None:
        """Let a node that was taken come again."""
        self.join([each for each in self.nodes() if each["metadata"]["name"] == name])

    def join(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        """Let nodes come. kwok forgets one whose lease is collected after a new one of its name has come."""
        names = {each["metadata"]["name"] for each in nodes}
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        until(
            lambda: not names & {each["metadata"]["name"] for each in self.api.call("GET", leases)["items"]},
            f"leases of {', '.join(sorted(names))} are gone",
        )
        for node in nodes:
            self.make(node)

    def nodes(self) -> list[dict[str, Any]]:
        return [{"apiVersion": "v1", "kind": "Node", **node} for node in self.lab.nodes]


def until(said: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not said():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: it did not come to hold")
        time.sleep(0.2)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@contextmanager
def running_plane(folder: Path, *, lab: Lab) -> Generator[QueuedPlane]:
    """A control plane with the controllers, the queues of a stack and its nodes."""
    with real_control_plane(folder, completes=False) as reached, ExitStack() as ends:
        path = folder / "record.kubeconfig"
        said = kubeconfig(reached)
        path.write_text(json.dumps(said))
        ends.enter_context(running_jobset(folder, path))
        for operator in lab.operators:
            ends.enter_context(operator(folder, path))
        ends.enter_context(running_kueue(folder, path, lab.config))
        (context,) = said["contexts"]
        context["context"]["namespace"] = TEAM
        place = place_of(said, said["current-context"], path)
        plane = QueuedPlane(ClusterApi(path.read_text()), GkeClient(Kube(place)), lab)
        for body in objects(lab.config):
            plane.make(body)
        plane.join(nodes := plane.nodes())
        until(
            lambda: sum(holds(each, "Ready") for each in plane.api.call("GET", "/api/v1/nodes")["items"]) == len(nodes),
            "nodes",
        )
        yield plane
