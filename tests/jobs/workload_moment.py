"""What of Dask classes and groups a moment shows, recorded or live."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from infra.jobs.waiting import Waiting, waiting
from infra.model.gke_shapes import NODE_POOL_LABEL
from infra.model.group_objects import ROLE_LABEL


class Moment:
    """What stood at a moment of a scenario, by the path that it was read at."""

    def __init__(self, objects: Mapping[str, Any]) -> None:
        self.objects = objects

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [body for path, body in self.objects.items() if path.rpartition("/")[0].endswith(f"/{kind}")]

    def running(self, label: str) -> list[dict[str, Any]]:
        """Pods with the label that run and are not told to end."""
        pods = (each for each in self.of("pods") if each["status"].get("phase") == "Running")
        return [
            each for each in pods if label in each["metadata"]["labels"] and "deletionTimestamp" not in each["metadata"]
        ]

    def by(self, label: str) -> Counter[str]:
        """How many of them have each value of the label."""
        return Counter(each["metadata"]["labels"][label] for each in self.running(label))

    def pools(self, wanted: str) -> Counter[str]:
        """How many distinct nodes a role has in each node pool."""
        nodes = {each["metadata"]["name"]: each for each in self.of("nodes")}
        held = {each["spec"]["nodeName"] for each in self.running(ROLE_LABEL) if role(each) == wanted}
        return Counter(nodes[name]["metadata"]["labels"][NODE_POOL_LABEL] for name in held)

    def waits(self) -> list[Waiting]:
        """What each workload without quota waits for."""
        pending = [
            row for path, body in self.objects.items() if path.endswith("/pendingworkloads") for row in body["items"]
        ]
        return [found for each in self.of("workloads") if (found := waiting(each, pending)) is not None]


def role(pod: Mapping[str, Any]) -> str:
    """Of a group."""
    return pod["metadata"]["labels"][ROLE_LABEL]
