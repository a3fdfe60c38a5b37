"""Jobs as a person has them: submitted on what fits, followed, and the smoke ladder up to the step that fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.jobs.choices import STEPS
from infra.jobs.client import Client, JobError
from infra.jobs.fake import FakeClient
from infra.jobs.gke import GkeClient
from infra.jobs.jobset import JOBSETS
from infra.jobs.kube import Kube
from infra.jobs.kueue import KUEUE
from infra.jobs.outcomes import Outcome
from infra.jobs.request import JobRequest, Resources
from infra.model.errors import ConfigError
from infra.operations import jobs as operations
from infra.operations.errors import Interruption
from infra.operations.jobs import JobBackend
from infra.operations.ports import Silent, Tone
from infra.operations.smoke import SmokeOrder, SmokeStep, smoke
from tests.jobs.cluster import Cluster, running_cluster
from tests.jobs.synthetic import IMAGE, condition, request

HOUR = 3600.0
AT = f"{JOBSETS}/namespaces/default/jobsets/llama"
ORDER = SmokeOrder(image=IMAGE, queue="v4-8", cpu_queue="cpu")
FLEXIBLE = request(resources=Resources.with_tpu("v4-32", [1, 2, 4]))


class Happening:
    """A clock on which something happens at its time: what a cluster would do by itself."""

    def __init__(self, *events: tuple[float, Any]) -> None:
        self.now, self.events = 0.0, list(events)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        while self.events and self.events[0][0] <= self.now:
            self.events.pop(0)[1]()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running_cluster() as found:
        found.objects[f"{KUEUE}/namespaces/default/localqueues/v4-32"] = {
            "metadata": {"name": "v4-32"},
            "spec": {"clusterQueue": "v4-32"},
        }
        yield found


def quota(cluster: Cluster, nominal: int, used: int) -> None:
    """Chips of the queue; v4-32 has 16 a slice."""
    rows = [{"name": "google.com/tpu", "nominalQuota": str(nominal)}, {"name": "cpu", "nominalQuota": "1k"}]
    taken = [{"name": "google.com/tpu", "total": str(used)}, {"name": "cpu", "total": "900"}]
    cluster.objects[f"{KUEUE}/clusterqueues/v4-32"] = {
        "metadata": {"name": "v4-32"},
        "spec": {"resourceGroups": [{"flavors": [{"name": "v4-32", "resources": rows}]}]},
        "status": {"flavorsReservation": [{"name": "v4-32", "resources": taken}]},
    }


def replicas(cluster: Cluster) -> int:
    return cluster.objects[AT]["spec"]["replicatedJobs"][0]["replicas"]


def run(cluster: Cluster, **status: Any) -> None:
    """Let the job run on all its slices."""
    ready = [{"name": "slice", "ready": replicas(cluster)}]
    cluster.objects[AT]["spec"]["suspend"] = False
    cluster.objects[AT]["status"] = {"replicatedJobsStatus": ready, "conditions": [], **status}


@pytest.mark.parametrize(("used", "count"), [(0, 4), (16, 2), (31, 2), (33, 1), (48, 1)])
def test_a_flexible_job_starts_on_the_most_slices_that_its_queue_has_room_for(
    cluster: Cluster, used: int, count: int
) -> None:
    quota(cluster, 64, used)
    JobBackend(GkeClient(Kube(cluster.place))).submit(FLEXIBLE)
    assert replicas(cluster) == count


def test_less_room_than_for_the_smallest_number_is_an_error(cluster: Cluster) -> None:
    quota(cluster, 64, 49)
    with pytest.raises(JobError, match="free slices: 0; the job needs at least 1"):
        JobBackend(GkeClient(Kube(cluster.place))).submit(FLEXIBLE)
    with pytest.raises(ConfigError, match="queue: v9"):
        JobBackend(GkeClient(Kube(cluster.place))).submit(request(resources=FLEXIBLE.resources, queue="v9"))


def test_a_followed_job_goes_on_to_more_slices_twelve_hours_after_its_start(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "LOOK_EVERY", 120.0)  # thirteen hours of looks at the usual pace are 5,000
    quota(cluster, 64, 48)
    grown: list[float] = []
    clock = Happening(
        (60, lambda: run(cluster)),
        (HOUR, lambda: quota(cluster, 64, 16)),
        (13 * HOUR, lambda: run(cluster, conditions=[condition("Completed")])),
    )
    jobs = JobBackend(GkeClient(Kube(cluster.place), clock), clock=clock)
    job = jobs.submit(FLEXIBLE)
    sleep = clock.sleep

    def watching(seconds: float) -> None:
        sleep(seconds)
        if replicas(cluster) > 1 and not grown:
            grown.append(clock.now)

    clock.sleep = watching
    assert jobs.follow(job).outcome is Outcome.SUCCESS
    assert replicas(cluster) == 2
    assert 12 * HOUR <= grown[0] <= 12 * HOUR + 600


def climbed(folder: Path, client: Client, order: SmokeOrder = ORDER) -> list[SmokeStep]:
    return list(smoke(order, folder, lambda: JobBackend(client)))


def test_the_ladder_proves_one_thing_more_with_each_step(tmp_path: Path) -> None:
    client = FakeClient()
    steps = climbed(tmp_path, client)
    assert [(each.name, each.passed) for each in steps] == [(name, True) for name in STEPS]
    noop, cpu, tpu = client.requests
    assert (noop.queue, noop.entry_point.argv) == ("cpu", ("true",))
    assert (cpu.queue, cpu.environment["EXPECT_PLATFORM"], cpu.resources.accelerator) == ("cpu", "cpu", None)
    assert (tpu.queue, tpu.environment["EXPECT_PLATFORM"]) == ("v4-8", "tpu")
    assert str(tpu.resources.accelerator) == "v4-8"
    compile(tpu.entry_point.argv[-1], "tiny training", "exec")


def test_the_ladder_stops_at_the_first_step_that_fails_and_says_where(tmp_path: Path) -> None:
    class CpuFails(FakeClient):
        def submit(self, request: JobRequest) -> Any:
            self.outcome = Outcome.ERROR if request.name == "smoke-cpu" else Outcome.SUCCESS
            return super().submit(request)

    steps = climbed(tmp_path, CpuFails())
    assert [(each.name, each.passed) for each in steps] == [("local", True), ("cluster", True), ("cpu", False)]
    assert steps[-1].said.startswith("smoke-cpu: error")
    assert steps[-1].said.endswith("next: `./tidepool jobs logs smoke-cpu`")


def test_an_interrupted_ladder_cancels_its_job_and_has_said_what_it_waits_for(tmp_path: Path) -> None:
    class Interrupted(Happening):
        def sleep(self, seconds: float) -> None:
            raise KeyboardInterrupt

    class Heard(Silent):
        def say(self, line: str, tone: Tone = Tone.PLAIN) -> None:
            lines.append((line, tone))

    lines: list[tuple[str, Tone]] = []
    client = FakeClient(outcome=None)
    with pytest.raises(Interruption, match="job smoke-cluster was cancelled"):
        list(smoke(ORDER, tmp_path, lambda: JobBackend(client, Heard(), Interrupted())))
    assert client.job("smoke-cluster").state().outcome is Outcome.CANCELLED
    assert lines == [("smoke-cluster is running (at most 30 min; Ctrl-C cancels it)", Tone.QUIET)]
