"""The training stack through the command: what stands in its cluster, who it serves, and what its end would end.

The tests of this module run in order on one cluster.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Generator
from typing import Any

import pytest

from infra.jobs import client
from infra.jobs.request import JobRequest
from tests.cli.conftest import ROOT, Checkout
from tests.jobs.synthetic import IMAGE

PAGE = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")

STACK = """\
config:
  gcp:project: my-lab
  tidepool:owner: lab
  tidepool:bucket: {name: my-lab-training, location: us-central2}
  tidepool:cluster:
    name: train
    region: us-central2
    zones: [us-central2-b]
    maintenance: {days: [SA, SU], start: "09:00", hours: 8}
    system: {machine_type: n2-standard-8, nodes: 1}
    cpu_pools:
      - {name: batch, machine_type: n2-standard-16, zones: [us-central2-b], maximum: 4}
  tidepool:slices:
    - {accelerator: v4-8, zone: us-central2-b, capacity: spot, buffer: 0, maximum: 4}
    - {accelerator: v4-32, zone: us-central2-b, capacity: spot, buffer: 0, maximum: 4}
  tidepool:queues:
    teams:
      - name: pretraining
  tidepool:secrets:
    - {name: hf-token, readers: []}
"""


@pytest.fixture(scope="module")
def training(checkout: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Generator[Checkout]:
    """The stack up, and a kubeconfig of its cluster."""
    checkout.path("training").write_text(STACK)
    checkout.ok("up", "training")
    kubeconfig = tmp_path_factory.mktemp("kube") / "config"
    kubeconfig.write_text(checkout.ok("cloud", "k8s", "kubeconfig").stdout)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", str(kubeconfig))
        yield checkout


def jobs(training: Checkout, command: str, *more: str) -> dict[str, Any]:
    return training.json("jobs", command, "--namespace", "pretraining", *more)


def submit(training: Checkout, name: str, slices: int) -> None:
    words = (name, "--tpu", "v4-8", "--slices", str(slices), "--image", IMAGE, "--namespace", "pretraining")
    training.ok("jobs", "submit", *words, "--", "true")


def test_why_explains_a_queue_of_the_stacks_cluster_and_needs_no_kubeconfig(
    training: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG")
    (told,) = training.json("why", "v4-8")["work"]
    assert (told["stack"], told["kind"], told["name"]) == ("training", "queue", "v4-8")
    chips = {"flavor": "v4-8-spot", "resource": "google.com/tpu", "quota": 16, "held": None}
    assert chips in told["seen"]["quotas"]
    for columns in (80, 120):
        for words in (("why", "v4-8"), ("why", "queue/cpu"), ("status", "training"), ("jobs", "list")):
            assert max(map(len, training.drawn(columns, *words))) <= columns, words
    shown = training.ok("why", "v4-8").stdout
    assert "v4-8  queue, stack training: does not admit: Kueue has not said yet whether it admits" in shown
    refused = training.run("why", "v4-9")
    assert refused.exit_code == 2
    assert "Queues are cpu, v4-32, v4-8" in " ".join(refused.output.split())


def section(heading: str, language: str) -> str:
    """The examples of a section of the page, one below the other."""
    text = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return "".join(re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)).replace("\\\n", "")


def test_the_page_leads_from_nothing_to_a_job(training: Checkout) -> None:
    """What its reader types once the cluster stands, in order; all but the jobs stands already."""
    lines = [line for line in section("From nothing to a job", "sh").splitlines() if line.startswith("./tidepool")]
    typed = [shlex.split(line.replace("$IMAGE", IMAGE), comments=True)[1:] for line in lines]
    assert [words[0] for words in typed[:3]] == ["up", "up", "cloud"]
    said = [training.ok(*words).stdout for words in typed[3:]]
    assert len(said) == 5
    assert "llama-8b waiting on gke" in said[0]
    assert "waits in queue v4-32" in said[2]
    assert re.search(r"llama-8b +success +2 x v4-32", said[-1])


def test_the_pages_request_in_python_is_submitted_and_waited_for(
    training: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def done(job: client.Job) -> client.JobState:
        words = ("jobset", job.name, "-n", "pretraining", "--condition", "Completed=True")
        training.ok("cloud", "k8s", "status", *words)
        return wait(job)

    wait = client.wait
    monkeypatch.setattr(client, "wait", done)
    monkeypatch.setenv("IMAGE", IMAGE)
    found: dict[str, Any] = {}
    exec(compile(section("Submit a job", "python"), "docs/training.md", "exec"), found)
    assert isinstance(found["request"], JobRequest)
    assert jobs(training, "why", "llama-70b")["outcome"] == "success"


def test_destroy_names_what_it_keeps_and_the_jobs_that_it_ends_before_it_asks(training: Checkout) -> None:
    submit(training, "gone", 1)
    jobs(training, "cancel", "gone")
    submit(training, "llama", 2)
    asked = training.run("destroy", "training", "--exclude-protected")
    assert asked.exit_code == 2
    said = " ".join(asked.stdout.split())
    assert "kept, with what they need: hf-token (Secret), my-lab-training (Bucket), train (Cluster)" in said
    assert "1 job that has not ended would end: llama of pretraining, waiting on 2 x v4-8" in said


def test_a_destroy_says_in_json_what_it_kept_and_which_jobs_it_ended(training: Checkout) -> None:
    document = training.json("destroy", "training", "--yes", "--exclude-protected")
    assert document["kept"] == ["hf-token (Secret)", "my-lab-training (Bucket)", "train (Cluster)"]
    job = {"namespace": "pretraining", "name": "llama", "phase": "waiting", "slices": 2, "accelerator": "v4-8"}
    assert (document["jobs"], document["jobsUnknown"]) == ([job], "")
