"""Jobs on Ray: what its job server is sent, and how a submission ended by Ray's own fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.jobs.client import JobError, JobPhase
from infra.jobs.outcomes import Outcome
from infra.jobs.ray import RayClient, ray_job
from infra.jobs.request import JobRequest, Resources
from infra.model.errors import ConfigError, OutsideError
from tests.jobs.synthetic import request

ONE_VM: dict[str, Any] = {
    "resources": Resources.with_tpu("v4-8", cpu="8", memory="2Gi"),
    "queue": "",
    "environment": {"RUN_ID": "7"},
}


class Answer:
    def __init__(self, status: int, body: Any) -> None:
        self.status, self.data = status, json.dumps(body).encode()


class JobServer:
    """What Ray's job server keeps; stands where a connection pool would."""

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []
        self.calls: list[tuple[str, str]] = []

    def request(self, method: str, url: str, *, body: str | None, timeout: float, **_: Any) -> Answer:
        assert timeout, "or a server that is silent holds a command"
        path = url.removeprefix("http://ray:8265")
        self.calls.append((method, path))
        if method == "POST" and path == "/api/jobs/" and body:
            sent = json.loads(body)
            self.kept.append(sent | {"status": "RUNNING", "start_time": 1_000 * (len(self.kept) + 1)})
            return Answer(200, {"submission_id": sent["submission_id"]})
        if path.endswith("/logs"):
            return Answer(200, {"logs": "a\nb\nc\n"})
        return Answer(200, [*self.kept, {"status": "RUNNING", "metadata": None}])


@pytest.fixture
def server() -> JobServer:
    return JobServer()


@pytest.fixture
def client(server: JobServer) -> RayClient:
    return RayClient("http://ray:8265/", pool=server)  # ty: ignore[invalid-argument-type]


def one_vm(**more: Any) -> JobRequest:
    return request(**ONE_VM | more)


def test_a_slice_of_one_vm_goes_where_ray_has_that_type() -> None:
    body = ray_job(one_vm())
    assert body["entrypoint"] == "python train.py"
    assert body["entrypoint_resources"] == {"TPU": 4.0, "TPU-v4-8-head": 1.0}
    assert (body["entrypoint_num_cpus"], body["entrypoint_memory"]) == (8.0, 2 * 2**30)
    assert body["runtime_env"] == {"env_vars": {"RUN_ID": "7"}}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"resources": Resources.with_tpu("v4-32")}, "1 x 4 hosts"),
        ({"resources": Resources.with_tpu("v4-8", 2)}, "2 x 1 host"),
        ({"queue": "v4"}, "problem: Ray does not know queues of Kueue\n"),
        ({"secrets": {"HF_TOKEN": "hf"}}, "HF_TOKEN"),
    ],
)
def test_what_ray_cannot_carry_is_refused_with_the_way_that_can(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=f"{why}(.|\\n)*--backend gke"):
        ray_job(one_vm(**more))


def test_a_name_is_submitted_again_under_an_id_of_its_own(client: RayClient, server: JobServer) -> None:
    client.submit(one_vm())
    with pytest.raises(JobError, match="has not ended"):
        client.submit(one_vm())
    server.kept[0]["status"] = "SUCCEEDED"
    client.submit(one_vm())
    assert [each["submission_id"] for each in server.kept] == ["llama-0", "llama-1"]
    client.submit(one_vm(name="plain", resources=Resources.with_cpu("1")))
    assert {each.name: (each.phase, each.accelerator) for each in client.jobs()} == {
        "llama": (JobPhase.RUNNING, "v4-8"), "plain": (JobPhase.RUNNING, ""),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"status": "SUCCEEDED"}, Outcome.SUCCESS),
        ({"status": "STOPPED"}, Outcome.CANCELLED),
        ({"status": "FAILED", "driver_exit_code": 1}, Outcome.ERROR),
        ({"status": "FAILED", "error_type": "JOB_SUPERVISOR_ACTOR_DIED"}, Outcome.FAILED),
        ({"status": "FAILED", "error_type": "RUNTIME_ENV_SETUP_FAILURE"}, Outcome.ERROR),
        ({"status": "FAILED", "driver_exit_code": 1, "message": "node was preempted"}, Outcome.ERROR),
    ],
)
def test_how_a_driver_ended_is_told_by_fields_and_not_by_its_message(
    client: RayClient, server: JobServer, fields: dict[str, Any], outcome: Outcome
) -> None:
    job = client.submit(one_vm())
    assert job.state().phase is JobPhase.RUNNING
    server.kept[0] |= fields
    assert (job.state().phase, job.state().outcome) == (JobPhase.ENDED, outcome)


def test_whether_its_vm_was_preempted_is_asked_of_who_knows_vms(server: JobServer) -> None:
    known = {"node-7": (Outcome.PREEMPTED, "its TPU VM is PREEMPTED")}
    client = RayClient("http://ray:8265", known.get, server)  # ty: ignore[invalid-argument-type]
    job = client.submit(one_vm())
    server.kept[0] |= {"status": "FAILED", "driver_node_id": "node-7", "driver_exit_code": 1}
    assert job.state().outcome is Outcome.PREEMPTED


def test_logs_and_cancelling(client: RayClient, server: JobServer) -> None:
    job = client.submit(one_vm())
    assert list(job.logs(2)) == ["b", "c"]
    job.cancel()
    assert server.calls[-1] == ("POST", "/api/jobs/llama-0/stop")
    server.kept[0]["status"] = "STOPPED"
    job.cancel()
    assert server.calls[-1][0] == "GET", "it has ended already"


def test_a_job_that_ray_does_not_know_is_named(client: RayClient) -> None:
    with pytest.raises(JobError, match="no job other"):
        client.job("other").state()


def test_a_ray_that_does_not_answer_is_named() -> None:
    with pytest.raises(OutsideError, match=r"http://127.0.0.1:9: no answer"):
        RayClient("http://127.0.0.1:9").jobs()
