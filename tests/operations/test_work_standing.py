"""How Dask classes, groups and queues stand, by what real controllers answered."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from rich.console import Console

from infra.cli.render.console import say
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

GOLDEN = Path(__file__).parent / "work.txt"
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


def test_a_pod_that_kueue_has_made_no_workload_for_says_so(at: At, cluster: Cluster) -> None:
    why = at("dask_class", "a worker of the second waits")
    cluster.objects = {path: body for path, body in cluster.objects.items() if "/workloads/" not in path}
    (waits,) = why("late").to_json()["seen"]["waits"]
    assert (waits["reason"], waits["place"]) == ("NoWorkload", None)
    assert lines(why("late"))[3].startswith("  waits in queue cpu, its place is unknown (")


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
    absent = WorkStanding(stack="training", kind="group", name="math", namespace="rl", seen=None)
    assert lines(absent)[1] == "  it has no image in the stack file, so that nothing of it is declared"


def test_a_cluster_that_is_not_there_yet_is_told(at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> NoReturn:
        raise GoogleError("looking up the cluster", "not found", status=HTTPStatus.NOT_FOUND)

    monkeypatch.setattr(work, "cluster_api", missing)
    with pytest.raises(Failure, match=r"cluster train of training is not there; `\./tidepool up training` makes it"):
        work_standing("math")


LOOKS = (
    ("dask_class", "a worker of the second waits", "transform"),
    ("dask_class", "a worker of the second waits", "late"),
    ("dask_class", "a worker of the second waits", "cpu"),
    ("group", "running", "math"),
    ("group", "the learner waits", "math"),
    ("group", "a VM is gone", "math"),
)


def test_what_is_said_of_classes_groups_and_queues_is_what_was_read_last(at: At, update_goldens: bool) -> None:
    written = StringIO()
    console = Console(file=written, width=100, highlight=False)
    for scenario, moment, name in LOOKS:
        told = at(scenario, moment)(name)
        say(console, f"# {moment}, namespace {told.namespace or 'none'}", *work_shown(told), "")
    told = at(*LOOKS[2][:2])("cpu")
    assert isinstance(told.seen, QueueSeen)
    (first, *_), (quota, *_) = told.seen.waits, told.seen.quotas
    waits = replace(first, waits=replace(first.waits, cluster_place=None))
    unknown = replace(told.seen, admitted=None, pending=None, quotas=(replace(quota, held=None),), waits=(waits,))
    say(console, "# what nobody says", *work_shown(replace(told, seen=unknown)))
    shown = "\n".join(line.rstrip() for line in written.getvalue().splitlines()) + "\n"
    if update_goldens:
        GOLDEN.write_text(shown, encoding="utf-8")
    assert shown == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"
