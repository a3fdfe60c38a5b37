"""What the real controllers of Kueue, LeaderWorkerSet and Dask answered to Dask classes and groups."""

from __future__ import annotations

from infra.jobs.evidence import holds
from infra.jobs.waiting import eviction
from infra.model.group_objects import CURRICULUM, ROLE_LABEL, ROLLOUT, TRAIN
from tests.jobs.recording import load
from tests.jobs.workload_moment import Moment, role

DASK = "dask.org/cluster-name"
WHOLE = {CURRICULUM: 1, TRAIN: 4, ROLLOUT: 3}


def recorded(scenario: str, name: str) -> Moment:
    return Moment(load(scenario)["moments"][name])


def test_every_pod_of_a_dask_class_is_admitted_by_itself_and_stays_on_its_cpu_pool() -> None:
    first = recorded("dask_class", "the first runs")
    assert first.by(DASK) == {"transform": 3}
    assert len(first.of("workloads")) == 3
    assert all(holds(each, "Admitted") for each in first.of("workloads"))
    assert {each["spec"]["nodeName"].rpartition("-")[0] for each in first.running(DASK)} == {"dask"}


def test_a_worker_past_the_quota_waits_and_says_for_what() -> None:
    moment = recorded("dask_class", "a worker of the second waits")
    assert moment.by(DASK) == {"transform": 3, "late": 5}
    (waits,) = moment.waits()
    assert (waits.queue, waits.place) == ("cpu", 0)
    assert "insufficient unused quota for cpu in flavor cpu-dask, 2 more needed" in waits.says


def test_workers_of_a_node_that_is_gone_come_again() -> None:
    assert sum(recorded("dask_class", "a node is gone").by(DASK).values()) == 4
    later = recorded("dask_class", "running again")
    assert sum(later.by(DASK).values()) == 8
    assert len(later.waits()) == 1, "the quota is full again"


def test_each_role_of_a_group_is_admitted_and_placed_one_pod_a_vm_and_one_slice_a_pool() -> None:
    running = recorded("group", "running")
    assert running.by(ROLE_LABEL) == WHOLE
    assert running.pools(TRAIN) == {"v4-32-a": 4}
    assert running.pools(ROLLOUT) == {"v4-8-0": 1, "v4-8-1": 1, "v4-8-2": 1}
    assert running.pools(CURRICULUM) == {"batch": 1}
    kinds = sorted(each["metadata"]["name"].partition("-")[0] for each in running.of("workloads"))
    assert kinds == ["leaderworkerset", "pod", "statefulset"], "each role as a gang"


def test_a_learner_gives_its_slice_to_a_higher_priority_and_the_actors_go_on() -> None:
    moment = recorded("group", "the learner waits")
    assert moment.by(ROLE_LABEL) == {CURRICULUM: 1, ROLLOUT: 3}
    (waits,) = moment.waits()
    assert (waits.queue, waits.place) == ("v4-32", 0)
    assert waits.says.startswith("a job of higher priority took its quota; ")
    (learner,) = (each for each in moment.of("workloads") if each["metadata"]["name"].startswith("leaderworkerset-"))
    assert eviction(learner) == "Preempted"
    assert recorded("group", "the learner goes on").by(ROLE_LABEL) == WHOLE


def test_a_slice_of_a_learner_that_lost_a_vm_begins_anew_as_a_whole() -> None:
    before = {
        each["metadata"]["uid"]
        for each in recorded("group", "the learner goes on").running(ROLE_LABEL)
        if role(each) == TRAIN
    }
    again = recorded("group", "running again")
    assert again.by(ROLE_LABEL) == WHOLE
    assert not before & {each["metadata"]["uid"] for each in again.running(ROLE_LABEL)}
    assert again.pools(TRAIN) == {"v4-32-a": 4}
