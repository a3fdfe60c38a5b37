"""Which queue a request goes through, and how many of its slices that can ever have, or has free."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.jobs.admission import TeamQueue, refusals, team_queue
from infra.jobs.gke import GkeClient
from infra.jobs.kube import Kube
from infra.jobs.request import Resources
from infra.model.errors import ConfigError
from infra.model.gke_shapes import gke_shapes
from tests.jobs.cluster import running_cluster
from tests.jobs.queued_plane import TEAM
from tests.jobs.recording import load, play
from tests.jobs.synthetic import request

PLAIN = request(resources=Resources.with_tpu("v4-32", 1))


def rows(chips: int, **limits: str) -> list[dict[str, Any]]:
    return [{"name": "google.com/tpu", "nominalQuota": str(chips), **limits}]


def cluster_queue(name: str, *flavors: tuple[str, list[dict[str, Any]]], cohort: str = "v4") -> dict[str, Any]:
    listed = [{"name": flavor, "resources": resources} for flavor, resources in flavors]
    return {
        "metadata": {"name": name},
        "spec": {"cohortName": cohort, "resourceGroups": [{"flavors": listed}]},
    }


def queue(*shared: dict[str, Any], known: list[dict[str, Any]] | None = None) -> TeamQueue:
    local = {"metadata": {"name": "v4-32"}, "spec": {"clusterQueue": "v4-32"}}
    return team_queue(local, shared, known)


@pytest.mark.parametrize(
    ("limits", "lending", "cohort", "most"),
    [
        ({}, {}, "v4", 7),
        ({"borrowingLimit": "32"}, {}, "v4", 5),
        ({"borrowingLimit": "0"}, {}, "v4", 3),
        ({}, {"lendingLimit": "16"}, "v4", 4),
        ({}, {}, "v5p", 3),
    ],
)
def test_a_queue_may_borrow_what_its_cohort_lends_of_the_same_flavor(
    limits: dict[str, str], lending: dict[str, str], cohort: str, most: int
) -> None:
    mine = cluster_queue("v4-32", ("v4-32-spot", rows(48, **limits)))
    other = cluster_queue(
        "more", ("v4-32-spot", rows(64, **lending)), ("v4-32-lab", rows(640, **lending)), cohort=cohort
    )
    assert queue(mine, other).slices(PLAIN) == most


def test_a_job_gets_one_flavor_and_never_the_sum_of_several() -> None:
    two = queue(cluster_queue("v4-32", ("v4-32-spot", rows(48)), ("v4-32-lab", rows(32))))
    assert (two.slices(PLAIN), two.free_slices(PLAIN)) == (3, 3)
    assert two.free_slices(PLAIN, "v4-32-lab", 2) == 2, "it may have 4 of its own flavor, and 3 of the other"
    assert two.free_slices(PLAIN, "v4-32-spot", 3) == 3


def test_a_flavor_of_another_shape_serves_no_job() -> None:
    def known(accelerator: str) -> list[dict[str, Any]]:
        return [{"metadata": {"name": "f"}, "spec": {"nodeLabels": dict(gke_shapes()[accelerator].node_labels)}}]

    shared = cluster_queue("v4-32", ("f", rows(48)))
    assert queue(shared, known=known("v4-32")).serves(PLAIN)
    assert not queue(shared, known=known("v4-16")).serves(PLAIN)
    assert queue(shared).serves(PLAIN), "nobody says which nodes the flavor has"


def test_pods_without_tpu_are_counted_one_by_one() -> None:
    shared = cluster_queue("v4-32", ("batch", [{"name": "cpu", "nominalQuota": "2"}]))
    (problem,) = refusals(request(resources=Resources.with_cpu("1"), replicas=3), queue(shared), ())
    assert (problem.value, problem.fix) == ("3 of a pod (1 CPUs, 4.295 GB each)", "at most 2 pods, or a larger quota")


def test_kueue_itself_waits_for_ever_where_a_request_is_refused() -> None:
    """What the real controllers answered for 4 slices in a queue of 3, and for a job that they admit."""
    with running_cluster() as cluster:
        client = GkeClient(Kube(replace(cluster.place, namespace=TEAM)))
        play(cluster, load("too_large"), "waiting")
        waits = client.job("huge").state().waiting
        assert waits is not None
        assert "current podset request (64) > maximum capacity (48)" in waits.says
        asked = request("again", namespace=TEAM, resources=Resources.with_tpu("v4-32", [4, 8]))
        with pytest.raises(ConfigError, match="never have more than 3 at once"):
            client.kueue.admissible(asked)
        assert client.kueue.admissible(request("fits", namespace=TEAM)).queue == "v4-32"
