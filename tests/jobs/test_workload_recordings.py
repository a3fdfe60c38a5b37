"""What the real controllers of Kueue, LeaderWorkerSet and Dask answered to Dask classes and groups."""

from __future__ import annotations

from collections import Counter
from typing import Any

from infra.jobs.evidence import holds
from infra.jobs.waiting import Waiting, eviction, waiting
from infra.model.gke_shapes import NODE_POOL_LABEL
from infra.model.group_objects import CURRICULUM, ROLE_LABEL, ROLLOUT, TRAIN
from tests.jobs.recording import load


class Moment:
    """What stood at a moment of a scenario."""

    def __init__(self, scenario: str, name: str) -> None:
        self.objects: dict[str, Any] = load(scenario)["moments"][name]

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

    def pools(self, role: str) -> Counter[str]:
        """How many distinct nodes a role has in each node pool."""
        nodes = {each["metadata"]["name"]: each for each in self.of("nodes")}
        held = {each["spec"]["nodeName"] for each in self.running(ROLE_LABEL) if _role(each) == role}
        return Counter(nodes[name]["metadata"]["labels"][NODE_POOL_LABEL] for name in held)

    def waits(self) -> list[Waiting]:
        """What each workload without quota waits for."""
        pending = [
            row for path, body in self.objects.items() if path.endswith("/pendingworkloads") for row in body["items"]
        ]
        return [found for each in self.of("workloads") if (found := waiting(each, pending)) is not None]


def _role(pod: dict[str, Any]) -> str:
    return pod["metadata"]["labels"][ROLE_LABEL]


DASK = "dask.org/cluster-name"
WHOLE = {CURRICULUM: 1, TRAIN: 4, ROLLOUT: 3}


def test_every_pod_of_a_dask_class_is_admitted_by_itself_and_stays_on_its_cpu_pool() -> None:
    first = Moment("dask_class", "the first runs")
    assert first.by(DASK) == {"transform": 3}
    assert len(first.of("workloads")) == 3
    assert all(holds(each, "Admitted") for each in first.of("workloads"))
    assert {each["spec"]["nodeName"].rpartition("-")[0] for each in first.running(DASK)} == {"dask"}


def test_a_worker_past_the_quota_waits_and_says_for_what() -> None:
    moment = Moment("dask_class", "a worker of the second waits")
    assert moment.by(DASK) == {"transform": 3, "late": 5}
    (waits,) = moment.waits()
    assert (waits.queue, waits.place) == ("cpu", 0)
    assert "insufficient unused quota for cpu in flavor cpu-dask, 2 more needed" in waits.says


def test_workers_of_a_node_that_is_gone_come_again() -> None:
    assert sum(Moment("dask_class", "a node is gone").by(DASK).values()) == 4
    later = Moment("dask_class", "running again")
    assert sum(later.by(DASK).values()) == 8
    assert len(later.waits()) == 1, "the quota is full again"


def test_each_role_of_a_group_is_admitted_and_placed_one_pod_a_vm_and_one_slice_a_pool() -> None:
    running = Moment("group", "running")
    assert running.by(ROLE_LABEL) == WHOLE
    assert running.pools(TRAIN) == {"v4-32-a": 4}
    assert running.pools(ROLLOUT) == {"v4-8-0": 1, "v4-8-1": 1, "v4-8-2": 1}
    assert running.pools(CURRICULUM) == {"batch": 1}
    kinds = sorted(each["metadata"]["name"].partition("-")[0] for each in running.of("workloads"))
    assert kinds == ["leaderworkerset", "pod", "statefulset"], "each role as a gang"


def test_a_learner_gives_its_slice_to_a_higher_priority_and_the_actors_go_on() -> None:
    moment = Moment("group", "the learner waits")
    assert moment.by(ROLE_LABEL) == {CURRICULUM: 1, ROLLOUT: 3}
    (waits,) = moment.waits()
    assert (waits.queue, waits.place) == ("v4-32", 0)
    assert waits.says.startswith("a job of higher priority took its quota; ")
    (learner,) = (each for each in moment.of("workloads") if each["metadata"]["name"].startswith("leaderworkerset-"))
    assert eviction(learner) == "Preempted"
    assert Moment("group", "the learner goes on").by(ROLE_LABEL) == WHOLE


def test_a_slice_of_a_learner_that_lost_a_vm_begins_anew_as_a_whole() -> None:
    before = {
        each["metadata"]["uid"]
        for each in Moment("group", "the learner goes on").running(ROLE_LABEL)
        if _role(each) == TRAIN
    }
    again = Moment("group", "running again")
    assert again.by(ROLE_LABEL) == WHOLE
    assert not before & {each["metadata"]["uid"] for each in again.running(ROLE_LABEL)}
    assert again.pools(TRAIN) == {"v4-32-a": 4}
