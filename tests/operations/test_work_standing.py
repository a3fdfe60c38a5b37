"""How Dask classes, groups and queues stand, by what real controllers answered."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from infra.fleet.google import GoogleError
from infra.jobs.kube import Kube
from infra.jobs.work import QueueSeen, WorkSeen
from infra.operations.errors import Failure
from infra.operations.stacks import work
from infra.operations.stacks.work import WorkStanding, work_standing
from infra.operations.stacks.work_words import work_shown
from infra.preview.toned import TextTable, Tone, TonedLine
from tests.jobs.cluster import Cluster, running_cluster
from tests.jobs.record_workloads import work_lab
from tests.jobs.recording import load, play

Why = Callable[[str], WorkStanding]
At = Callable[[str, str], Why]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running_cluster() as found:
        yield found


@pytest.fixture
def at(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> At:
    """What `why` finds in the cluster of one stack as it was in a scenario at a moment."""

    @contextmanager
    def reached(*_: Any) -> Generator[Kube]:
        yield Kube(cluster.place)

    monkeypatch.setattr(work, "readable_configs", lambda _: [work_lab().config])
    monkeypatch.setattr(work, "open_cloud", lambda *_: SimpleNamespace(endpoint=None))
    monkeypatch.setattr(work, "cluster_api", reached)

    def found(scenario: str, moment: str) -> Why:
        play(cluster, load(scenario), moment)
        return lambda name: work_standing(name)[0]

    return found


def ready(told: WorkStanding) -> dict[str, tuple[int, int]]:
    assert isinstance(told.seen, WorkSeen)
    return {part.name: (part.ready, part.pods) for part in told.seen.parts}


def lines(told: WorkStanding) -> list[str]:
    return [str(each) for each in work_shown(told) if not isinstance(each, TextTable)]


def headed(told: WorkStanding) -> Tone:
    """How the state in the first line is meant."""
    first, *_ = work_shown(told)
    assert isinstance(first, TonedLine)
    return first.parts[-1][1]


def test_a_dask_class_says_which_pods_are_ready_and_what_one_waits_for(at: At) -> None:
    why = at("dask_class", "a worker of the second waits")
    assert ready(why("transform")) == {"scheduler": (1, 1), "worker": (2, 2)}
    assert lines(why("transform"))[0] == "transform  dask class in pretraining, stack training: ready"
    late = why("late")
    assert ready(late) == {"scheduler": (1, 1), "worker": (4, 5)}
    assert isinstance(late.seen, WorkSeen)
    (waits,) = late.seen.waits
    assert (waits.count, waits.waits.queue, waits.waits.place) == (1, "cpu", 0)
    assert waits.first.startswith("pod-late-default-worker-")
    assert lines(late)[0].endswith(": waits")
    assert "  worker: 4 of 5 pods ready; 1 waits for Kueue to admit" in lines(late)
    assert "insufficient unused quota for cpu in flavor cpu-dask, 2 more needed" in lines(late)[3]


def test_a_group_says_which_role_lost_its_quota_and_why(at: At) -> None:
    whole = at("group", "running")("math")
    assert ready(whole) == {"curriculum": (1, 1), "train": (4, 4), "rollout": (3, 3)}
    assert lines(whole)[0].endswith(": ready")
    told = at("group", "the learner waits")("math")
    assert ready(told) == {"curriculum": (1, 1), "train": (0, 1), "rollout": (3, 3)}
    assert "  train: 0 of 4 pods ready; 1 waits for Kueue to admit; 3 wait to be made" in lines(told)
    waits = told.to_json()["seen"]["waits"]
    assert [(each["queue"], each["place"], each["count"]) for each in waits] == [("v4-32", 0, 1)]
    assert waits[0]["says"].startswith("a job of higher priority took its quota; ")


def test_a_queue_says_what_is_held_and_who_waits(at: At) -> None:
    why = at("dask_class", "a worker of the second waits")
    told = why("cpu").seen
    assert isinstance(told, QueueSeen)
    assert (told.active, told.admitted, told.pending) == (True, 8, 1)
    held = {(each.flavor, each.resource): (each.held, each.quota) for each in told.quotas}
    assert held["cpu-dask", "cpu"] == (16, 16)
    assert held["cpu-batch", "cpu"] == (0, 16)
    assert [(each.first.partition("-default-")[0], each.waits.cluster_place) for each in told.waits] == [
        ("pod-late", 0)
    ]
    (table,) = (each for each in work_shown(why("cpu")) if isinstance(each, TextTable))
    assert ("cpu-dask", "memory", "64 GB", "128 GB") in table.rows
    assert "  8 admitted, 1 waiting" in lines(why("cpu"))


def test_a_pod_that_kueue_has_made_no_workload_for_says_so(at: At, cluster: Cluster) -> None:
    why = at("dask_class", "a worker of the second waits")
    cluster.objects = {path: body for path, body in cluster.objects.items() if "/workloads/" not in path}
    (waits,) = why("late").to_json()["seen"]["waits"]
    assert (waits["reason"], waits["place"]) == ("NoWorkload", None)
    assert "its place is unknown" in lines(why("late"))[3]


def test_pods_that_cannot_start_are_told_together_with_their_reason(at: At, cluster: Cluster) -> None:
    why = at("dask_class", "the first runs")
    for path, body in cluster.objects.items():
        if "/pods/transform-default-worker" in path:
            body["status"] = {
                "phase": "Pending",
                "conditions": [{"type": "Ready", "status": "False"}],
                "containerStatuses": [{"name": "worker", "state": {"waiting": {"reason": "ImagePullBackOff"}}}],
            }
    told = lines(why("transform"))
    assert told[0].endswith(": not all ready")
    assert told[-1].endswith("and 1 more: error, its container cannot start: ImagePullBackOff")


def test_a_queue_that_kueue_does_not_serve_says_that_it_admits_nothing(at: At, cluster: Cluster) -> None:
    why = at("dask_class", "the first runs")
    queue = cluster.objects["/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cpu"]
    queue["status"] = {}
    assert lines(why("cpu"))[0].endswith("does not admit: Kueue has not said yet whether it admits")
    assert "  ? admitted, ? waiting" in lines(why("cpu"))
    assert headed(why("cpu")) is Tone.WARNING, "it is not known yet"
    refused = {"type": "Active", "status": "False", "message": "no such flavor"}
    queue["status"] = {"conditions": [refused]}
    assert headed(why("cpu")) is Tone.PROBLEM
    del cluster.objects["/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cpu"]
    assert lines(why("cpu"))[1] == "  the cluster does not have it; `./tidepool up training` makes it"


def test_a_cluster_that_is_not_there_yet_is_told(at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> NoReturn:
        raise GoogleError("looking up the cluster", "not found", status=HTTPStatus.NOT_FOUND)

    monkeypatch.setattr(work, "cluster_api", missing)
    with pytest.raises(Failure, match=r"cluster train of training is not there; `\./tidepool up training` makes it"):
        work_standing("math")
