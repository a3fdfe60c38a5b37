"""`./tidepool jobs` and `smoke` as a person types them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from infra.cli.app import cli
from infra.jobs.client import JobPhase, JobState
from infra.jobs.jobset import JOBSETS
from infra.jobs.outcomes import Outcome
from infra.jobs.request import JobRequest
from infra.operations import jobs_on_vms
from tests.jobs.cluster import Cluster, running_cluster
from tests.jobs.synthetic import IMAGE, condition
from tests.jobs.test_kube import kubeconfig

PYTHON = (sys.executable, "-S", "-c")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIDEPOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "kubeconfig").touch()
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.delenv("RAY_API_SERVER_ADDRESS", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    return tmp_path


@pytest.fixture
def cluster(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with running_cluster() as found:
        monkeypatch.setenv("KUBECONFIG", kubeconfig(home, {}, found.place.server, namespace="team-a")["KUBECONFIG"])
        yield found


def tidepool(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def answered(*arguments: str) -> dict[str, Any]:
    """--json stands right behind the command: what follows -- belongs to a job."""
    words = 2 if arguments[0] == "jobs" else 1
    found = tidepool(*arguments[:words], "--json", *arguments[words:])
    return json.loads(found.stdout)


def submitted(*more: str) -> dict[str, Any]:
    return answered("jobs", "submit", "llama", "--image", IMAGE, "--tpu", "v4-32", "--queue", "v4", *more)


def test_a_job_on_this_machine_runs_to_its_end_and_is_listed_read_and_explained() -> None:
    done = tidepool("jobs", "submit", "hello", "--env", "WHO=you", "--", *PYTHON, "import os; print(os.environ['WHO'])")
    assert (done.exit_code, "hello success on local" in done.output) == (0, True), done.output
    assert tidepool("jobs", "logs", "hello").stdout.endswith("0 you\n")
    listed = answered("jobs", "list")["jobs"]
    assert [(each["name"], each["outcome"]) for each in listed] == [("hello", "success")]
    assert answered("jobs", "why", "hello")["because"] == ["slice 0: its program ended with exit code 0"]


def test_a_job_that_ends_in_an_error_ends_its_command_with_1() -> None:
    done = tidepool("jobs", "submit", "bad", "--failures", "0", "--", *PYTHON, "raise SystemExit(3)")
    assert done.exit_code == 1
    assert "bad: error; slice 0: its program ended with exit code 3" in done.output
    assert "next: `./tidepool jobs logs bad`" in done.output


def test_why_tells_the_place_in_the_queue_in_kueues_own_words(cluster: Cluster) -> None:
    submitted("--", "true")
    owner = {"uid": cluster.objects[f"{JOBSETS}/namespaces/team-a/jobsets/llama"]["metadata"]["uid"]}
    cluster.objects["/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/workloads/w"] = {
        "metadata": {"name": "w", "ownerReferences": [owner]},
        "spec": {"queueName": "v4"},
        "status": {"conditions": [condition("QuotaReserved", "False", "Pending", "insufficient unused quota")]},
    }
    pending = "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues/v4/pendingworkloads"
    item = {"metadata": {"name": "w"}, "positionInLocalQueue": 3, "positionInClusterQueue": 4}
    cluster.objects[pending] = {"items": [item]}
    told = tidepool("jobs", "why", "llama").output
    assert "waits in queue v4, 3 ahead of it, 4 in all queues together: insufficient unused quota" in told
    assert "waiting, 3 ahead" in tidepool("jobs", "list").stdout


def test_a_hint_is_a_command_that_goes_to_the_same_place(cluster: Cluster) -> None:
    cluster.objects["/apis/kueue.x-k8s.io/v1beta2/namespaces/team-b/localqueues/v4"] = {"metadata": {"name": "v4"}}
    place = ("--namespace", "team-b", "--context", "lab")
    told = tidepool("jobs", "submit", "llama", "--image", IMAGE, "--queue", "v4", *place, "--", "true").output
    hint = next(line for line in told.splitlines() if "next: " in line).partition("next: ")[2].split()
    assert hint == ["./tidepool", "jobs", "why", "llama", *place]
    why = tidepool(*hint[1:])
    assert (why.exit_code, "llama waiting" in why.output, "next: " in why.output) == (0, True, False), why.output


def test_a_dry_run_prints_the_object_and_asks_no_cluster(cluster: Cluster) -> None:
    body = submitted("--dry-run", "--", "true")
    assert (body["kind"], body["metadata"]["name"]) == ("JobSet", "llama")
    assert cluster.calls == []


@pytest.mark.parametrize(("outcome", "code"), [(Outcome.SUCCESS, 0), (Outcome.PREEMPTED, 1)])
def test_a_job_on_a_vm_of_its_own_ends_its_command_as_it_ended(
    monkeypatch: pytest.MonkeyPatch, outcome: Outcome, code: int
) -> None:
    def run(request: JobRequest, **_: object) -> JobState:
        return JobState(name=request.name, backend="tpu-vm", phase=JobPhase.ENDED, outcome=outcome, because=("so",))

    monkeypatch.setattr(jobs_on_vms, "run_job", run)
    done = tidepool("jobs", "submit", "once", "--on-vm", "--tpu", "v4-8", "--time-limit", "1h", "--", "true")
    assert (done.exit_code, f"once {outcome} on tpu-vm\n  so" in done.output) == (code, True), done.output


def test_a_dry_run_on_a_vm_prints_what_it_would_run() -> None:
    body = answered(
        "jobs", "submit", "once", "--on-vm", "--dry-run", "--tpu", "v4-8", "--time-limit", "1h", "--", "true"
    )
    assert (body["accelerator"], body["command"], body["limit"]) == ("v4-8", ["true"], 3600)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("submit", "x"), "missing or given twice"),
        (("submit", "x", "--call", "a:b", "--", "true"), "given twice"),
        (("submit", "x", "--call", "a:b", "--arguments", "[]"), "JSON object"),
        (("submit", "x", "--slices", "two", "--", "true"), "not a number of slices"),
        (("submit", "x", "--env", "A", "--", "true"), "NAME=VALUE"),
        (("submit", "x", "--secret", "HF_TOKEN", "--", "true"), "NAME=SECRET"),
        (("submit", "x", "--tpu", "v4-8", "--slices", "0", "--", "true"), "write: 1, or a choice such as 1, 2, 4"),
        (("submit", "x", "--tpu", "v4-8", "--", "true"), "by --backend local"),
        (("submit", "x", "--queue", "v4", "--", "true"), "asks for a queue"),
        (("submit", "X_Y", "--", "true"), "lower-case"),
        (("submit", "x", "--tpu", "v4-9", "--", "true"), "v4-8"),
        (("submit", "x", "--on-vm", "--tpu", "v4-8", "--", "true"), "--time-limit 1h"),
        (("list", "--backend", "gke"), "kubeconfig"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_2(arguments: tuple[str, ...], said: str) -> None:
    done = tidepool("jobs", *arguments)
    assert (done.exit_code, said in done.output) == (2, True), done.output


def test_smoke_says_where_it_stopped() -> None:
    done = tidepool("smoke", "--to", "local")
    assert (done.exit_code, done.output.startswith("local   passed")) == (0, True), done.output
    stopped = answered("smoke")
    assert [(each["step"], each["passed"]) for each in stopped["steps"]] == [("local", True), ("cluster", False)]
    assert stopped["exit"] == 1
