"""Jobs on a cluster: what is made and changed there, and how a job stands by what the cluster says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra.jobs.client import JobError, JobPhase, wait
from infra.jobs.gke import GONE_WITHIN, GkeClient
from infra.jobs.jobset import JOBSETS, REQUEST, jobset
from infra.jobs.kube import Kube, KubeError
from infra.jobs.outcomes import Attempts, Outcome
from infra.jobs.request import Retries
from infra.jobs.waiting import waiting
from tests.jobs.cluster import Cluster, running_cluster
from tests.jobs.synthetic import condition, pod, request
from tests.jobs.test_job_operations import Happening

AT = f"{JOBSETS}/namespaces/default/jobsets/llama"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running_cluster() as found:
        yield found


@pytest.fixture
def client(cluster: Cluster) -> GkeClient:
    return GkeClient(Kube(cluster.place), Happening())


def pods(cluster: Cluster, *bodies: dict[str, Any]) -> None:
    for body in bodies:
        body["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"] = "llama"
        cluster.objects[f"/api/v1/namespaces/default/pods/{body['metadata']['name']}"] = body


def stand(cluster: Cluster, *conditions: dict[str, str], **status: Any) -> None:
    cluster.objects[AT]["spec"]["suspend"] = False
    cluster.objects[AT]["status"] = {"conditions": list(conditions), **status}


def test_a_submitted_job_is_the_rendered_object_and_validated_strictly(client: GkeClient, cluster: Cluster) -> None:
    job = client.submit(request())
    method, url, body, _ = next(each for each in cluster.calls if each[0] == "POST")
    assert (method, url) == ("POST", f"{JOBSETS}/namespaces/default/jobsets?fieldValidation=Strict")
    assert body["spec"] == jobset(request())["spec"]
    state = job.state()
    assert (state.phase, state.replicas, state.accelerator, state.queue) == (JobPhase.WAITING, 2, "v4-32", "v4-32")


TOO_OFTEN = "DeactivatedDueToRequeuingLimitExceeded"
IN_PLACE = [{"metadata": {"name": "w"}, "positionInLocalQueue": 3, "positionInClusterQueue": 4}]


@pytest.mark.parametrize(
    ("conditions", "spec", "pending", "expected"),
    [
        ([("QuotaReserved", "False", "Pending", "no quota")], {}, None, ("Pending", None, "no quota")),
        ([("QuotaReserved", "False", "Pending", "no quota")], {}, IN_PLACE, ("Pending", 3, "no quota")),
        ([], {}, [], ("Pending", None, "it waits for quota")),
        (
            [("Evicted", "True", "Deactivated")], {"active": False}, [],
            ("Deactivated", None, "the job is stopped until somebody activates it"),
        ),
        (
            [("Evicted", "True", TOO_OFTEN)], {"active": False}, [],
            (
                "Deactivated", None,
                "too often its pods did not start in time; the job is stopped until somebody activates it",
            ),
        ),
        ([("QuotaReserved",)], {}, [], ("AdmissionChecks", None, "it has quota and waits for flex-start (Pending)")),
        ([("Admitted",)], {}, [], None),
        ([("Finished",)], {}, [], None),
    ],
)  # fmt: skip
def test_what_a_workload_waits_for(
    conditions: list[tuple[str, ...]], spec: dict[str, Any], pending: Any, expected: tuple[Any, ...] | None
) -> None:
    checks = [{"name": "flex-start", "state": "Pending"}, {"name": "other", "state": "Ready"}]
    body = {
        "metadata": {"name": "w"},
        "spec": {"queueName": "v4-32", **spec},
        "status": {"conditions": [condition(*each) for each in conditions], "admissionChecks": checks},
    }
    found = waiting(body, pending)
    assert (found and (found.reason, found.place, found.says)) == expected


def test_a_job_runs_once_every_slice_is_ready(client: GkeClient, cluster: Cluster) -> None:
    job = client.submit(request())
    stand(cluster, replicatedJobsStatus=[{"name": "slice", "ready": 1}])
    assert job.state().phase is JobPhase.STARTING
    stand(cluster, replicatedJobsStatus=[{"name": "slice", "ready": 2}], restarts=7, restartsCountTowardsMax=2)
    state = job.state()
    stand(cluster, replicatedJobsStatus=[{"name": "slice", "ready": 1, "succeeded": 1}])
    assert job.state().phase is JobPhase.RUNNING, "some slices have ended well"
    assert (state.phase, state.attempts) == (JobPhase.RUNNING, Attempts(preemptions=5, failures=2))
    assert state.because == (
        "restarted after 5 of 10000 interruptions",
        "restarted after 2 of 10 failures",
    )


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [("FailurePolicy_interrupted", Outcome.FAILED), ("DefaultFailurePolicy", Outcome.ERROR), ("JobsReady", None)],
)
def test_a_job_that_is_begun_again_says_why(
    client: GkeClient, cluster: Cluster, reason: str, outcome: Outcome | None
) -> None:
    """JobSet deletes what ended with its Jobs; its condition RestartingJobSet names the rule that matched."""
    job = client.submit(request())
    stand(cluster, condition("RestartingJobSet", reason=reason), restarts=1)
    last = job.state().last
    assert (last and last.outcome) is outcome


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("PodFailurePolicy", Outcome.FAILED),
        ("DeadlineExceeded", Outcome.ERROR),
        ("BackoffLimitExceeded", Outcome.ERROR),
    ],
)
def test_where_pods_are_gone_their_job_says_what_is_left_to_say(
    client: GkeClient, cluster: Cluster, reason: str, outcome: Outcome
) -> None:
    job = client.submit(request())
    stand(cluster, condition("Failed", reason="FailedJobs"))
    labels = {"jobset.sigs.k8s.io/jobset-name": "llama"}
    failed = {
        "metadata": {"name": "llama-slice-0", "labels": labels},
        "status": {"conditions": [condition("Failed", reason=reason)]},
    }
    cluster.objects["/apis/batch/v1/namespaces/default/jobs/llama-slice-0"] = failed
    state = job.state()
    assert (state.outcome, state.because[0].partition(":")[0]) == (outcome, "llama-slice-0")


def test_cancelling_a_queued_job_tells_kueue_which_would_start_it_again(client: GkeClient, cluster: Cluster) -> None:
    job = client.submit(request())
    owner = {"uid": cluster.objects[AT]["metadata"]["uid"], "kind": "JobSet"}
    body: dict[str, Any] = {"metadata": {"name": "w", "ownerReferences": [owner]}, "spec": {"queueName": "v4-32"}}
    cluster.objects[f"{WORKLOADS}/w"] = body
    job.cancel()
    assert body["spec"]["active"] is False
    assert job.state().outcome is Outcome.CANCELLED
    changes = len(cluster.calls)
    job.cancel()
    assert not [each for each in cluster.calls[changes:] if each[0] != "GET"], "it has ended already"


def test_a_name_is_free_again_once_its_job_has_ended(client: GkeClient, cluster: Cluster) -> None:
    client.submit(request())
    with pytest.raises(JobError, match="llama is waiting"):
        client.submit(request())
    stand(cluster, condition("Completed"))
    client.submit(request(time_limit=9))
    assert cluster.objects[AT]["spec"]["replicatedJobs"][0]["template"]["spec"]["activeDeadlineSeconds"] == 9


def test_an_ended_job_that_does_not_go_is_named(client: GkeClient, cluster: Cluster) -> None:
    client.submit(request())
    stand(cluster, condition("Completed"))
    cluster._delete = lambda *_: (200, {})  # ty: ignore[invalid-assignment]
    with pytest.raises(JobError, match=f"{GONE_WITHIN:.0f} s"):
        client.submit(request())


def test_a_budget_of_preemptions_ends_a_job_because_jobset_counts_none(client: GkeClient, cluster: Cluster) -> None:
    job = client.submit(request(retries=Retries(preemptions=3)))
    stand(cluster, restarts=4, restartsCountTowardsMax=1)
    assert job.state().phase is JobPhase.STARTING
    cluster.objects[AT]["status"]["restarts"] = 5
    with pytest.raises(JobError, match="interrupted 4 times, of 3 allowed"):
        wait(job, clock=Happening())
    assert job.state().outcome is Outcome.CANCELLED


def test_waiting_for_a_job_ends_with_its_time(client: GkeClient, cluster: Cluster) -> None:
    job = client.submit(request())
    with pytest.raises(JobError, match="waiting after 60 s"):
        wait(job, timeout=60, clock=Happening())


def test_logs_say_which_slice_and_host_wrote_each_line(client: GkeClient, cluster: Cluster) -> None:
    job = client.submit(request())
    pods(cluster, pod(0, 0), pod(1, 3))
    for index, host in ((0, 0), (1, 3)):
        path = f"/api/v1/namespaces/default/pods/llama-slice-{index}-{host}-abcde/log"
        cluster.texts[path] = "step 1\nstep 2\n"
    assert list(job.logs(5)) == ["0/0 step 1", "0/0 step 2", "1/3 step 1", "1/3 step 2"]


def test_a_host_that_has_not_begun_has_no_log(client: GkeClient, cluster: Cluster) -> None:
    job = client.submit(request())
    pods(cluster, pod(0, 0))
    cluster.refused["/api/v1/namespaces/default/pods/llama-slice-0-0-abcde/log"] = 400
    assert list(job.logs(5)) == []


def test_a_cluster_without_jobsets_is_said_to_be_one(client: GkeClient, cluster: Cluster) -> None:
    cluster.unserved = ("/apis/jobset",)
    for asking in (lambda: client.submit(request()), client.jobs):
        with pytest.raises(JobError, match="no JobSet installed"):
            asking()


def test_a_namespace_that_is_not_there_is_not_taken_for_missing_jobsets(client: GkeClient, cluster: Cluster) -> None:
    cluster.objects[JOBSETS] = {"kind": "APIResourceList"}
    cluster.refused[f"{JOBSETS}/namespaces/team-b"] = 404
    with pytest.raises(JobError, match="no namespace team-b"):
        client.submit(request(namespace="team-b"))


def queues(cluster: Cluster, *names: str) -> None:
    for name in names:
        at = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues/{name}"
        cluster.objects[at] = {"metadata": {"name": name}}


def test_a_job_is_submitted_where_queues_may_not_be_read(client: GkeClient, cluster: Cluster) -> None:
    cluster.refused["/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues"] = 403
    assert client.submit(request()).name == "llama"


def test_a_job_without_a_workload_says_whether_its_queue_is_there(client: GkeClient, cluster: Cluster) -> None:
    queues(cluster, "v4-32")
    job = client.submit(request())
    waits = job.state().waiting
    assert waits is not None
    assert (waits.reason, waits.says) == ("NoWorkload", "Kueue has not made a Workload for it yet")
    del cluster.objects["/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues/v4-32"]
    queues(cluster, "cpu")
    waits = job.state().waiting
    assert waits is not None
    assert (waits.reason, waits.says) == ("NoLocalQueue", "no LocalQueue v4-32 in default; there are: cpu")


def test_a_job_that_is_not_there_is_named_with_where(client: GkeClient) -> None:
    with pytest.raises(JobError, match=r"no job gone in namespace default of a test's cluster"):
        client.job("gone").state()


@pytest.mark.parametrize("written", ["older", "[", "7"])
def test_a_job_whose_request_cannot_be_read_is_listed_explained_and_cancelled(
    client: GkeClient, cluster: Cluster, written: str
) -> None:
    job = client.submit(request())
    older = json.dumps(request().to_json() | {"secrets": {"HF_TOKEN": {"name": "hf", "key": "value"}}})
    cluster.objects[AT]["metadata"]["annotations"][REQUEST] = older if written == "older" else written
    (listed,) = client.jobs()
    assert (listed.name, listed.replicas, listed.queue, listed.accelerator) == ("llama", 2, "v4-32", "v4-32")
    (why,) = job.state().because
    assert "another version of Tidepool wrote its request, which cannot be read" in why
    assert ("secrets.HF_TOKEN: Input should be a valid string" in why) == (written == "older")
    job.cancel()
    assert job.state().outcome is Outcome.CANCELLED


def test_a_refusal_of_the_api_keeps_its_words(client: GkeClient, cluster: Cluster) -> None:
    cluster.refused["/apis/jobset"] = 403
    with pytest.raises(KubeError, match="403 no GET") as error:
        client.jobs()
    assert (error.value.status, error.value.reason) == (403, "Refused")
