"""Jobs on a cluster of the local cloud, whose Kubernetes API checks, stores and selects as the real one does.

It has no controllers: what JobSet, Kueue and kubelets would say is said here, and `./tidepool jobs` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from bench.cloud.control import Control
from bench.cloud.kubernetes.control import kubeconfig
from bench.cloud.testing import running_cloud
from bench.providers.kubernetes.reach import ClusterApi
from bench.providers.kubernetes.releases import definitions
from infra.cli.app import cli
from infra.jobs.jobset import JOBSETS
from infra.jobs.kube import Kube, kubeconfig_place
from infra.model.queue_objects import SECRETS_STORE
from tests.jobs.synthetic import IMAGE
from tests.model.queued import objects, stack

TEAM = "pretraining"
AT = f"{JOBSETS}/namespaces/{TEAM}/jobsets/llama"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"


MOUNTS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "secretproviderclasses.secrets-store.csi.x-k8s.io"},
    "spec": {
        "group": "secrets-store.csi.x-k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "SecretProviderClass", "plural": "secretproviderclasses", "singular": "secretproviderclass"},
        "versions": [
            {
                "name": "v1", "served": True, "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}  # fmt: skip
"""What GKE's Secret Manager add-on brings."""


@dataclass(frozen=True, slots=True)
class Lab:
    """A cluster with the queues of a stack, as an `up` leaves it."""

    kube: Kube
    control: Control

    def jobs(self, *arguments: str) -> dict[str, Any]:
        words = (*arguments[:1], "--json", "--namespace", TEAM, *arguments[1:])
        return json.loads(CliRunner().invoke(cli, ("jobs", *words)).stdout)

    def refused(self, *arguments: str) -> tuple[str, ...]:
        """Problems of a submission, each as one line; nothing of it stands afterwards."""
        told = self.jobs("submit", "llama", "--image", IMAGE, *arguments, "--", "true")
        assert (told["exit"], self.kube.find(AT)) == (2, None), told
        return tuple(": ".join(each.values()) for each in told["problems"])

    def submit(self, *more: str) -> dict[str, Any]:
        return self.jobs("submit", "llama", "--tpu", "v4-32", "--queue", "v4-32", "--image", IMAGE, *more, "--", "true")

    def starts(self) -> None:
        """What Kueue and JobSet do once there is quota."""
        self.kube.merge(AT, {"spec": {"suspend": False}})
        status = {"replicatedJobsStatus": [{"name": "slice", "ready": 1}]}
        self.control.tell_status("JobSet", "llama", namespace=TEAM, status=status, conditions={})


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    with running_cloud() as cloud:
        control = Control(cloud.url)
        reached = control.begin_cluster("projects/lab/locations/us-central2/clusters/train")
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig(reached)))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        monkeypatch.setenv("TIDEPOOL_HOME", str(tmp_path / "home"))
        place = kubeconfig_place()
        assert place is not None
        kube = Kube(replace(place, namespace=TEAM))
        for chart in ("jobset", "kueue"):
            for definition in definitions(chart):
                kube.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        api = ClusterApi((tmp_path / "kubeconfig").read_text())
        for body in objects(stack()):
            served = api.kind(body["apiVersion"], body["kind"])
            assert served is not None
            kube.create(served.of(body["metadata"].get("namespace", "")), body)
        yield Lab(kube, control)


def test_a_cancelled_job_stays_to_be_asked_about(lab: Lab) -> None:
    lab.submit()
    lab.starts()
    assert lab.jobs("cancel", "llama")["outcome"] == "cancelled"
    assert [each["outcome"] for each in lab.jobs("list")["jobs"]] == ["cancelled"]
    assert lab.kube.get(AT)["spec"]["suspend"] is True


def test_what_kueue_would_never_admit_is_refused_with_what_would_fit(lab: Lab) -> None:
    """v4-32 has 2 reserved slices and 6 of spot, and a job gets one kind of capacity."""
    (many,) = lab.refused("--tpu", "v4-32", "--slices", "7", "--queue", "v4-32")
    assert "slices: 7 of v4-32 (16 chips each): queue v4-32 can never have more than 6 at once" in many
    assert "v4-32-reserved-lab has 32 chips; v4-32-spot has 96 chips): at most 6 slices" in many
    (hungry,) = lab.refused("--tpu", "v4-32", "--queue", "v4-32", "--cpu", "2000")
    assert "1 of v4-32 (8000 CPUs, 16 chips each): queue v4-32 can never have more than 0" in hungry
    (other,) = lab.refused("--tpu", "v4-32", "--queue", "v4-8")
    assert "queue: v4-8: it has no nodes for v4-32" in other
    assert other.endswith("--queue v4-32")
    (costly,) = lab.refused("--queue", "v4-8")
    assert "no nodes for work without TPU" in costly
    assert costly.endswith("--queue cpu")


def test_a_job_that_names_no_queue_goes_through_the_one_that_serves_it(lab: Lab) -> None:
    for tpu, queue in ((("--tpu", "v4-8"), "v4-8"), ((), "cpu")):
        state = lab.jobs("submit", f"for-{queue}", *tpu, "--image", IMAGE, "--", "true")
        assert (state["phase"], state["queue"]) == ("waiting", queue)
    (none,) = lab.refused("--tpu", "v4-16")
    assert "none serves v4-16" in none
    assert none.endswith("the namespace has the queues: cpu, v4-32, v4-8")
    queue = lab.kube.get(f"{KUEUE}/namespaces/{TEAM}/localqueues/v4-8")
    for name in ("v4-8-more", "default"):
        body = {key: queue[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": name}}
        lab.kube.create(f"{KUEUE}/namespaces/{TEAM}/localqueues", body)
        if name == "v4-8-more":
            (several,) = lab.refused("--tpu", "v4-8")
            assert several.endswith("several serve v4-8: --queue v4-8 or v4-8-more")
    assert lab.jobs("submit", "by-default", "--tpu", "v4-8", "--image", IMAGE, "--", "true")["queue"] == "default"


def test_a_team_without_queues_starts_no_job(lab: Lab) -> None:
    for name in ("cpu", "v4-32", "v4-8"):
        lab.kube.delete(f"{KUEUE}/namespaces/{TEAM}/localqueues/{name}")
    (none,) = lab.refused("--tpu", "v4-8")
    assert "jobs of namespace pretraining start through a queue alone" in none


def test_a_secret_that_the_team_may_not_read_is_refused_with_those_that_it_may(lab: Lab) -> None:
    (unserved,) = lab.refused("--tpu", "v4-32", "--secret", "HF_TOKEN=hf-token")
    assert unserved.endswith("no secret that pretraining may read has this name: there is none")
    lab.kube.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", MOUNTS)
    owners = {TEAM: "HF_Token", "rl": "wandb"}
    config = stack(
        teams=[{"name": team, "account": f"train-{team}@my-lab-tpus.iam.gserviceaccount.com"} for team in owners],
        secrets=[{"name": secret, "readers": [f"team/{team}"]} for team, secret in owners.items()],
    )
    for body in objects(config):
        if body["kind"] == "SecretProviderClass":
            at = f"/apis/{SECRETS_STORE}/namespaces/{body['metadata']['namespace']}/secretproviderclasses"
            lab.kube.create(at, body)
    (refused,) = lab.refused("--tpu", "v4-32", "--secret", "KEY=wandb")
    assert refused.startswith("job llama: secret KEY: wandb: no secret that pretraining may read has this name")
    assert refused.endswith("one of: HF_Token")
    assert lab.submit("--secret", "KEY=HF_Token")["phase"] == "waiting"


def test_every_reason_to_refuse_a_job_is_told_at_once(lab: Lab) -> None:
    told = lab.refused("--tpu", "v4-32", "--slices", "9", "--queue", "v4-32", "--priority", "hgih", "--secret", "A=b")
    assert [each.partition(": ")[2].partition(":")[0] for each in told] == ["priority", "secret A", "slices"]


def test_a_name_that_a_groups_service_has_is_refused(lab: Lab) -> None:
    labels = {"tidepool/group": "llama"}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "llama", "labels": labels}}
    lab.kube.create(f"/api/v1/namespaces/{TEAM}/services", body | {"spec": {"clusterIP": "None"}})
    (clash,) = lab.refused("--tpu", "v4-32")
    assert "a Service of group llama has this name in pretraining" in clash
